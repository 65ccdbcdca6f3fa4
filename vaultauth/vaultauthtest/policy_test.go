package vaultauthtest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

func TestPolicies(t *testing.T) {
	tests := []struct {
		name    string
		pattern string
		path    string
		granted bool
	}{
		{"the path itself", "secret/data/app", "secret/data/app", true},
		{"another path", "secret/data/app", "secret/data/app2", false},
		{"a star at the end", "secret/data/app/*", "secret/data/app/a/b", true},
		{"not the folder itself", "secret/data/app/*", "secret/data/app", false},
		{"a plus for one segment", "secret/data/+/db", "secret/data/app/db", true},
		{"a plus for two segments", "secret/data/+/db", "secret/data/app/x/db", false},
		{"a plus for another end", "secret/data/+/db", "secret/data/app/db2", false},
		{"a plus at the end", "secret/data/+", "secret/data/app", true},
		{"pluses and a star", "secret/+/+/x*", "secret/data/app/xyz", true},
		{"a plus in another place", "secret/other/+", "secret/data/app", false},
		{"everything", "*", "secret/data/app", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t, vaultauthtest.Vault)
			f.SetPolicy("web", test.pattern)
			r := f.ask(f.granted("jwt", "hour").token(), http.MethodGet, test.path, nil)
			if test.granted {
				assert.Equal(t, 404, r.status, "there is no such secret")
			} else {
				assert.Equal(t, 403, r.status)
				assert.Equal(t, forbidden, r.errors)
			}
		})
	}
}

// https://github.com/hashicorp/vault/issues/22575
func TestWithoutTheDefaultPolicy(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		f.SetRole("jwt", "bare", variant(func(r *vaultauthtest.Role) { r.NoDefaultPolicy = true }))
		r := f.granted("jwt", "bare")
		assert.Equal(t, []any{"web"}, r.auth()["policies"])
		for _, answer := range []reply{f.renew(r.token()), f.lookup(r.token())} {
			assert.Equal(t, 403, answer.status)
			assert.Equal(t, forbidden, answer.errors)
		}
		assert.Equal(t, 200, f.read(r.token()).status)

		f.SetPolicy("web", "auth/token/renew-self")
		assert.Equal(t, 200, f.renew(r.token()).status)
		assert.Equal(t, 403, f.read(r.token()).status)

		f.SetRole("jwt", "nothing", variant(func(r *vaultauthtest.Role) { r.NoDefaultPolicy, r.Policies = true, nil }))
		assert.Equal(t, []any{}, f.granted("jwt", "nothing").auth()["policies"])
	})
}

func TestDefaultPolicy(t *testing.T) {
	f := newFake(t, vaultauthtest.Vault)
	token := f.granted("jwt", "hour").token()
	assert.Equal(t, forbidden, f.ask(token, http.MethodGet, "auth/token/renew-self", nil).errors, "it may update, not read")
	assert.Equal(t, forbidden, f.ask(token, http.MethodPut, "auth/token/lookup-self", nil).errors, "it may read, not update")
	f.SetPolicy("default")
	assert.Equal(t, forbidden, f.renew(token).errors)
	f.SetPolicy("default", "auth/token/*")
	assert.Equal(t, 200, f.renew(token).status)
	r := f.ask(token, http.MethodGet, "auth/token/renew-self", nil)
	assert.Equal(t, 405, r.status)
	assert.Equal(t, "1 error occurred:\n\t* unsupported operation\n\n", r.errors)
}

// Whoever may not look somewhere is not told that nothing is there.
func TestMissingRoute(t *testing.T) {
	f := newFake(t, vaultauthtest.Vault)
	token := f.granted("jwt", "hour").token()
	assert.Equal(t, forbidden, f.ask(token, http.MethodGet, "kv/x", nil).errors)
	f.SetPolicy("web", "kv/*")
	r := f.ask(token, http.MethodGet, "kv/x", nil)
	assert.Equal(t, 404, r.status)
	assert.Equal(t, `no handler for route "kv/x". route entry not found.`, r.errors)
}

func TestSecrets(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		token := f.granted("jwt", "hour").token()
		r := f.read(token)
		assert.Equal(t, 200, r.status)
		assert.Equal(t, object{
			"data": object{"password": "swordfish"},
			"metadata": object{
				"created_time": "2000-01-01T00:00:00Z", "custom_metadata": nil, "deletion_time": "", "destroyed": false, "version": 1.0,
			},
		}, r.body["data"])
		assert.Nil(t, r.body["auth"])

		const path = "secret/data/web/new"
		missing := f.ask(token, http.MethodGet, path, nil)
		assert.Equal(t, 404, missing.status)
		assert.Equal(t, object{"errors": []any{}}, missing.body)
		written := f.ask(token, http.MethodPost, path, object{"data": object{"a": "b"}})
		assert.Equal(t, 200, written.status)
		assert.Equal(t, 1.0, written.body["data"].(object)["version"])
		assert.Equal(t, 2.0, f.ask(token, http.MethodPut, path, object{"data": object{"a": 1}}).body["data"].(object)["version"])
		assert.Equal(t, object{"a": 1.0}, f.ask(token, http.MethodGet, path, nil).body["data"].(object)["data"])
		assert.Equal(t, "no data provided", f.ask(token, http.MethodPut, path, object{"a": 1}).errors)
		assert.Equal(t, 405, f.ask(token, http.MethodDelete, path, nil).status)
	})
}
