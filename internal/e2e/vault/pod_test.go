//go:build linux

package vault

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// The ways in which a server can judge the API server's tokens.
const (
	byReview  = "kubernetes, by TokenReview"
	byKeys    = "jwt, by keys in the configuration"
	byKeysURL = "jwt, by the API server's jwks_uri"
)

var ways = []string{byReview, byKeys, byKeysURL}

// A pod is a program's view of the world: a file with a token in it, and a
// server that lets its service account read one secret.
type pod struct {
	*account
	server *server
	volume *tokenfiletest.Volume
	mounts map[string]string // by way
	policy string

	secrets secrets // that no text may hold
}

func newPod(t *testing.T, role vaultauthtest.Role) *pod {
	t.Helper()
	p := &pod{account: newAccount(t), server: requireServer(t), mounts: map[string]string{}}
	var err error
	p.volume, err = tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	suffix := strings.TrimPrefix(p.namespace, "e2e-")
	p.policy = "app-" + suffix
	p.server.setPolicy(t, p.policy, "secret/data/"+p.namespace)
	p.server.put(t, p.namespace, object{"user": "app"})
	for way, m := range map[string]struct {
		kind, path string
		config     object
	}{
		byReview: {"kubernetes", "kubernetes-" + suffix, object{
			"kubernetes_host": p.URL, "kubernetes_ca_cert": p.ca,
			"token_reviewer_jwt": p.reviewer, "disable_local_ca_jwt": true,
		}},
		byKeys: {"jwt", "jwt-keys-" + suffix, object{
			"jwt_validation_pubkeys": []string{p.signingKeys(t)}, "bound_issuer": p.issuer.URL,
		}},
		byKeysURL: {"jwt", "jwt-url-" + suffix, object{
			"jwks_url": p.URL + "/openid/v1/jwks", "jwks_ca_pem": p.ca, "bound_issuer": p.issuer.URL,
		}},
	} {
		p.server.mount(t, m.kind, m.path, m.config)
		p.mounts[way] = m.path
		p.setRole(t, way, "app", role)
	}
	return p
}

// hour is the usual role: tokens of an hour, for a day at most.
var hour = vaultauthtest.Role{TokenTTL: time.Hour, TokenMaxTTL: 24 * time.Hour}

// setRole makes a role for the pod's account, which reads its secret.
func (p *pod) setRole(t *testing.T, way, name string, r vaultauthtest.Role) {
	t.Helper()
	r.Policies = []string{p.policy}
	if r.BoundAudiences == nil {
		r.BoundAudiences = []string{openbao}
	}
	kind := "jwt"
	if way == byReview {
		kind = "kubernetes"
		r.BoundServiceAccountNames, r.BoundServiceAccountNamespaces = []string{p.name}, []string{p.namespace}
	} else {
		r.BoundSubject = p.subject()
	}
	p.server.setRole(t, kind, p.mounts[way], name, r)
}

// write puts a token into the volume, as the kubelet does.
func (p *pod) write(t *testing.T, token string) {
	t.Helper()
	p.secrets.add(strings.Split(token, ".")...)
	require.NoError(t, p.volume.Write(token))
}

func (p *pod) method(way, role string) *vaultauth.Method {
	return &vaultauth.Method{
		Role: role, Mount: p.mounts[way],
		Source: &tokenfile.Source{Path: p.volume.Path(), Audience: openbao},
	}
}

func (p *pod) config() *api.Config {
	config := api.DefaultConfig()
	config.Address = p.server.url
	return config
}

// client is one that shows each failure, where the default one repeats requests.
func (p *pod) client(t *testing.T) *api.Client {
	t.Helper()
	client, err := api.NewClient(p.config())
	require.NoError(t, err)
	client.SetMaxRetries(0)
	client.ClearToken()
	return client
}

// session is one that is logged in and runs until the test ends.
func (p *pod) session(t *testing.T, method *vaultauth.Method) *vaultauth.Session {
	t.Helper()
	s := p.newSession(t, method)
	require.NoError(t, s.Login(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Run(t.Context())
	}()
	t.Cleanup(func() { <-done }) // t's context has ended by then
	return s
}

// newSession is one whose log is shown, and searched for tokens at the end.
func (p *pod) newSession(t *testing.T, method *vaultauth.Method) *vaultauth.Session {
	t.Helper()
	s, err := vaultauth.NewSession(p.config(), method)
	require.NoError(t, err)
	s.Client.SetMaxRetries(0)
	s.OnLogin = func(secret *api.Secret) { p.secrets.add(secret.Auth.ClientToken) }
	log := new(bytes.Buffer)
	s.Logger = slog.New(slog.NewTextHandler(io.MultiWriter(log, t.Output()), &slog.HandlerOptions{Level: slog.LevelDebug}))
	t.Cleanup(func() { p.secrets.requireAbsent(t, log.String()) })
	return s
}

// secrets are what no text may hold.
type secrets struct {
	mu  sync.Mutex
	all []string
}

func (s *secrets) add(parts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, parts...)
}

// requireAbsent fails without showing the text.
func (s *secrets) requireAbsent(t *testing.T, text string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(t, s.all)
	for _, secret := range s.all {
		if strings.Contains(text, secret) {
			t.Error("a log or an error holds part of a token")
			return
		}
	}
}

// read reads the secret.
func (p *pod) read(t *testing.T, client *api.Client) error {
	t.Helper()
	_, err := client.KVv2(kvMount).Get(t.Context(), p.namespace)
	return err
}
