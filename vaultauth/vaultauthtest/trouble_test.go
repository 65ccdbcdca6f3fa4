package vaultauthtest_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// requireNetError asserts that a request failed as one over a real network.
func requireNetError(t *testing.T, err error, op string, cause error) {
	t.Helper()
	var netErr *net.OpError
	require.ErrorAs(t, err, &netErr)
	assert.Equal(t, op, netErr.Op)
	assert.ErrorIs(t, err, cause)
}

func TestDown(t *testing.T) {
	f := newFake(t, vaultauthtest.OpenBao)
	token := f.granted("jwt", "hour").token()
	f.SetDown(true)
	_, err := f.try(token, http.MethodGet, "sys/health", nil, nil)
	requireNetError(t, err, "dial", syscall.ECONNREFUSED)
	f.SetDown(false)
	assert.Equal(t, 200, f.read(token).status)
	assert.Equal(t, 1, f.Counts().Others.Cut)
}

func TestSealed(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		token := f.granted("jwt", "hour").token()
		f.Seal()
		for _, r := range []reply{
			f.login("jwt", "hour", f.jwt(nil)), f.login("none", "", ""), f.read(token), f.renew(token), f.read("hvs.none"),
		} {
			assert.Equal(t, 503, r.status)
			assert.Equal(t, "Vault is sealed", r.errors)
			assert.Empty(t, r.header.Get("Retry-After"))
		}
		f.Unseal()
		assert.Equal(t, 200, f.read(token).status)
		assert.Equal(t, 200, f.renew(token).status)
	})
}

func TestStandbyOfNobody(t *testing.T) {
	f := newFake(t, vaultauthtest.Vault)
	f.SetStandby(true)
	r := f.login("jwt", "hour", f.jwt(nil))
	assert.Equal(t, 500, r.status)
	assert.Equal(t, "local node not active but active cluster node not found", r.errors)
	f.SetStandby(false)
	assert.Equal(t, 200, f.login("jwt", "hour", f.jwt(nil)).status)
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, vaultauthtest.OpenBao)
		token := f.granted("jwt", "hour").token()
		f.SetLatency(func(*http.Request) time.Duration { return time.Minute })
		for _, cut := range []func(){f.Restart, func() { f.SetDown(true) }} {
			done := make(chan error)
			go func() {
				_, err := f.try(token, http.MethodGet, "secret/data/web/database", nil, nil)
				done <- err
			}()
			synctest.Wait()
			cut()
			requireNetError(t, <-done, "read", syscall.ECONNRESET)
		}
		f.SetDown(false)
		f.SetLatency(nil)
		assert.Equal(t, 200, f.read(token).status, "service tokens survive")
	})
}

func TestLatency(t *testing.T) {
	// Made outside of the bubble, where the real clock is.
	f := newFake(t, vaultauthtest.Vault)
	synctest.Test(t, func(t *testing.T) {
		f.t = t
		start := time.Now()
		f.SetLatency(func(r *http.Request) time.Duration {
			if r.Method == http.MethodGet {
				return 3 * time.Second
			}
			return 0
		})
		token := f.granted("jwt", "hour").token()
		assert.Zero(t, time.Since(start))
		f.read(token)
		assert.Equal(t, 3*time.Second, time.Since(start))

		client := &http.Client{Transport: f.Transport(), Timeout: time.Second}
		_, err := client.Get("http://server.test/v1/sys/health")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 4*time.Second, time.Since(start))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server.test/v1/sys/health", nil)
		require.NoError(t, err)
		_, err = f.Transport().RoundTrip(request)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

func TestRateLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, f *fake) {
		f.SetRateLimit(0.5, 3, true)
		for range 3 {
			assert.Equal(t, 200, f.login("jwt", "hour", f.jwt(nil)).status)
		}
		r := f.login("jwt", "hour", f.jwt(nil))
		assert.Equal(t, 429, r.status)
		assert.Equal(t, `request path "auth/jwt/login": rate limit quota exceeded`, r.errors)
		assert.Equal(t, "2", r.header.Get("Retry-After"))
		assert.Equal(t, 200, f.ask("", http.MethodGet, "sys/health", nil).status)
		time.Sleep(2 * time.Second)
		assert.Equal(t, 200, f.login("jwt", "hour", f.jwt(nil)).status)

		f.SetRateLimit(1, 0, false)
		assert.Equal(t, 200, f.login("jwt", "hour", f.jwt(nil)).status)
		r = f.login("jwt", "hour", f.jwt(nil))
		assert.Equal(t, 429, r.status)
		assert.Empty(t, r.header.Get("Retry-After"))
		f.SetRateLimit(0, 0, false)
		assert.Equal(t, 200, f.login("jwt", "hour", f.jwt(nil)).status)
	})
}

func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, vaultauthtest.OpenBao)
		login := func(fault *vaultauthtest.Fault) (reply, error) {
			f.SetFault(func(r *http.Request) *vaultauthtest.Fault {
				if r.URL.Path == "/v1/auth/jwt/login" {
					return fault
				}
				return nil
			})
			return f.try("", http.MethodPut, "auth/jwt/login", object{"role": "hour", "jwt": f.jwt(nil)}, nil)
		}
		r, err := login(&vaultauthtest.Fault{
			Status: 502, Body: `{"errors": ["bad gateway"]}`, Header: http.Header{"retry-after": {"7"}},
		})
		require.NoError(t, err)
		assert.Equal(t, 502, r.status)
		assert.Equal(t, "bad gateway", r.errors)
		assert.Equal(t, "7", r.header.Get("Retry-After"))

		r, err = login(&vaultauthtest.Fault{})
		require.NoError(t, err)
		assert.Equal(t, 500, r.status)

		_, err = login(&vaultauthtest.Fault{Drop: true})
		requireNetError(t, err, "read", syscall.ECONNRESET)
		assert.Zero(t, f.Tokens())

		_, err = login(&vaultauthtest.Fault{Lose: true})
		requireNetError(t, err, "read", syscall.ECONNRESET)
		assert.Equal(t, 1, f.Tokens(), "nobody knows it")

		r, err = login(nil)
		require.NoError(t, err)
		assert.Equal(t, 200, r.status)
		assert.Equal(t, vaultauthtest.Outcomes{OK: 1, Cut: 1}, f.Counts().Logins)
		assert.Equal(t, 3, f.Counts().Others.Total(), "the server did not look at these")
	})
}

func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, vaultauthtest.OpenBao)
		f.SetFault(func(*http.Request) *vaultauthtest.Fault { return &vaultauthtest.Fault{Hang: true} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server.test/v1/sys/health", nil)
		require.NoError(t, err)
		start := time.Now()
		_, err = f.Transport().RoundTrip(request)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Hour, time.Since(start))
	})
}

func TestOverTheNetwork(t *testing.T) {
	f := newFake(t, vaultauthtest.OpenBao)
	url, stop := f.Start()
	defer stop()
	response, err := http.Get(url + "/v1/sys/health")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, 200, response.StatusCode)
	assert.Contains(t, string(body), `"sealed":false`)

	f.SetDown(true)
	_, err = http.Get(url + "/v1/sys/health")
	assert.Error(t, err)
	f.SetDown(false)
	response, err = http.Get(url + "/elsewhere")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, 404, response.StatusCode)

	stop()
	_, err = http.Get(url + "/v1/sys/health")
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	stop()
}

func TestConcurrentUse(t *testing.T) {
	f := newFake(t, vaultauthtest.Vault)
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 20 {
				token := f.granted("jwt", "hour").token()
				assert.Equal(t, 200, f.read(token).status)
				assert.Equal(t, 200, f.renew(token).status)
			}
		})
	}
	for range 20 {
		f.SetRole("jwt", "hour", hour())
		f.SetRole("kubernetes", "hour", hour())
		f.SetPolicy("other", "x")
		f.Put("other", nil)
		f.SetLatency(nil)
		f.Restart()
		f.Revoke("none")
		_ = f.Requests()
		_ = f.Counts()
		_ = f.issuer.RotateKey(tokenfiletest.ES256)
	}
	clients.Wait()
	assert.Equal(t, 160, f.Counts().Renewals.OK)
}
