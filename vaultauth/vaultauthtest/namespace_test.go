package vaultauthtest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

func in(namespace string) http.Header { return http.Header{"X-Vault-Namespace": {namespace}} }

// asIn is ask with the header that names a namespace.
func (f *fake) asIn(namespace, token, method, path string, body any) reply {
	f.t.Helper()
	r, err := f.try(token, method, path, body, in(namespace))
	require.NoError(f.t, err)
	return r
}

func newNamespaces(t *testing.T, p vaultauthtest.Product) *fake {
	f := newFake(t, p)
	f.Enable("team", vaultauthtest.Mount{Type: "jwt", Namespace: "a/b"})
	f.SetRole("team", "hour", hour())
	f.PutIn("a/b", "web/database", object{"password": "in a/b"})
	return f
}

func TestNamespaces(t *testing.T) {
	f := newNamespaces(t, vaultauthtest.OpenBao)
	login := object{"role": "hour", "jwt": f.jwt(nil)}
	const path, secret = "auth/team/login", "secret/data/web/database"

	ways := map[string]reply{
		"header":                 f.asIn("a/b", "", http.MethodPut, path, login),
		"header with slashes":    f.asIn("/a/b/", "", http.MethodPut, path, login),
		"path":                   f.ask("", http.MethodPut, "a/b/"+path, login),
		"half by header":         f.asIn("a", "", http.MethodPut, "b/"+path, login),
		"the header of the root": f.asIn("root", "", http.MethodPut, "a/b/"+path, login),
	}
	for way, r := range ways {
		assert.Equal(t, 200, r.status, way)
		assert.Regexp(t, `^s\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{6}$`, r.token(), way)
		assert.Regexp(t, `^[0-9A-Za-z]{24}\.[0-9A-Za-z]{6}$`, r.auth()["accessor"], way)
	}
	assert.Equal(t, "a/b", ways["header"].header.Get("X-Vault-Namespace"))

	missing := f.asIn("none", "", http.MethodPut, path, login)
	assert.Equal(t, 404, missing.status)
	assert.Equal(t, "namespace not found", missing.errors)
	for name, r := range map[string]reply{
		"the namespace above": f.asIn("a", "", http.MethodPut, path, login),
		"the root":            f.ask("", http.MethodPut, path, login),
		"a path that is none": f.ask("", http.MethodPut, "none/"+path, login),
	} {
		assert.Equal(t, 403, r.status, name)
		assert.Equal(t, denied, r.errors, name)
	}

	child := ways["header"].token()
	assert.Equal(t, 200, f.asIn("a/b", child, http.MethodGet, secret, nil).status)
	assert.Equal(t, 200, f.ask(child, http.MethodGet, "a/b/"+secret, nil).status)
	above := f.ask(child, http.MethodGet, secret, nil)
	assert.Equal(t, 403, above.status)
	assert.Equal(t, forbidden, above.errors)
	for _, namespace := range []string{"a/b", "a", "root"} {
		assert.Equal(t, 200, f.asIn(namespace, child, http.MethodPut, "auth/token/renew-self", object{}).status,
			"these go to the token's namespace")
	}
	assert.Equal(t, "a/b/", f.lookup(child).body["data"].(object)["namespace_path"])

	root := f.granted("jwt", "hour").token()
	assert.Equal(t, 403, f.asIn("a/b", root, http.MethodGet, secret, nil).status, "web is about the root's secrets")
	f.SetPolicy("web", "a/b/secret/data/*")
	assert.Equal(t, 200, f.asIn("a/b", root, http.MethodGet, secret, nil).status)
	assert.Equal(t, 403, f.asIn("a/b", child, http.MethodGet, secret, nil).status)

	last := f.Requests()[0]
	assert.Equal(t, "a/b", last.Namespace)
	assert.Equal(t, path, last.Path)
}

// Vault's community edition takes no notice of the header, and does not know
// the namespace in a path.
func TestVaultIgnoresNamespaces(t *testing.T) {
	f := newNamespaces(t, vaultauthtest.Vault)
	login := object{"role": "hour", "jwt": f.jwt(nil)}
	r := f.asIn("a/b", "", http.MethodPut, "auth/jwt/login", login)
	assert.Equal(t, 200, r.status)
	assert.Equal(t, "swordfish", f.asIn("none", r.token(), http.MethodGet, "secret/data/web/database", nil).
		body["data"].(object)["data"].(object)["password"])
	assert.Equal(t, 403, f.asIn("a/b", "", http.MethodPut, "auth/team/login", login).status)
	assert.Equal(t, 403, f.ask("", http.MethodPut, "a/b/auth/team/login", login).status)
}

func TestNamesOfMounts(t *testing.T) {
	f := newNamespaces(t, vaultauthtest.OpenBao)
	f.Enable("team", vaultauthtest.Mount{Namespace: "c"})
	assert.PanicsWithValue(t, `vaultauthtest: 2 auth methods are enabled at "team"`, func() { f.SetRole("team", "r", hour()) })
	assert.PanicsWithValue(t, `vaultauthtest: 0 auth methods are enabled at "none"`, func() { f.DeleteRole("none", "r") })
	assert.PanicsWithValue(t, `vaultauthtest: cannot enable an auth method of type "ldap"`, func() {
		f.Enable("ldap", vaultauthtest.Mount{Type: "ldap"})
	})
	f.SetRole("c/team", "r", hour())
	f.AddNamespace("d")
	login := object{"role": "r", "jwt": f.jwt(nil)}
	assert.Equal(t, 200, f.asIn("c", "", http.MethodPut, "auth/team/login", login).status)
	assert.Equal(t, 400, f.asIn("a/b", "", http.MethodPut, "auth/team/login", login).status)
	assert.Equal(t, 403, f.asIn("d", "", http.MethodPut, "auth/team/login", login).status)
}
