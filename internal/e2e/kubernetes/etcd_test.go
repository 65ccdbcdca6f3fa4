//go:build linux

package kubernetes

import (
	"fmt"
	"net/http"
	"path/filepath"
)

// startEtcd starts etcd on the loopback interface and returns its address.
// What it stores need not outlive the tests, so nothing waits for the disk.
func startEtcd(dir string) (url string, err error) {
	program, err := buildBinary(etcdPackage, "etcd")
	if err != nil {
		return "", err
	}
	client, err := loopbackURL("http")
	if err != nil {
		return "", err
	}
	peer, err := loopbackURL("http")
	if err != nil {
		return "", err
	}
	etcd, err := startProcess(dir, program,
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster=default="+peer, "--log-level=warn")
	if err != nil {
		return "", err
	}
	return client, etcd.until(func() error { return healthy(client + "/health") })
}

func healthy(url string) error {
	answer, err := http.Get(url)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}
