package baoauth_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/openbao/openbao/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/baoauth"
	"github.com/podtoken/podtoken/baoauth/baoauthtest"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// This file is not generated: OpenBao's client reads each BAO_ variable, and
// the VAULT_ one where there is none. Vault's reads only the latter.

var environmentPrefixes = []string{api.OpenBaoEnvPrefix, api.UpstreamEnvPrefix}

// environmentTest is a program in a pod whose environment is the test's alone.
type environmentTest struct {
	server *baoauthtest.Server
	method *baoauth.Method
	hosts  []string // where requests were sent
}

// newEnvironmentTest has a jwt mount in namespace.
func newEnvironmentTest(t *testing.T, namespace string, env map[string]string) *environmentTest {
	t.Helper()
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		for _, prefix := range environmentPrefixes {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "") // puts it back at the end
				require.NoError(t, os.Unsetenv(name))
			}
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}

	issuer := new(tokenfiletest.Issuer)
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	token, _ := issuer.Token(tokenfiletest.Request{Audiences: []string{"openbao"}, Namespace: "shop", ServiceAccount: "web"})
	require.NoError(t, volume.Write(token))

	server := baoauthtest.New(issuer)
	mount := strings.TrimPrefix(namespace+"/jwt", "/")
	server.Enable("jwt", baoauthtest.Mount{Namespace: namespace})
	server.SetRole(mount, "web", baoauthtest.Role{BoundAudiences: []string{"openbao"}, Policies: []string{"web"}})
	server.SetPolicy("web", "secret/data/web")
	server.Put("web", map[string]any{"colour": "blue"})
	return &environmentTest{server: server, method: &baoauth.Method{
		Role: "web", Mount: "jwt",
		Source: &tokenfile.Source{Path: volume.Path(), Audience: "openbao"},
	}}
}

func (e *environmentTest) RoundTrip(r *http.Request) (*http.Response, error) {
	e.hosts = append(e.hosts, r.URL.Host)
	return e.server.Transport().RoundTrip(r)
}

// session has a client with that configuration and the test's server.
func (e *environmentTest) session(t *testing.T, config *api.Config) *baoauth.Session {
	t.Helper()
	require.NoError(t, config.Error)
	config.HttpClient = &http.Client{Transport: e}
	session, err := baoauth.NewSession(config, e.method)
	require.NoError(t, err)
	return session
}

func TestEnvironmentSaysWhereTheServerIs(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		host string
	}{
		"neither":                             {nil, "127.0.0.1:8200"},
		"BAO_ADDR":                            {map[string]string{"BAO_ADDR": "https://bao:8200"}, "bao:8200"},
		"VAULT_ADDR":                          {map[string]string{"VAULT_ADDR": "https://vault:8200"}, "vault:8200"},
		"both":                                {map[string]string{"BAO_ADDR": "https://bao:8200", "VAULT_ADDR": "https://vault:8200"}, "bao:8200"},
		"an empty BAO_ADDR hides VAULT_ADDR":  {map[string]string{"BAO_ADDR": "", "VAULT_ADDR": "https://vault:8200"}, "127.0.0.1:8200"},
		"BAO_AGENT_ADDR goes before BAO_ADDR": {map[string]string{"BAO_ADDR": "https://bao:8200", "BAO_AGENT_ADDR": "http://agent:8100"}, "agent:8100"},
		"and so does VAULT_AGENT_ADDR":        {map[string]string{"BAO_ADDR": "https://bao:8200", "VAULT_AGENT_ADDR": "http://agent:8100"}, "agent:8100"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnvironmentTest(t, "", c.env)
			session := e.session(t, api.DefaultConfig())
			require.NoError(t, session.Login(t.Context()))
			_, err := session.Client.Logical().Read("secret/data/web")
			require.NoError(t, err)
			assert.Equal(t, []string{c.host, c.host}, e.hosts)
		})
	}
}

// A wrapped answer holds no token that the session could use, and nobody asked
// for one by a login: VAULT_WRAP_TTL is for what people read by hand.
func TestWrapTTLInTheEnvironmentDoesNotBreakALogin(t *testing.T) {
	for _, prefix := range environmentPrefixes {
		t.Run(prefix, func(t *testing.T) {
			e := newEnvironmentTest(t, "", map[string]string{prefix + "WRAP_TTL": "5m"})
			session := e.session(t, api.DefaultConfig())
			require.Equal(t, "5m", session.Client.NewRequest(http.MethodPut, "/v1/auth/jwt/login").WrapTTL,
				"the client has read the variable")
			require.NoError(t, session.Login(t.Context()))
			_, err := session.Client.Auth().Login(t.Context(), e.method)
			require.NoError(t, err)
			requests := e.server.Requests()
			require.Len(t, requests, 2)
			for _, r := range requests {
				assert.False(t, r.WrapTTL, r.Path)
			}
		})
	}
}

// A server that does not know the token, or the entity behind it, refuses a
// login that carries it, however good the service-account token is.
func TestTokenInTheEnvironmentIsNotSentWithALogin(t *testing.T) {
	for _, prefix := range environmentPrefixes {
		t.Run(prefix, func(t *testing.T) {
			e := newEnvironmentTest(t, "", map[string]string{prefix + "TOKEN": "s.stale"})
			session := e.session(t, api.DefaultConfig())
			require.Equal(t, "s.stale", session.Client.Token(), "the client has read the variable")
			clone, err := session.Client.Clone()
			require.NoError(t, err)
			require.NoError(t, session.Login(t.Context()))
			requests := e.server.Requests()
			require.Len(t, requests, 1)
			assert.False(t, requests[0].HadToken)

			for _, client := range []*api.Client{session.Client, clone} {
				_, err := client.Logical().Read("secret/data/web")
				assert.NoError(t, err, "with the token of the login, and not with that of the environment")
			}
		})
	}
}

func TestNamespaceInTheEnvironmentIsThatOfTheLogin(t *testing.T) {
	for _, prefix := range environmentPrefixes {
		t.Run(prefix, func(t *testing.T) {
			e := newEnvironmentTest(t, "team", map[string]string{prefix + "NAMESPACE": "team"})
			require.NoError(t, e.session(t, api.DefaultConfig()).Login(t.Context()))
			assert.Equal(t, "team", e.server.Requests()[0].Namespace)
		})
	}
	t.Run("none", func(t *testing.T) {
		err := newEnvironmentTest(t, "team", nil).session(t, api.DefaultConfig()).Login(t.Context())
		var refused *baoauth.LoginError
		require.ErrorAs(t, err, &refused)
		assert.Empty(t, refused.Namespace)
	})
}

// Only OpenBao's client has NewConfig, for programs that do not want to be
// configured by their environment. What the session makes of it must not be so
// either.
func TestDisabledEnvironmentHasNoEffect(t *testing.T) {
	for _, prefix := range environmentPrefixes {
		t.Run(prefix, func(t *testing.T) {
			e := newEnvironmentTest(t, "", map[string]string{
				prefix + "ADDR":      "https://elsewhere:8200",
				prefix + "NAMESPACE": "elsewhere",
				prefix + "TOKEN":     "s.stale",
				prefix + "WRAP_TTL":  "5m",
			})
			config := api.NewConfig()
			config.Address = "https://bao:8200"
			session := e.session(t, config)
			require.NoError(t, session.Login(t.Context()))
			_, err := session.Client.Logical().Read("secret/data/web")
			require.NoError(t, err)
			assert.Equal(t, []string{"bao:8200", "bao:8200"}, e.hosts)
			login := e.server.Requests()[0]
			assert.Empty(t, login.Namespace)
			assert.False(t, login.HadToken)
			assert.False(t, login.WrapTTL)
		})
	}
}
