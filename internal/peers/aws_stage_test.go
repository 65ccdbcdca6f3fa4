package peers

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const (
	awsRole = "arn:aws:iam::111122223333:role/web"

	agentHost = "169.254.170.23"
	imdsHost  = "imds.test" // in place of 169.254.169.254
	elsewhere = "elsewhere.test"
)

// cluster is a pod of EKS, and all that it can reach. Each side of a
// comparison has one of its own, in a bubble of its own.
type cluster struct {
	*testing.T
	pod     *awspodidtest.Pod
	agent   *awspodidtest.Agent
	sts     *awspodidtest.STS
	imds    *imds
	other   *answering // another host
	network *network
}

// awsSpec is the pod of the tests.
var awsSpec = awspodidtest.PodSpec{
	Token:   tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"},
	RoleARN: awsRole,
}

// admission is what the webhook does with a pod.
type admission func(dir string, issuer *tokenfiletest.Issuer, spec awspodidtest.PodSpec) (*awspodidtest.Pod, error)

var (
	podIdentity admission = awspodidtest.NewPodIdentityPod
	webIdentity admission = awspodidtest.NewWebIdentityPod
)

// uninjected is a pod that came before its association was known.
func uninjected(string, *tokenfiletest.Issuer, awspodidtest.PodSpec) (*awspodidtest.Pod, error) {
	return awspodidtest.NewPod(), nil
}

// mechanisms are those of both kinds of pods.
var mechanisms = []struct {
	name  string
	admit admission
}{{"Pod Identity", podIdentity}, {"IRSA", webIdentity}}

// newCluster admits a pod.
func newCluster(t *testing.T, admit admission) *cluster {
	t.Helper()
	c := &cluster{T: t, imds: &imds{}, other: &answering{body: strangers}}
	issuer := &tokenfiletest.Issuer{}
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	var err error
	c.pod, err = admit(t.TempDir(), issuer, awsSpec)
	require.NoError(t, err)
	c.agent = awspodidtest.NewAgent(issuer)
	c.agent.Associate("shop", "web", awsRole)
	c.sts = awspodidtest.NewSTS(issuer)
	c.sts.SetRole(awsRole, awspodidtest.TrustPolicy{Aud: []string{awspodidtest.STSAudience}})
	return c
}

// inCluster admits a pod in a bubble, whose clock runs as fast as all in it
// sleep.
func inCluster(t *testing.T, admit admission, act func(*cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, admit)
		c.network = newNetwork(t, map[string]http.Handler{agentHost: c.agent, imdsHost: c.imds, elsewhere: c.other})
		act(c)
	})
}

// bySides plays act for the SDK's own chain, and for the provider of this
// project.
func bySides[T any](t *testing.T, admit admission, act func(c *cluster, isPeer bool) T) (peer, ours T) {
	t.Helper()
	inCluster(t, admit, func(c *cluster) { peer = act(c, true) })
	inCluster(t, admit, func(c *cluster) { ours = act(c, false) })
	return peer, ours
}

// side is the credentials of a program that uses the SDK as documented, or of
// one that was given the provider.
func (c *cluster) side(isPeer bool) aws.CredentialsProvider {
	if isPeer {
		return c.chain().Credentials
	}
	return c.ours()
}

// container makes the environment of this process that of a container of the
// pod, for it is what the SDK's chain reads.
func (c *cluster) container() {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "AWS_") || strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			c.Setenv(name, "") // for it to be set again when the test ends
			os.Unsetenv(name)
		}
	}
	none := filepath.Join(c.TempDir(), "none")
	c.Setenv("AWS_CONFIG_FILE", none)
	c.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	c.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://"+imdsHost)
	c.Setenv("AWS_REGION", "eu-central-1")
	for name, value := range c.pod.Environ() {
		c.Setenv(name, value)
	}
}

// chain is config.LoadDefaultConfig in a container of the pod. Only the ways
// out are the test's: the agent is reached by the SDK's own client, with
// another dialer.
func (c *cluster) chain(optFns ...func(*config.LoadOptions) error) aws.Config {
	c.Helper()
	c.container()
	cfg, err := config.LoadDefaultConfig(c.Context(), append([]func(*config.LoadOptions) error{
		config.WithHTTPClient(c),
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) { o.HTTPClient = c.network.sdkClient() }),
	}, optFns...)...)
	require.NoError(c, err)
	return cfg
}

// Do makes the cluster the HTTP client of the SDK's for STS and IMDS. STS has
// no TLS here, so it is reached by a call. IMDS's would give another dialer to
// the SDK's own HTTP client.
func (c *cluster) Do(r *http.Request) (*http.Response, error) {
	transport := http.RoundTripper(c.network.hasty)
	if strings.HasPrefix(r.URL.Host, "sts.") {
		transport = c.sts.Transport()
	}
	return (&http.Client{Transport: transport}).Do(r)
}

// ours is the provider of this project in the same pod.
func (c *cluster) ours() *awspodid.Provider {
	c.Helper()
	p, err := c.tryOurs()
	require.NoError(c, err)
	return p
}

func (c *cluster) tryOurs() (*awspodid.Provider, error) {
	return awspodid.New(func(o *awspodid.Options) {
		o.Lookup = func(name string) (string, bool) {
			if name == "KUBERNETES_SERVICE_HOST" {
				return "10.96.0.1", true
			}
			return c.pod.Lookup(name)
		}
		o.ServiceAccountDir = c.TempDir()
		o.HTTPClient = &http.Client{Transport: c.network.transport}
		o.STSOptions = []func(*sts.Options){func(o *sts.Options) { o.HTTPClient = c }}
	})
}

// kubelet looks after the token of the pod's mechanism.
func (c *cluster) kubelet() *tokenfiletest.Kubelet {
	if c.pod.PodIdentity != nil {
		return c.pod.PodIdentity
	}
	return c.pod.WebIdentity
}

// runKubelet keeps the token fresh until the test ends.
func (c *cluster) runKubelet() {
	ctx, cancel := context.WithCancel(c.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.pod.Run(ctx) }()
	c.Cleanup(func() { cancel(); <-ended })
}

// fault is what happens to all requests for credentials from now on.
func (c *cluster) fault(f *awspodidtest.Fault) {
	all := func(*http.Request) *awspodidtest.Fault { return f }
	c.agent.SetFault(all)
	c.sts.SetFault(all)
}

// requests are those for credentials.
func (c *cluster) requests() []awspodidtest.Request {
	return append(c.agent.Requests(), c.sts.Requests()...)
}

// good says whether a service would accept the credentials now, as those of
// the pod's role.
func (c *cluster) good(creds aws.Credentials) bool {
	_, byAgent, _ := c.agent.Valid(creds.AccessKeyID)
	_, bySTS, _ := c.sts.Valid(creds.AccessKeyID)
	return byAgent == awsRole || bySTS == awsRole
}

// imds is a node's metadata service, which has credentials of the node's role.
type imds struct {
	hop bool // the answer does not reach a pod, as with a hop limit of 1

	mu    sync.Mutex
	asked int
}

func (i *imds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked++
	hop := i.hop
	i.mu.Unlock()
	if hop {
		<-r.Context().Done()
		return
	}
	switch r.URL.Path {
	case "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		io.WriteString(w, "token")
	case "/latest/meta-data/iam/security-credentials/":
		io.WriteString(w, "node")
	default:
		io.WriteString(w, `{"Code":"Success","AccessKeyId":"ASIANODE","SecretAccessKey":"secret","Token":"token",`+
			`"Expiration":"`+time.Now().Add(6*time.Hour).UTC().Format(time.RFC3339)+`"}`)
	}
}

func (i *imds) requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// strangers are credentials of somebody else.
const strangers = `{"AccessKeyId":"ASIASTRANGER","SecretAccessKey":"secret","Token":"token","Expiration":"2100-01-01T00:00:00Z"}`

// answering gives everybody the same answer.
type answering struct {
	body string

	mu     sync.Mutex
	tokens []string // the Authorization of each request
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.tokens = append(a.tokens, r.Header.Get("Authorization"))
	a.mu.Unlock()
	io.WriteString(w, a.body)
}

// all returns the Authorization of each request so far.
func (a *answering) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.tokens...)
}

// network leads to handlers by host, through pipes: a bubble's clock stands
// still while somebody waits for a socket.
type network struct {
	listeners map[string]*pipes
	transport *http.Transport
	hasty     *http.Transport // with the patience that the SDK has for IMDS
}

func newNetwork(t *testing.T, hosts map[string]http.Handler) *network {
	n := &network{listeners: make(map[string]*pipes)}
	n.transport = &http.Transport{DialContext: n.dial}
	n.hasty = &http.Transport{DialContext: n.dial, ResponseHeaderTimeout: 500 * time.Millisecond}
	for host, handler := range hosts {
		listener := &pipes{host: host, waiting: make(chan net.Conn), closed: make(chan struct{})}
		n.listeners[host] = listener
		server := &http.Server{Handler: handler}
		ended := make(chan struct{})
		go func() { defer close(ended); server.Serve(listener) }()
		t.Cleanup(func() { server.Close(); <-ended })
	}
	return n
}

// sdkClient is the SDK's default client but for its dialer: with its times, its
// proxies and its redirects.
func (n *network) sdkClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.DialContext = n.dial })
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	listener := n.listeners[host]
	if listener == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	client, server := net.Pipe()
	select {
	case listener.waiting <- server:
		return client, nil
	case <-listener.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipes is a listener.
type pipes struct {
	host    string
	waiting chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.waiting:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return p }

func (*pipes) Network() string  { return "pipe" }
func (p *pipes) String() string { return p.host }

// attempt is one call for credentials.
type attempt struct {
	creds aws.Credentials
	err   error
	took  time.Duration
}

func (c *cluster) retrieve(p aws.CredentialsProvider) attempt {
	start := time.Now()
	creds, err := p.Retrieve(c.Context())
	return attempt{creds, err, time.Since(start)}
}

// refused asserts the type of our error and that nothing came with it.
func (c *cluster) refused(a attempt) {
	c.Helper()
	var agent *awspodid.AgentError
	var service *awspodid.STSError
	assert.True(c, errors.As(a.err, &agent) || errors.As(a.err, &service), "%v", a.err)
	assert.Empty(c, a.creds)
}
