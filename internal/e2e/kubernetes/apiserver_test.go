//go:build linux

package kubernetes

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// apiAudience is the API server's own audience, that of a token for
	// which nobody asked for one. It is its issuer too, as usual.
	apiAudience = "https://kubernetes.default.svc"

	// nodeName is the one node's name, with or without a kubelet.
	nodeName = "podtoken-node"
)

// An apiServer is a running kube-apiserver with its etcd.
type apiServer struct {
	process *process
	admin   *clientset.Clientset
	config  *rest.Config // the administrator's
	nodeKey string       // the bearer token of the node's kubelet
}

// startedAPIServer is the one that all tests share, each in a namespace of its
// own.
var startedAPIServer = sync.OnceValues(startAPIServer)

func requireAPIServer(t *testing.T) *apiServer {
	t.Helper()
	server, err := startedAPIServer()
	require.NoError(t, err)
	server.process.showIfFailed(t)
	return server
}

func startAPIServer() (*apiServer, error) {
	dir, err := folder("apiserver")
	if err != nil {
		return nil, err
	}
	etcd, err := startEtcd(dir)
	if err != nil {
		return nil, err
	}
	program, err := buildBinary(apiServerPackage, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	if err := writeSigningKey(dir); err != nil {
		return nil, err
	}
	adminKey, nodeKey := rand.Text(), rand.Text()
	if err := writeBearerTokens(dir, adminKey, nodeKey); err != nil {
		return nil, err
	}
	url, err := loopbackURL("https")
	if err != nil {
		return nil, err
	}
	server := &apiServer{nodeKey: nodeKey, config: &rest.Config{
		Host:            url,
		BearerToken:     adminKey,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "apiserver.crt")},
		QPS:             -1, // unlimited
	}}
	if server.process, err = startProcess(dir, program, apiServerFlags(dir, etcd, url)...); err != nil {
		return nil, err
	}
	return server, server.process.until(server.ready)
}

func apiServerFlags(dir, etcd, url string) []string {
	return []string{
		"--etcd-servers=" + etcd,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // the others refuse a loopback address
		"--secure-port=" + url[strings.LastIndexByte(url, ':')+1:],
		"--cert-dir=" + dir,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=" + apiAudience,
		"--service-account-jwks-uri=" + url + "/openid/v1/jwks",
		"--service-account-signing-key-file=" + filepath.Join(dir, "sa.key"),
		"--service-account-key-file=" + filepath.Join(dir, "sa.key"),
		"--api-audiences=" + apiAudience,
		"--token-auth-file=" + filepath.Join(dir, "tokens.csv"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
	}
}

// ready makes the client as soon as the server has written its certificate,
// and asks the server for its own opinion.
func (s *apiServer) ready() (err error) {
	if s.admin == nil {
		if s.admin, err = clientset.NewForConfig(s.config); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.admin.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

func writeSigningKey(dir string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return os.WriteFile(filepath.Join(dir, "sa.key"), text, 0o600)
}

// writeBearerTokens lets in the administrator and the node's kubelet.
func writeBearerTokens(dir, admin, node string) error {
	text := fmt.Sprintf("%s,admin,admin,system:masters\n%s,system:node:%s,node,system:nodes\n", admin, node, nodeName)
	return os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(text), 0o600)
}
