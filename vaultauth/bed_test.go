package vaultauth_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// bed is a pod with a service-account token, and a server that lets it in. It
// is made inside the test's bubble.
type bed struct {
	*testing.T
	server  *vaultauthtest.Server
	kubelet *tokenfiletest.Kubelet
	method  *vaultauth.Method
	session *vaultauth.Session
	log     *logged

	stop func() error // ends Run and returns what it returned
}

// hour is the usual role: tokens of an hour, for a day at most.
var hour = vaultauthtest.Role{TokenTTL: time.Hour, TokenMaxTTL: 24 * time.Hour}

// newBed lets pod web-0 log in as role "web" at a jwt mount.
func newBed(t *testing.T, role vaultauthtest.Role) *bed {
	t.Helper()
	issuer := new(tokenfiletest.Issuer)
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	b := &bed{
		T:      t,
		server: vaultauthtest.New(issuer),
		kubelet: &tokenfiletest.Kubelet{
			Issuer: issuer, Volume: volume, Period: 4 * time.Minute, // looks less often, for tests of months
			Request: tokenfiletest.Request{Audiences: []string{"openbao"}, Namespace: "shop", ServiceAccount: "web", Pod: "web-0"},
		},
		log: new(logged),
	}
	require.NoError(t, b.kubelet.Rotate())
	b.server.Enable("jwt", vaultauthtest.Mount{})
	b.server.SetPolicy("web", "secret/data/web")
	b.server.Put("web", map[string]any{"colour": "blue"})
	b.role(role)
	b.method = &vaultauth.Method{
		Role: "web", Mount: "jwt",
		Source: &tokenfile.Source{Path: volume.Path(), Audience: "openbao"},
	}
	b.session = b.newSession()
	return b
}

// role gives the role "web" these terms.
func (b *bed) role(r vaultauthtest.Role) {
	r.BoundAudiences = []string{"openbao"}
	r.Policies = append(r.Policies, "web")
	b.server.SetRole("jwt", "web", r)
}

func (b *bed) config() *api.Config {
	config := api.DefaultConfig()
	require.NoError(b, config.Error)
	config.HttpClient = &http.Client{Transport: b.server.Transport()}
	return config
}

// client is one that no session knows of.
func (b *bed) client() *api.Client {
	b.Helper()
	client, err := api.NewClient(b.config())
	require.NoError(b, err)
	return client
}

func (b *bed) newSession() *vaultauth.Session {
	b.Helper()
	session, err := vaultauth.NewSession(b.config(), b.method)
	require.NoError(b, err)
	session.Logger = slog.New(slog.NewTextHandler(b.log, nil))
	return session
}

// run starts the kubelet and the session.
func (b *bed) run() {
	ctx, cancel := context.WithCancel(b.Context())
	kubelet, session := make(chan error, 1), make(chan error, 1)
	go func() { kubelet <- b.kubelet.Run(ctx) }()
	own, end := context.WithCancel(ctx)
	go func() { session <- b.session.Run(own) }()
	b.stop = sync.OnceValue(func() error {
		end()
		err := <-session
		cancel()
		<-kubelet
		return err
	})
	b.Cleanup(func() { b.stop() })
}

// start logs in and then runs.
func (b *bed) start() {
	b.Helper()
	require.NoError(b, b.session.Login(b.Context()))
	b.run()
	synctest.Wait()
}

// read reads the secret.
func read(client *api.Client) error {
	_, err := client.Logical().Read("secret/data/web")
	return err
}

// soak reads with each client every pause for so long, and returns what failed.
func (b *bed) soak(d, pause time.Duration, clients ...*api.Client) (reads int, failures []error) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(pause) {
		for _, c := range clients {
			reads++
			if err := read(c); err != nil {
				failures = append(failures, err)
			}
		}
	}
	return reads, failures
}

// requests counts those to a path that ends so, with the status if it is not 0.
func (b *bed) requests(suffix string, status int) int {
	n := 0
	for _, r := range b.server.Requests() {
		if strings.HasSuffix(r.Path, suffix) && (status == 0 || r.Status == status) {
			n++
		}
	}
	return n
}

// gentle fails the test if the requests of the session itself came faster
// than one a second on average, over any ten seconds.
func (b *bed) gentle() {
	b.Helper()
	var times []time.Time
	for _, r := range b.server.Requests() {
		if strings.HasPrefix(r.Path, "auth/") {
			times = append(times, r.Time)
		}
	}
	for i := range times {
		if i >= 13 && !assert.GreaterOrEqual(b, times[i].Sub(times[i-13]), 10*time.Second, "requests %d to %d", i-13, i) {
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

// canceled is a context that has ended.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func listenUnix(t *testing.T, path string) net.Listener {
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	return l
}

// accessor is that of the token which a request of the session carries now.
func (b *bed) accessor() string {
	b.Helper()
	require.NoError(b, read(b.session.Client))
	return b.lastAccessor()
}

// lastAccessor is that of the last read.
func (b *bed) lastAccessor() string {
	last := ""
	for _, r := range b.server.Requests() {
		if r.Path == "secret/data/web" {
			last = r.Accessor
		}
	}
	return last
}
