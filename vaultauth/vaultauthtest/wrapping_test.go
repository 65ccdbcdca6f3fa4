package vaultauthtest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// https://github.com/hashicorp/vault/issues/3217
func TestWrappedLogin(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		wrap := func(ttl string) reply {
			r, err := f.try("", http.MethodPut, "auth/jwt/login", object{"role": "hour", "jwt": f.jwt(nil)},
				http.Header{"X-Vault-Wrap-Ttl": {ttl}})
			require.NoError(t, err)
			return r
		}
		r := wrap("60")
		assert.Equal(t, 200, r.status)
		assert.Nil(t, r.body["auth"])
		assert.Equal(t, "", r.body["request_id"])
		info := r.body["wrap_info"].(object)
		assert.Equal(t, 60.0, info["ttl"])
		assert.Equal(t, "auth/jwt/login", info["creation_path"])
		assert.Equal(t, "2000-01-01T00:00:00Z", info["creation_time"])
		assert.Regexp(t, tokenShape(f.Product), info["token"])
		wrapping := info["token"].(string)

		assert.Equal(t, forbidden, f.read(wrapping).errors, "it is spent by that")
		assert.Equal(t, 403, f.ask(wrapping, http.MethodPut, "sys/wrapping/unwrap", nil).status)

		wrapping = wrap("1m").body["wrap_info"].(object)["token"].(string)
		unwrapped := f.ask(wrapping, http.MethodPut, "sys/wrapping/unwrap", nil)
		assert.Equal(t, 200, unwrapped.status)
		assert.Equal(t, 3600, unwrapped.lease())
		assert.Equal(t, 200, f.read(unwrapped.token()).status)
		assert.Equal(t, 403, f.ask(wrapping, http.MethodPut, "sys/wrapping/unwrap", nil).status, "once")

		wrapping = wrap("1m").body["wrap_info"].(object)["token"].(string)
		third := f.ask(unwrapped.token(), http.MethodPut, "sys/wrapping/unwrap", object{"token": wrapping})
		assert.Equal(t, 200, third.status)
		again := f.ask(unwrapped.token(), http.MethodPut, "sys/wrapping/unwrap", object{"token": wrapping})
		assert.Equal(t, 400, again.status)
		assert.Equal(t, "wrapping token is not valid or does not exist", again.errors)

		wrapping = wrap("1m").body["wrap_info"].(object)["token"].(string)
		time.Sleep(time.Minute)
		assert.Equal(t, 403, f.ask(wrapping, http.MethodPut, "sys/wrapping/unwrap", nil).status)

		const bad = "error parsing X-Vault-Wrap-TTL header: "
		assert.Equal(t, bad+"requested wrap ttl cannot be negative", wrap("-1").errors)
		assert.Equal(t, bad+`time: invalid duration "soon"`, wrap("soon").errors)
		assert.NotNil(t, wrap("0").body["auth"])
	})
}

// What is refused is not wrapped.
func TestWrappedRefusal(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		r, err := f.try("", http.MethodPut, "auth/jwt/login", object{"role": "x"}, http.Header{"X-Vault-Wrap-Ttl": {"60"}})
		require.NoError(t, err)
		assert.Equal(t, 400, r.status)
		assert.True(t, f.Requests()[0].WrapTTL)
	})
}
