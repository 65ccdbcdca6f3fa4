package awspodid_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const (
	role    = "arn:aws:iam::111122223333:role/web"
	account = "system:serviceaccount:shop:web"
)

// bed is a pod that was injected, and what it asks for credentials. It is made
// inside the test's bubble.
type bed struct {
	*testing.T
	issuer *tokenfiletest.Issuer
	pod    *awspodidtest.Pod
	agent  *awspodidtest.Agent
	sts    *awspodidtest.STS
	log    *logged
}

func newIssuer(t *testing.T) *tokenfiletest.Issuer {
	issuer := new(tokenfiletest.Issuer)
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	return issuer
}

var spec = awspodidtest.PodSpec{
	Token:   tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-7d4b9c6f5-x2x4z"},
	RoleARN: role,
}

// newBed is a pod that constructor admits, in a cluster and an account that
// know it.
func newBed(t *testing.T, constructor func(string, *tokenfiletest.Issuer, awspodidtest.PodSpec) (*awspodidtest.Pod, error)) *bed {
	t.Helper()
	b := &bed{T: t, issuer: newIssuer(t), log: new(logged)}
	var err error
	b.pod, err = constructor(t.TempDir(), b.issuer, spec)
	require.NoError(t, err)
	b.agent = awspodidtest.NewAgent(b.issuer)
	b.agent.Associate("shop", "web", role)
	b.sts = awspodidtest.NewSTS(b.issuer)
	b.sts.SetRole(role, awspodidtest.TrustPolicy{Sub: []string{account}, Aud: []string{"sts.amazonaws.com"}})
	return b
}

func podIdentity(t *testing.T) *bed { return newBed(t, awspodidtest.NewPodIdentityPod) }
func webIdentity(t *testing.T) *bed { return newBed(t, awspodidtest.NewWebIdentityPod) }

// options reach the bed's servers without a socket.
func (b *bed) options(o *awspodid.Options) {
	o.Lookup = b.lookup
	o.ServiceAccountDir = b.TempDir()
	o.HTTPClient = &http.Client{Transport: b.agent.Transport()}
	o.STSOptions = []func(*sts.Options){func(o *sts.Options) { o.HTTPClient = &http.Client{Transport: b.sts.Transport()} }}
	o.Logger = slog.New(slog.NewTextHandler(b.log, nil))
}

// lookup is the environment of a container of the pod.
func (b *bed) lookup(name string) (string, bool) {
	if name == "KUBERNETES_SERVICE_HOST" {
		return "10.96.0.1", true
	}
	return b.pod.Lookup(name)
}

func (b *bed) provider(optFns ...func(*awspodid.Options)) *awspodid.Provider {
	b.Helper()
	p, err := awspodid.New(append([]func(*awspodid.Options){b.options}, optFns...)...)
	require.NoError(b, err)
	return p
}

// run keeps the pod's tokens fresh until the test ends.
func (b *bed) run() {
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); b.pod.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-ended })
}

// good says whether a service would accept the credentials now.
func (b *bed) good(c aws.Credentials) bool {
	_, arn, byAgent := b.agent.Valid(c.AccessKeyID)
	if !byAgent {
		var bySTS bool
		_, arn, bySTS = b.sts.Valid(c.AccessKeyID)
		return bySTS && arn == role
	}
	return arn == role
}

// use asks for credentials every pause for so long, as a program does, and
// fails the test if that ever takes time, fails, or yields what no service accepts.
func (b *bed) use(p aws.CredentialsProvider, d, pause time.Duration) {
	b.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(pause) {
		start := time.Now()
		creds, err := p.Retrieve(b.Context())
		if !assert.NoError(b, err) || !assert.True(b, b.good(creds), "at %s", time.Now()) || !assert.Zero(b, time.Since(start), "waited") {
			return
		}
	}
}

// logged collects log lines.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) lines() int { return strings.Count(l.String(), "\n") }

// inBubble runs a test with virtual time for both mechanisms.
func inBubble(t *testing.T, test func(*bed)) {
	for name, constructor := range map[string]func(*testing.T) *bed{"Pod Identity": podIdentity, "IRSA": webIdentity} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(constructor(t)) })
		})
	}
}
