package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// serviceAccountDir is where a pod has the files for its API server.
const serviceAccountDir = "var/run/secrets/kubernetes.io/serviceaccount"

// answerTimeout bounds a question, with what client-go repeats by itself:
// whoever asks wants to know now.
const answerTimeout = 10 * time.Second

// Client asks the API server of the cluster that this container runs in, with
// the pod's own service account. Its methods may be called by many goroutines.
type Client struct {
	metadata metadata.Interface
	core     rest.Interface
}

// New makes a Client from the variables and files that every pod gets, the
// files under root, which is "/" but for another container's. It sends nothing.
// It fails with ErrNotInCluster, ErrNoToken, or for a certificate that cannot
// be read.
func New(root string) (*Client, error) {
	config, err := inCluster(root)
	if err != nil {
		return nil, err
	}
	return newClient(config)
}

func inCluster(root string) (*rest.Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, ErrNotInCluster
	}
	dir := filepath.Join(root, serviceAccountDir)
	token := filepath.Join(dir, "token")
	if _, err := os.Stat(token); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoToken
	} else if err != nil {
		return nil, fmt.Errorf("the API server's token: %w", err)
	}
	return &rest.Config{
		Host:            "https://" + net.JoinHostPort(host, port),
		BearerTokenFile: token, // read again as it rotates
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(dir, "ca.crt")},
	}, nil
}

func newClient(config *rest.Config) (*Client, error) {
	config.UserAgent, config.WarningHandler = "podtoken", rest.NoWarnings{}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("the API server's client: %w", err)
	}
	httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	names, err := metadata.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("the API server's client: %w", err)
	}
	core, err := rest.RESTClientForConfigAndClient(ofCore(config), httpClient)
	if err != nil {
		return nil, fmt.Errorf("the API server's client: %w", err)
	}
	return &Client{metadata: names, core: core}, nil
}

// ofCore knows the types of the core group only: a whole clientset would
// triple the program.
func ofCore(config *rest.Config) *rest.Config {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	core := rest.CopyConfig(config)
	core.APIPath = "/api"
	core.GroupVersion = &corev1.SchemeGroupVersion
	core.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return core
}

// Limits of what is asked for.
const (
	pageSize = 500
	maxNames = 10_000
)

// LegacySecrets returns the names of the Secrets in a namespace that hold a
// service-account token without an expiry: those of type
// kubernetes.io/service-account-token. It stops at 10,000.
func (c *Client) LegacySecrets(ctx context.Context, namespace string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	options := metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeServiceAccountToken), Limit: pageSize}
	secrets := c.metadata.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	var names []string
	for {
		page, err := secrets.List(ctx, options)
		if err != nil {
			return nil, failed(err, question{"list", "secrets", namespace, ""})
		}
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
		options.Continue = page.Continue
		if page.Continue == "" || len(page.Items) == 0 || len(names) >= maxNames {
			return names, nil
		}
	}
}

// Pod returns a pod's spec and status.
func (c *Client) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	pod := new(corev1.Pod)
	err := c.core.Get().Namespace(namespace).Resource("pods").Name(name).Do(ctx).Into(pod)
	if err != nil {
		return nil, failed(err, question{"get", "pods", namespace, name})
	}
	return pod, nil
}
