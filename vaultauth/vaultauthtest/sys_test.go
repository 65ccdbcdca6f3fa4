package vaultauthtest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

func TestHealth(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		health := func(query string) reply { return f.ask("", http.MethodGet, "sys/health"+query, nil) }
		r := health("")
		assert.Equal(t, 200, r.status)
		assert.Equal(t, true, r.body["initialized"])
		assert.Equal(t, false, r.body["sealed"])
		assert.Equal(t, false, r.body["standby"])
		assert.NotEmpty(t, r.body["cluster_id"])
		assert.Contains(t, r.body, "server_time_utc")
		assert.Equal(t, 200, f.ask("", http.MethodHead, "sys/health", nil).status)
		assert.Equal(t, 405, f.ask("", http.MethodPut, "sys/health", nil).status)

		f.SetStandby(true)
		assert.Equal(t, 429, health("").status)
		assert.Equal(t, true, health("").body["standby"])
		assert.Equal(t, 200, health("?standbyok=true").status)
		f.SetStandby(false)

		f.Seal()
		assert.Equal(t, 503, health("").status)
		assert.Equal(t, 503, f.ask("", http.MethodHead, "sys/health", nil).status)
		assert.Equal(t, true, health("").body["sealed"])
		assert.NotContains(t, health("").body, "cluster_id")
	})
}

func TestSealStatus(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		r := f.ask("", http.MethodGet, "sys/seal-status", nil)
		assert.Equal(t, 200, r.status)
		assert.Equal(t, false, r.body["sealed"])
		f.Seal()
		r = f.ask("", http.MethodGet, "sys/seal-status", nil)
		assert.Equal(t, 200, r.status)
		assert.Equal(t, true, r.body["sealed"])
		assert.Equal(t, "shamir", r.body["type"])
	})
}

// A client that names its namespace everywhere does so here, too.
func TestHealthInANamespace(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		r := newFake(t, p).asIn("a", "", http.MethodGet, "sys/health", nil)
		if p == vaultauthtest.Vault {
			assert.Equal(t, 200, r.status)
			return
		}
		assert.Equal(t, 400, r.status)
		assert.Equal(t, "operation unavailable in namespaces", r.errors)
	})
}

// Products are distinguished by what they say of themselves, too.
func TestProducts(t *testing.T) {
	bao := newFake(t, vaultauthtest.OpenBao).ask("", http.MethodGet, "sys/health", nil)
	vault := newFake(t, vaultauthtest.Vault).ask("", http.MethodGet, "sys/health", nil)
	assert.NotEqual(t, bao.body["version"], vault.body["version"])
	assert.NotContains(t, bao.body, "enterprise")
	assert.Equal(t, false, vault.body["enterprise"])
}
