//go:build linux

package bed

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

const (
	// APIAudience is the API server's own audience, that of a token for
	// which nobody asked for one. It is its issuer too, as usual.
	APIAudience = "https://kubernetes.default.svc"

	// NodeName is the one node's name, with or without a kubelet.
	NodeName = "podtoken-node"
)

// An APIServer is a running kube-apiserver with its etcd.
type APIServer struct {
	Process *Process
	URL     string
	CAFile  string // of its certificate
	Admin   string // the administrator's bearer token
	Node    string // the bearer token of the node's kubelet

	// SigningKey signs the service accounts' tokens. Whoever has it makes
	// those that the API server would not issue, expired ones for instance.
	SigningKey *rsa.PrivateKey
}

// StartAPIServer starts the API server and etcd of the module in a folder,
// with their files in dir. It accepts the tokens that are signed by further
// keys, PEM files, as well as those that it issues.
func StartAPIServer(module, dir string, keyFiles ...string) (*APIServer, error) {
	etcd, err := startEtcd(module, dir)
	if err != nil {
		return nil, err
	}
	program, err := Build(module, "k8s.io/kubernetes/cmd/kube-apiserver", "kube-apiserver")
	if err != nil {
		return nil, err
	}
	server := &APIServer{CAFile: filepath.Join(dir, "apiserver.crt"), Admin: rand.Text(), Node: rand.Text()}
	if server.SigningKey, err = writeSigningKey(dir); err != nil {
		return nil, err
	}
	if err := server.writeBearerTokens(dir); err != nil {
		return nil, err
	}
	if server.URL, err = LoopbackURL("https"); err != nil {
		return nil, err
	}
	flags := server.flags(dir, etcd)
	for _, file := range keyFiles {
		flags = append(flags, "--service-account-key-file="+file)
	}
	if server.Process, err = Start(dir, program, flags...); err != nil {
		return nil, err
	}
	return server, server.Process.Until(server.ready)
}

func (s *APIServer) flags(dir, etcd string) []string {
	return []string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // the others refuse a loopback address
		"--secure-port=" + s.URL[strings.LastIndexByte(s.URL, ':')+1:],
		"--cert-dir=" + dir,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=" + APIAudience,
		"--service-account-jwks-uri=" + s.URL + "/openid/v1/jwks",
		"--service-account-signing-key-file=" + filepath.Join(dir, "sa.key"),
		"--service-account-key-file=" + filepath.Join(dir, "sa.key"),
		"--api-audiences=" + APIAudience,
		"--token-auth-file=" + filepath.Join(dir, "tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
	}
}

// ready asks the server for its own opinion, once its certificate is there.
func (s *APIServer) ready() error {
	certificate, err := os.ReadFile(s.CAFile)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificate) {
		return errors.New("the API server's certificate is not whole yet")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	return Healthy(&http.Client{Transport: transport}, s.URL+"/readyz") // which asks for no token
}

func writeSigningKey(dir string) (*rsa.PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return key, os.WriteFile(filepath.Join(dir, "sa.key"), text, 0o600)
}

// writeBearerTokens lets in the administrator and the node's kubelet.
func (s *APIServer) writeBearerTokens(dir string) error {
	text := fmt.Sprintf("%s,admin,admin,system:masters\n%s,system:node:%s,node,system:nodes\n", s.Admin, s.Node, NodeName)
	return os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(text), 0o600)
}
