//go:build linux

package kubernetes

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

const (
	apiAudience = bed.APIAudience
	nodeName    = bed.NodeName
	patience    = bed.Patience
)

// An apiServer is a running kube-apiserver with its etcd.
type apiServer struct {
	process *bed.Process
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
	server.process.ShowIfFailed(t)
	return server
}

func startAPIServer() (*apiServer, error) {
	dir, err := folder("apiserver")
	if err != nil {
		return nil, err
	}
	started, err := bed.StartAPIServer(".", dir)
	if err != nil {
		return nil, err
	}
	server := &apiServer{process: started.Process, nodeKey: started.Node, config: &rest.Config{
		Host:            started.URL,
		BearerToken:     started.Admin,
		TLSClientConfig: rest.TLSClientConfig{CAFile: started.CAFile},
		QPS:             -1, // unlimited
	}}
	server.admin, err = clientset.NewForConfig(server.config)
	return server, err
}
