//go:build linux

package bed

import (
	"fmt"
	"net/http"
	"path/filepath"
)

// startEtcd starts etcd and returns its address. What it stores need not
// outlive the tests, so nothing waits for the disk.
func startEtcd(module, dir string) (url string, err error) {
	program, err := Build(module, "go.etcd.io/etcd/server/v3", "etcd")
	if err != nil {
		return "", err
	}
	client, err := LoopbackURL("http")
	if err != nil {
		return "", err
	}
	peer, err := LoopbackURL("http")
	if err != nil {
		return "", err
	}
	etcd, err := Start(dir, program,
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer, "--log-level=warn")
	if err != nil {
		return "", err
	}
	return client, etcd.Until(func() error { return Healthy(http.DefaultClient, client+"/health") })
}

// Healthy is nil if a GET is answered with 200.
func Healthy(client *http.Client, url string) error {
	answer, err := client.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}
