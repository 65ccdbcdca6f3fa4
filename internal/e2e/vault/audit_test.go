//go:build linux

package vault

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	jwt "github.com/hashicorp/vault-plugin-auth-jwt"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	"github.com/hashicorp/vault/audit"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// deploy/login-rejections.yaml counts the rejected logins of an audit log. It
// is tested with these lines, so they are what the server writes.
func TestTheAuditLinesAreThoseThatAreCounted(t *testing.T) {
	s, log := startAudited(t)
	issuer := s.prepareLogins(t)
	token := func(audience string) string {
		token, err := issuer.Token(tokenfiletest.Request{Audiences: []string{audience}, Namespace: "shop", ServiceAccount: "web"})
		require.NoError(t, err)
		return token
	}
	login := func(mount string, status int, body object) {
		t.Helper()
		answer, err := s.ask(t.Context(), "", http.MethodPut, "auth/"+mount+"/login", body)
		require.NoError(t, err)
		require.Equal(t, status, answer.status)
	}

	login("kubernetes", http.StatusForbidden, object{"role": "web", "jwt": token("openbao")})
	for _, mount := range []string{"kubernetes", "jwt"} { // as deploy/README.md says
		s.must(t, http.MethodPost, "sys/auth/"+mount+"/tune", object{"audit_non_hmac_request_keys": []string{"role"}})
	}
	login("kubernetes", http.StatusForbidden, object{"role": "web", "jwt": token("openbao")})
	login("kubernetes", http.StatusBadRequest, object{"jwt": token("vault")})
	login("jwt", http.StatusBadRequest, object{"role": "web", "jwt": token("openbao")})
	login("jwt", http.StatusOK, object{"role": "web", "jwt": token("vault")})
	login("made-up", http.StatusForbidden, object{"role": "web", "jwt": token("vault")})

	want, err := os.ReadFile(filepath.Join("..", "prometheus", "testdata", "audit.log"))
	require.NoError(t, err)
	assert.Equal(t, string(want), logins(t, log))
}

// startAudited starts a server within the test, which has an audit device.
func startAudited(t *testing.T) (s *server, log string) {
	t.Helper()
	storage, err := inmem.NewInmem(nil, hclog.NewNullLogger())
	require.NoError(t, err)
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:           storage,
		CredentialBackends: map[string]logical.Factory{"jwt": jwt.Factory, "kubernetes": kubernetes.Factory},
		AuditBackends:      map[string]audit.Factory{"file": audit.NewFileBackend},
		BuiltinRegistry:    noBuiltins{},
		DisableMlock:       true,
		Logger:             hclog.NewNullLogger(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = core.ShutdownWait() })
	listening := httptest.NewServer(vaulthttp.Handler.Handler(&vault.HandlerProperties{
		Core: core, ListenerConfig: &configutil.Listener{},
	}))
	t.Cleanup(listening.Close)
	s = &server{url: listening.URL}
	require.NoError(t, s.initialize(t.Context()))
	log = filepath.Join(t.TempDir(), "audit.log")
	s.must(t, http.MethodPut, "sys/audit/file", object{"type": "file", "options": object{"file_path": log}})
	return s, log
}

// prepareLogins makes a role web at two mounts, for tokens of the issuer.
func (s *server) prepareLogins(t *testing.T) *tokenfiletest.Issuer {
	t.Helper()
	issuer, err := tokenfiletest.NewIssuer("https://issuer.example")
	require.NoError(t, err)
	keys, err := publicKeys(issuer)
	require.NoError(t, err)
	s.mount(t, "kubernetes", "kubernetes", object{"kubernetes_host": s.url, "token_reviewer_jwt": "none", "disable_local_ca_jwt": true})
	s.mount(t, "jwt", "jwt", object{"jwt_validation_pubkeys": []string{keys}})
	s.must(t, http.MethodPost, "auth/kubernetes/role/web", object{
		"bound_service_account_names": "web", "bound_service_account_namespaces": "shop", "audience": "vault",
	})
	s.must(t, http.MethodPost, "auth/jwt/role/web", object{"role_type": "jwt", "user_claim": "sub", "bound_audiences": "vault"})
	return issuer
}

// logins are the lines of a log on logins, without what differs from run to run.
func logins(t *testing.T, log string) string {
	t.Helper()
	written, err := os.ReadFile(log)
	require.NoError(t, err)
	var lines strings.Builder
	for line := range strings.Lines(string(written)) {
		var entry object
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		if strings.HasSuffix(text(entry, "request", "path"), "/login") {
			require.NoError(t, json.NewEncoder(&lines).Encode(steady("", entry)))
		}
	}
	return lines.String()
}

// steady replaces what is random or current, wherever it is in an entry.
func steady(key string, value any) any {
	switch value := value.(type) {
	case object:
		for name, v := range value {
			value[name] = steady(name, v)
		}
	case string:
		switch {
		case strings.HasPrefix(value, "hmac-sha256:"):
			return "hmac-sha256:HASH"
		case strings.HasSuffix(key, "time") || strings.HasSuffix(key, "id") ||
			strings.HasSuffix(key, "accessor") || strings.HasSuffix(key, "version"):
			return strings.ToUpper(key)
		}
	case float64:
		if key == "remote_port" {
			return 1
		}
	}
	return value
}

// noBuiltins is an empty registry: the factories are all there is.
type noBuiltins struct{}

func (noBuiltins) Contains(string, consts.PluginType) bool { return false }

func (noBuiltins) Get(string, consts.PluginType) (func() (any, error), bool) { return nil, false }

func (noBuiltins) Keys(consts.PluginType) []string { return nil }

func (noBuiltins) DeprecationStatus(string, consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, true
}

func (noBuiltins) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }
