package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/kubernetes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// TestMain takes away what configures the clients from outside.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if strings.HasPrefix(variable, "VAULT_") || strings.HasPrefix(variable, "BAO_") {
			name, _, _ := strings.Cut(variable, "=")
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

const (
	audience = "openbao"
	roleName = "web"

	// roundTrip is what a request takes in the bubbles: there, time stands
	// still for code that only computes, so a loop without a pause would never
	// end if its requests took no time either.
	roundTrip = 5 * time.Millisecond
)

// stage is a pod's volume with a token, and a login server that accepts it.
// Each side of a comparison has a stage of its own, in a bubble of its own.
type stage struct {
	*testing.T
	issuer *tokenfiletest.Issuer
	volume *tokenfiletest.Volume
	server *vaultauthtest.Server
	logins logins

	keepToken bool // of sessions
}

// play sets a stage in a bubble, whose clock runs as fast as all in it sleep.
func play(t *testing.T, role vaultauthtest.Role, act func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, issuer: &tokenfiletest.Issuer{}}
		require.NoError(t, s.issuer.RotateKey(tokenfiletest.ES256))
		var err error
		s.volume, err = tokenfiletest.NewVolume(t.TempDir())
		require.NoError(t, err)
		s.rotate()

		role.BoundAudiences = []string{audience}
		role.BoundServiceAccountNames = []string{"*"}
		role.BoundServiceAccountNamespaces = []string{"*"}
		role.Policies = []string{"app"}
		s.server = vaultauthtest.New(s.issuer)
		s.server.LogSize = 100_000 // of loops that spin
		s.server.Enable("kubernetes", vaultauthtest.Mount{})
		s.server.SetRole("kubernetes", roleName, role)
		s.server.SetPolicy("app", "secret/data/*")
		s.server.Put("app", map[string]any{"password": "swordfish"})
		s.server.SetLatency(func(*http.Request) time.Duration { return roundTrip })
		s.logins.base = s.server.Transport()
		act(s)
	})
}

// rotate replaces the token by a new one of an hour.
func (s *stage) rotate() {
	token, err := s.issuer.Token(tokenfiletest.Request{Audiences: []string{audience}, Pod: "web-0"})
	assert.NoError(s, err)
	assert.NoError(s, s.volume.Write(token))
}

// held is what the file holds.
func (s *stage) held() string {
	content, err := os.ReadFile(s.volume.Path())
	require.NoError(s, err)
	return string(content)
}

// config is the default one, but for the way to the server.
func (s *stage) config() *api.Config {
	config := api.DefaultConfig()
	require.NoError(s, config.Error)
	config.HttpClient = &http.Client{Transport: &s.logins}
	return config
}

func (s *stage) client() *api.Client {
	client, err := api.NewClient(s.config())
	require.NoError(s, err)
	return client
}

// peer is the auth method of Vault's own library.
func (s *stage) peer() *kubernetes.KubernetesAuth {
	method, err := kubernetes.NewKubernetesAuth(roleName, kubernetes.WithServiceAccountTokenPath(s.volume.Path()))
	require.NoError(s, err)
	return method
}

// ours is the auth method of this project.
func (s *stage) ours() *vaultauth.Method {
	return &vaultauth.Method{
		Role:   roleName,
		Source: &tokenfile.Source{Path: s.volume.Path(), Audience: audience},
	}
}

// session is a session of this project that runs until the test ends.
func (s *stage) session() *vaultauth.Session {
	session := s.loggedIn()
	go session.Run(s.Context())
	return session
}

// loggedIn is one that does not run yet.
func (s *stage) loggedIn() *vaultauth.Session {
	session, err := vaultauth.NewSession(s.config(), s.ours())
	require.NoError(s, err)
	session.KeepToken = s.keepToken
	require.NoError(s, session.Login(s.Context()))
	return session
}

// watcher is the peer's session after a login of client.
func (s *stage) watcher(client *api.Client, input api.LifetimeWatcherInput) *api.LifetimeWatcher {
	secret, err := client.Auth().Login(s.Context(), s.peer())
	require.NoError(s, err)
	input.Secret = secret
	watcher, err := client.NewLifetimeWatcher(&input)
	require.NoError(s, err)
	return watcher
}

// renewalsFail lets the server answer to renewals with status and these texts.
func (s *stage) renewalsFail(status int, texts ...string) {
	body, err := json.Marshal(map[string][]string{"errors": texts})
	require.NoError(s, err)
	s.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
		if !strings.HasSuffix(r.URL.Path, "/renew-self") {
			return nil
		}
		return &vaultauthtest.Fault{Status: status, Body: string(body)}
	})
}

// read reads a secret and returns the status of the server's refusal, 200 if
// there was none.
func read(ctx context.Context, client *api.Client) int {
	_, err := client.KVv2("secret").Get(ctx, "app")
	var refused *api.ResponseError
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &refused):
		return refused.StatusCode
	}
	return 0
}

// logins passes requests on to base and remembers the JWT of each login. It
// never shows them: tests compare, and print what came out.
type logins struct {
	base http.RoundTripper
	mu   sync.Mutex
	sent []string
}

func (l *logins) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/login") {
		return l.base.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var login struct{ JWT string }
	if err := json.Unmarshal(body, &login); err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.sent = append(l.sent, login.JWT)
	l.mu.Unlock()
	next := *r
	next.Body = io.NopCloser(bytes.NewReader(body))
	return l.base.RoundTrip(&next)
}

// all returns the JWTs so far.
func (l *logins) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.sent...)
}

// asReported checks what a peer is said to do. When it fails, the peer has
// changed for the better: the test, the table in doc.go and whatever text
// quotes it must follow.
func asReported(t *testing.T, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf("the peer does not do any more what is said of it: "+format+
			"; if it was mended, say so here, in doc.go and in the README", args...)
	}
}

// row prints a line of the table in doc.go:
//
//	go test -v ./internal/peers | grep '^ *|'
func row(t *testing.T, fault string, peer, ours any) {
	t.Helper()
	fmt.Fprintf(t.Output(), "| %s | %v | %v |\n", fault, peer, ours)
}
