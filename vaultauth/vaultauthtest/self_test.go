package vaultauthtest_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// inBubble runs a test of a product in a bubble, where hours pass at once.
func inBubble(t *testing.T, test func(t *testing.T, f *fake)) {
	t.Helper()
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		synctest.Test(t, func(t *testing.T) { test(t, newFake(t, p)) })
	})
}

// capped is what a server warns of.
func capped(ttl, left string) []any {
	return []any{`TTL of "` + ttl + `" exceeded the effective max_ttl of "` + left + `"; TTL value is capped accordingly`}
}

// The figures are those that real servers gave.
func TestRenewalUpToTheMaxTTL(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		f.SetRole("jwt", "short", variant(func(r *vaultauthtest.Role) {
			r.TokenTTL, r.TokenMaxTTL = 10*time.Second, 25*time.Second
		}))
		login := f.granted("jwt", "short")
		token := login.token()
		assert.Equal(t, 10, login.lease())
		steps := []struct {
			wait     time.Duration
			lease    int
			warnings any
		}{
			{8 * time.Second, 10, nil},
			{8 * time.Second, 9, capped("10s", "9s")},
			{4 * time.Second, 5, capped("10s", "5s")},
			{4 * time.Second, 1, capped("10s", "1s")},
		}
		for _, step := range steps {
			time.Sleep(step.wait)
			r := f.renew(token)
			require.Equal(t, 200, r.status, r.errors)
			assert.Equal(t, step.lease, r.lease())
			assert.Equal(t, step.warnings, r.body["warnings"])
			assert.Equal(t, true, r.auth()["renewable"])
			assert.Equal(t, token, r.token())
			assert.Equal(t, login.auth()["accessor"], r.auth()["accessor"])
			assert.Equal(t, login.auth()["metadata"], r.auth()["metadata"])
			assert.Nil(t, r.body["data"])
		}
		time.Sleep(time.Second)
		r := f.renew(token)
		assert.Equal(t, 403, r.status)
		assert.Equal(t, dead(f.Product), r.errors)
	})
}

// All times are cut to seconds, so a lease may run beyond the max TTL by a
// fraction of one, in which it is too late to renew.
func TestRenewalInTheLastFractionOfASecond(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		f.SetRole("jwt", "short", variant(func(r *vaultauthtest.Role) {
			r.TokenTTL, r.TokenMaxTTL = 10*time.Second, 10*time.Second
		}))
		time.Sleep(900 * time.Millisecond)
		token := f.granted("jwt", "short").token()
		time.Sleep(9500 * time.Millisecond)
		r := f.renew(token)
		assert.Equal(t, 500, r.status)
		assert.Equal(t, "1 error occurred:\n\t* past the max TTL, cannot renew\n\n", r.errors)
		assert.Equal(t, 200, f.lookup(token).status)
		time.Sleep(500 * time.Millisecond)
		assert.Equal(t, 403, f.lookup(token).status)
	})
}

func TestLeases(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name     string
		role     func(*vaultauthtest.Role)
		lease    int
		warnings any
	}{
		{"the role's TTL", func(*vaultauthtest.Role) {}, 3600, nil},
		{"the system's default", func(r *vaultauthtest.Role) { r.TokenTTL, r.TokenMaxTTL = 0, 0 }, 768 * 3600, nil},
		{"the max TTL without a TTL", func(r *vaultauthtest.Role) { r.TokenTTL = 0 }, 3 * 3600, capped("768h", "3h")},
		{"more than the system grants", func(r *vaultauthtest.Role) { r.TokenTTL, r.TokenMaxTTL = 40*day, 0 },
			768 * 3600, capped("960h", "768h")},
		{"explicit max TTL", func(r *vaultauthtest.Role) { r.TokenExplicitMaxTTL = 90 * time.Second }, 90, capped("1h", "1m30s")},
		{"period", func(r *vaultauthtest.Role) { r.TokenPeriod = 2 * time.Hour }, 7200, nil},
		{"period over the max TTL", func(r *vaultauthtest.Role) { r.TokenPeriod = 5 * time.Hour }, 3 * 3600,
			[]any{`period of "5h" exceeded the effective max_ttl of "3h"; period value is capped accordingly`}},
		{"fractions are cut", func(r *vaultauthtest.Role) { r.TokenTTL = 1900 * time.Millisecond }, 1, nil},
	}
	inBubble(t, func(t *testing.T, f *fake) {
		for _, test := range tests {
			f.SetRole("jwt", "r", variant(test.role))
			r := f.granted("jwt", "r")
			assert.Equal(t, test.lease, r.lease(), test.name)
			assert.Equal(t, test.warnings, r.body["warnings"], test.name)
			time.Sleep(time.Duration(test.lease)*time.Second - time.Nanosecond)
			assert.Equal(t, 200, f.lookup(r.token()).status, test.name)
			time.Sleep(time.Nanosecond)
			assert.Equal(t, 403, f.lookup(r.token()).status, test.name)
		}
	})
}

func TestPeriodicTokenLivesForEver(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		f.SetRole("jwt", "periodic", variant(func(r *vaultauthtest.Role) { r.TokenPeriod = time.Hour }))
		f.SetRole("jwt", "bounded", variant(func(r *vaultauthtest.Role) {
			r.TokenPeriod, r.TokenExplicitMaxTTL = time.Hour, 10*time.Hour
		}))
		token, bounded := f.granted("jwt", "periodic").token(), f.granted("jwt", "bounded").token()
		for range 19 { // over more than the max TTL of three hours
			time.Sleep(30 * time.Minute)
			require.Equal(t, 3600, f.renew(token).lease())
			require.NotZero(t, f.renew(bounded).lease())
		}
		r := f.renew(bounded)
		assert.Equal(t, 1800, r.lease())
		assert.Equal(t, capped("1h", "30m"), r.body["warnings"])
		time.Sleep(30 * time.Minute)
		assert.Equal(t, 200, f.lookup(token).status)
		assert.Equal(t, 403, f.lookup(bounded).status)
		assert.Equal(t, 3600.0, f.lookup(token).body["data"].(object)["period"])
	})
}

func TestIncrement(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		token := f.granted("jwt", "hour").token()
		renew := func(increment any) reply {
			return f.ask(token, http.MethodPost, "auth/token/renew-self", object{"increment": increment})
		}
		for increment, lease := range map[any]int{60: 60, "90": 90, "2m": 120, 0: 3600, "": 3600, "0": 3600, 7200: 7200, "1d": 3 * 3600} {
			assert.Equal(t, lease, renew(increment).lease(), increment)
		}
		assert.Equal(t, capped("10h", "3h"), renew("10h").body["warnings"])
		r := renew(-1)
		assert.Equal(t, 400, r.status)
		assert.Equal(t, `Field validation failed: error converting input for field "increment": cannot provide negative value '-1'`, r.errors)
		assert.Equal(t, 400, renew("soon").status)
		assert.Equal(t, 400, renew(true).status)
		assert.Equal(t, 10800, renew("10h").lease(), "what was refused did nothing")
	})
}

func TestRenewalFollowsTheRole(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		login := f.granted("jwt", "hour")
		token := login.token()
		f.SetRole("jwt", "hour", variant(func(r *vaultauthtest.Role) {
			r.TokenTTL, r.Policies, r.TokenExplicitMaxTTL = 10*time.Minute, nil, time.Minute
		}))
		r := f.renew(token)
		assert.Equal(t, 600, r.lease(), "the TTL is the role's new one, the explicit max TTL is not")
		assert.Equal(t, []any{"default", "web"}, r.auth()["policies"])

		for _, mount := range []string{"jwt", "kubernetes"} {
			token := f.granted(mount, "hour").token()
			f.DeleteRole(mount, "hour")
			r := f.renew(token)
			assert.Equal(t, 500, r.status)
			assert.Equal(t, "1 error occurred:\n\t* failed to renew entry: role hour does not exist during renewal\n\n", r.errors)
			assert.Equal(t, 200, f.lookup(token).status)
			time.Sleep(time.Hour)
			assert.Equal(t, 403, f.lookup(token).status)
		}
	})
}

func TestBatchTokens(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		f.SetRole("jwt", "batch", variant(func(r *vaultauthtest.Role) { r.Batch = true }))
		r := f.granted("jwt", "batch")
		token := r.token()
		if f.Product == vaultauthtest.OpenBao {
			assert.Regexp(t, `^b\.AAAAAQ`, token)
		} else {
			assert.Regexp(t, `^hvb\.AAAAAQ`, token)
		}
		assert.Equal(t, 3600, r.lease())
		assert.Equal(t, false, r.auth()["renewable"])
		assert.Equal(t, "batch", r.auth()["token_type"])
		assert.Equal(t, "", r.auth()["accessor"])
		assert.Equal(t, 200, f.read(token).status)

		renewal := f.renew(token)
		assert.Equal(t, 400, renewal.status)
		assert.Equal(t, "batch tokens cannot be renewed", renewal.errors)
		revocation := f.ask(token, http.MethodPut, "auth/token/revoke-self", nil)
		assert.Equal(t, 400, revocation.status)
		assert.Equal(t, "batch tokens cannot be revoked", revocation.errors)
		assert.False(t, f.Revoke(""), "no accessor finds it")
		data := f.lookup(token).body["data"].(object)
		assert.Equal(t, false, data["renewable"])
		assert.Equal(t, "batch", data["type"])

		time.Sleep(time.Hour)
		assert.Equal(t, 200, f.read(token).status, "nobody has looked before")
		time.Sleep(time.Nanosecond)
		assert.Equal(t, dead(f.Product), f.read(token).errors)
	})
}

func TestUses(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		uses := func(n int) string {
			f.SetRole("jwt", "uses", variant(func(r *vaultauthtest.Role) { r.NumUses = n }))
			r := f.granted("jwt", "uses")
			assert.Equal(t, float64(n), r.auth()["num_uses"])
			return r.token()
		}
		t.Run("any request is one", func(t *testing.T) {
			token := uses(4)
			assert.Equal(t, 3.0, f.lookup(token).body["data"].(object)["num_uses"])
			assert.Equal(t, 200, f.read(token).status)
			assert.Equal(t, forbidden, f.ask(token, http.MethodGet, "secret/data/other", nil).errors)
			assert.Equal(t, 200, f.read(token).status)
			r := f.read(token)
			assert.Equal(t, 403, r.status)
			assert.Equal(t, dead(p), r.errors)
		})
		t.Run("a renewal too", func(t *testing.T) {
			token := uses(2)
			r := f.renew(token)
			assert.Equal(t, 200, r.status)
			assert.Equal(t, 2.0, r.auth()["num_uses"], "as given, not what is left")
			r = f.renew(token)
			assert.Equal(t, 400, r.status)
			assert.Equal(t, "token not found", r.errors)
			assert.Equal(t, dead(p), f.renew(token).errors)
		})
		t.Run("the last", func(t *testing.T) {
			assert.Equal(t, -1.0, f.lookup(uses(1)).body["data"].(object)["num_uses"])
			assert.Equal(t, 200, f.read(uses(1)).status)
			assert.Equal(t, 204, f.ask(uses(1), http.MethodPut, "auth/token/revoke-self", nil).status)
			assert.Zero(t, f.Tokens())
		})
		t.Run("a login is none", func(t *testing.T) {
			token := uses(1)
			assert.Equal(t, 200, f.ask(token, http.MethodPut, "auth/jwt/login", object{"role": "hour", "jwt": f.jwt(nil)}).status)
			assert.Equal(t, 200, f.read(token).status)
		})
	})
}

func TestLookup(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		login := f.granted("kubernetes", "hour")
		time.Sleep(time.Minute)
		r := f.lookup(login.token())
		require.Equal(t, 200, r.status)
		data := r.body["data"].(object)
		assert.Equal(t, object{
			"id": login.token(), "accessor": login.auth()["accessor"], "entity_id": login.auth()["entity_id"],
			"policies": []any{"default", "web"}, "meta": login.auth()["metadata"],
			"path": "auth/kubernetes/login", "display_name": "kubernetes-shop-web",
			"num_uses": 0.0, "orphan": true, "type": "service", "renewable": true,
			"creation_time": 946684800.0, "creation_ttl": 3600.0, "explicit_max_ttl": 0.0, "ttl": 3540.0,
			"issue_time": "2000-01-01T00:00:00Z", "expire_time": "2000-01-01T01:00:00Z",
		}, data)

		f.renew(login.token())
		data = f.lookup(login.token()).body["data"].(object)
		assert.Equal(t, "2000-01-01T00:01:00Z", data["last_renewal"])
		assert.Equal(t, 946684860.0, data["last_renewal_time"])
		assert.Equal(t, "2000-01-01T01:01:00Z", data["expire_time"])
		assert.Equal(t, 3600.0, data["ttl"])
	})
}

func TestDeadTokens(t *testing.T) {
	kills := map[string]func(f *fake, r reply){
		"revoked by itself": func(f *fake, r reply) {
			assert.Equal(f.t, 204, f.ask(r.token(), http.MethodPost, "auth/token/revoke-self", nil).status)
		},
		"revoked by accessor": func(f *fake, r reply) {
			assert.True(f.t, f.Revoke(r.auth()["accessor"].(string)))
			assert.False(f.t, f.Revoke(r.auth()["accessor"].(string)))
		},
		"revoked with all": func(f *fake, _ reply) { f.RevokeAll() },
	}
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		for name, kill := range kills {
			t.Run(name, func(t *testing.T) {
				f := newFake(t, p)
				r := f.granted("jwt", "hour")
				kill(f, r)
				for _, answer := range []reply{f.read(r.token()), f.renew(r.token()), f.lookup(r.token()), f.read("hvs.none")} {
					assert.Equal(t, 403, answer.status)
					assert.Equal(t, dead(p), answer.errors)
				}
				assert.Equal(t, denied, f.read("").errors, "no token at all")
				assert.Zero(t, f.Tokens())
			})
		}
	})
}

func TestMalformedBatchToken(t *testing.T) {
	for token, p := range map[string]vaultauthtest.Product{
		"b.x": vaultauthtest.OpenBao, "b.y": vaultauthtest.Vault, "hvb.x": vaultauthtest.Vault,
	} {
		f := newFake(t, p)
		login := f.ask(token, http.MethodPut, "auth/jwt/login", object{"role": "hour", "jwt": f.jwt(nil)})
		for _, r := range []reply{f.read(token), login} {
			assert.Equal(t, 500, r.status)
			assert.Equal(t, "error performing token check: illegal base64 data at input byte 0", r.errors)
		}
		assert.Equal(t, 403, f.read(token+"AAA").status)
	}
}

func TestMethodsOfRevokeSelf(t *testing.T) {
	f := newFake(t, vaultauthtest.Vault)
	f.SetPolicy("web", "auth/token/*")
	token := f.granted("jwt", "hour").token()
	assert.Equal(t, 405, f.ask(token, http.MethodGet, "auth/token/revoke-self", nil).status)
	assert.Equal(t, 405, f.ask(token, http.MethodDelete, "auth/token/lookup-self", nil).status)
	r, err := f.try("", http.MethodGet, "auth/token/lookup-self", nil, http.Header{"Authorization": {"Basic x", "Bearer " + token}})
	require.NoError(t, err)
	assert.Equal(t, 200, r.status)
}

func TestDeletedEntity(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		old := f.granted("jwt", "hour")
		f.DeleteEntities()
		for _, answer := range []reply{f.read(old.token()), f.renew(old.token()), f.lookup(old.token())} {
			assert.Equal(t, 403, answer.status)
			assert.Equal(t, denied, answer.errors)
		}
		fresh := f.granted("jwt", "hour")
		assert.Equal(t, 200, f.read(fresh.token()).status)
		assert.Equal(t, 403, f.read(old.token()).status)
		assert.NotEqual(t, old.auth()["entity_id"], fresh.auth()["entity_id"])
	})
}

// Months of logins leave nothing behind but what is alive.
func TestExpiredTokensGo(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		for range 90 * 24 {
			f.granted("jwt", "hour")
			time.Sleep(30 * time.Minute)
		}
		var remembered int
		_, err := fmt.Sscanf(fmt.Sprint(f.Server), "vaultauthtest.Server("+string(f.Product)+", 2 auth methods, %d tokens)", &remembered)
		require.NoError(t, err)
		assert.Less(t, remembered, 1100)
		assert.Equal(t, 1, f.Tokens())
		assert.Equal(t, 90*24, f.Counts().Logins.OK)
	})
}
