package vaultauth_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// recorder keeps what passed through it.
type recorder struct {
	base http.RoundTripper
	mu   sync.Mutex
	seen []*http.Request
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.seen = append(r.seen, req)
	r.mu.Unlock()
	return r.base.RoundTrip(req)
}

func (r *recorder) last() *http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[len(r.seen)-1]
}

func TestConfigOfTheCallerIsNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		seen := &recorder{base: b.server.Transport()}
		shared := &http.Client{Transport: seen}
		config := api.DefaultConfig()
		config.HttpClient, config.Address, config.DisableRedirects = shared, "https://127.0.0.1:8200", true
		session, err := vaultauth.NewSession(config, b.method)
		require.NoError(t, err)
		require.NoError(t, session.Login(t.Context()))
		require.NoError(t, read(session.Client))
		assert.NotEmpty(t, seen.last().Header.Get("X-Vault-Token"))

		assert.Same(t, shared, config.HttpClient)
		assert.Same(t, seen, shared.Transport)
		assert.Equal(t, "https://127.0.0.1:8200", config.Address)
		_, err = shared.Get("https://127.0.0.1:8200/v1/sys/health")
		require.NoError(t, err)
		assert.Empty(t, seen.last().Header.Get("X-Vault-Token"))
	})
}

func TestTwoSessionsOfOneConfigKeepApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.SetPolicy("admin", "secret/data/admin")
		b.server.Put("admin", map[string]any{"a": "b"})
		b.server.SetRole("jwt", "admin", vaultauthtest.Role{BoundAudiences: []string{"openbao"}, Policies: []string{"admin"}})
		config := b.config()
		web, err := vaultauth.NewSession(config, b.method)
		require.NoError(t, err)
		admin, err := vaultauth.NewSession(config, &vaultauth.Method{Role: "admin", Mount: "jwt", Source: b.method.Source})
		require.NoError(t, err)
		require.NoError(t, admin.Login(t.Context()))
		_, err = web.Client.Logical().Read("secret/data/admin")
		require.Error(t, err, "web is not logged in")
		require.NoError(t, web.Login(t.Context()))
		clone, err := web.Client.Clone()
		require.NoError(t, err)
		assert.NoError(t, read(clone))
		_, err = clone.Logical().Read("secret/data/admin")
		assert.Error(t, err)
	})
}

func TestTokenIsNotSentToAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		config := b.config()
		seen := &recorder{base: config.HttpClient.Transport}
		config.HttpClient.Transport = seen
		session, err := vaultauth.NewSession(config, b.method)
		require.NoError(t, err)
		require.NoError(t, session.Login(t.Context()))
		clone, err := session.Client.Clone()
		require.NoError(t, err)
		require.NoError(t, clone.SetAddress("https://other.example"))
		_, _ = clone.Sys().Health()
		assert.Equal(t, "other.example", seen.last().URL.Host)
		assert.Empty(t, seen.last().Header.Get("X-Vault-Token"))
	})
}

func TestRedirectTakesNeitherTokenElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		var mu sync.Mutex
		hosts := make(map[string]bool)
		redirect := func(r *http.Request) *vaultauthtest.Fault {
			mu.Lock()
			defer mu.Unlock()
			hosts[r.URL.Host] = true
			return &vaultauthtest.Fault{Status: 307, Header: http.Header{"Location": {"https://evil.example/v1/auth/jwt/login"}}}
		}
		b.server.SetFault(redirect)
		_, err := b.method.Login(t.Context(), b.client())
		var failed *vaultauth.LoginError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, vaultauth.Standby, failed.Reason)
		b.server.SetFault(nil)
		b.start()
		b.server.SetFault(redirect)
		time.Sleep(3 * time.Hour)
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, map[string]bool{"127.0.0.1:8200": true}, hosts)
		b.gentle()
	})
}

// Reads that begin between the death of a token and the next login.
func TestRequestsBetweenTwoTokensWaitForTheLogin(t *testing.T) {
	for name, do := range map[string]func(*bed) error{
		"of the client": func(b *bed) error { return read(b.session.Client) },
		"of Do":         func(b *bed) error { return b.session.Do(b.Context(), read) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				if name == "of Do" {
					b.session = &vaultauth.Session{Client: b.client(), Method: b.method}
				}
				b.start()
				time.Sleep(10 * time.Minute)
				b.server.SetLatency(func(r *http.Request) time.Duration {
					if r.URL.Path == loginAt {
						return 200 * time.Millisecond
					}
					return time.Millisecond
				})
				b.server.RevokeAll()
				var calls sync.WaitGroup
				for range 100 {
					calls.Go(func() { assert.NoError(t, do(b)) })
					time.Sleep(10 * time.Millisecond)
				}
				calls.Wait()
			})
		})
	}
}

// byHand is an auth method of another package.
type byHand struct{ *bed }

func (h byHand) Login(ctx context.Context, client *api.Client) (*api.Secret, error) {
	token, err := h.method.Source.Token(ctx)
	if err != nil {
		return nil, err
	}
	return client.Logical().WriteWithContext(ctx, "auth/jwt/login", map[string]any{"role": "web", "jwt": token.Raw()})
}

func TestMethodOfAnotherPackageIsKeptLoggedInAndNotHurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.session.Method = byHand{b}
		b.session.Client.SetToken("hvs.stale")
		b.start()
		assert.False(t, b.server.Requests()[0].HadToken)
		_, failures := b.soak(48*time.Hour, 10*time.Minute, b.session.Client)
		assert.Empty(t, failures)
		b.server.Seal()
		time.Sleep(5 * time.Hour)
		b.gentle()
		assert.Positive(t, b.session.Stats().Failures[vaultauth.Sealed])
		b.server.Unseal()
		time.Sleep(3*time.Minute + time.Second)
		assert.NoError(t, read(b.session.Client))
	})
}

func TestStreamThatCannotBeRepeatedStillHasTheTokenReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		client := &http.Client{Transport: b.session.Transport(b.server.Transport())}
		send := func() int {
			body := io.MultiReader(strings.NewReader(`{"data":{"a":"b"}}`)) // no GetBody
			r, err := http.NewRequest(http.MethodPost, "https://127.0.0.1:8200/v1/secret/data/web", body)
			require.NoError(t, err)
			resp, err := client.Do(r)
			require.NoError(t, err)
			defer resp.Body.Close()
			return resp.StatusCode
		}
		require.Equal(t, 200, send())
		b.server.RevokeAll()
		assert.Equal(t, 403, send())
		assert.Equal(t, 200, send())
	})
}

func TestHugeRefusalIsNotRead(t *testing.T) {
	b := newBed(t, hour)
	client := b.client()
	client.SetMaxRetries(0)
	body := &endless{}
	config := b.config()
	config.MaxRetries = 0
	config.HttpClient.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 400, Body: body, Header: http.Header{}, Request: r}, nil
	})
	client, err := api.NewClient(config)
	require.NoError(t, err)
	client.SetMaxRetries(0)
	_, err = b.method.Login(t.Context(), client)
	require.Error(t, err)
	assert.Less(t, len(err.Error()), 3000)
	assert.Less(t, body.read, 4<<20)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// endless is a body of 1 GiB.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.read > 1<<30 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// A proxy's page that quotes headers, and a redirect that quotes the body.
func TestNoSecretInTheLogOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.session.RevokeAtEnd = true
		b.start()
		secrets := []string{b.session.Client.Token()}
		b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
			body, _ := io.ReadAll(r.Body)
			token := r.Header.Get("X-Vault-Token")
			return &vaultauthtest.Fault{Status: 307, Body: "<html>" + token + string(body),
				Header: http.Header{"Location": {"https://%zz/?t=" + token + "&b=" + string(bytes.ReplaceAll(body, []byte("\""), nil))}}}
		})
		time.Sleep(3 * time.Hour)
		b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
			return &vaultauthtest.Fault{Status: 502, Body: "<html>" + r.Header.Get("X-Vault-Token")[:12] + " is no token"} // as some cut it
		})
		require.Error(t, b.session.Stats().LastError)
		text := b.session.Stats().LastError.Error()
		require.ErrorIs(t, b.stop(), context.Canceled)
		for _, secret := range secrets {
			assert.NotContains(t, b.log.String()+text, secret[:8])
		}
		assert.NotContains(t, b.log.String()+text, "eyJ")
	})
}

func TestLateRenewalDoesNotBuryTheTokenAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		hung := make(chan struct{})
		b.server.SetLatency(func(r *http.Request) time.Duration {
			if r.URL.Path != renewal {
				return 0
			}
			close(hung)
			return 3 * time.Second
		})
		b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
			if r.URL.Path == renewal {
				return &vaultauthtest.Fault{Status: 403, Body: `{"errors":["permission denied"]}`}
			}
			return nil
		})
		<-hung
		b.server.SetLatency(nil)
		logins := b.session.Stats().Logins
		require.NoError(t, b.session.Login(t.Context()))
		time.Sleep(time.Minute)
		b.server.SetFault(nil)
		assert.Equal(t, logins+1, b.session.Stats().Logins)
		assert.NoError(t, read(b.session.Client))
	})
}

func TestManyWhoAskForALoginShareIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.SetLatency(func(*http.Request) time.Duration { return 10 * time.Millisecond })
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() { assert.NoError(t, b.session.Login(t.Context())) })
		}
		calls.Wait()
		assert.LessOrEqual(t, b.requests("login", 0), 2)
	})
}

// rate.Limiter.Wait fails at once where a deadline comes before its turn.
func TestRunWithADeadlineEndsAtIt(t *testing.T) {
	for _, deadline := range []time.Duration{5100 * time.Millisecond, 5700 * time.Millisecond, 5900 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, hour)
			b.server.SetFault(func(*http.Request) *vaultauthtest.Fault {
				return &vaultauthtest.Fault{Status: 200, Body: `{"auth":{"client_token":"hvs.x","lease_duration":1,"renewable":true}}`}
			})
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			start := time.Now()
			assert.ErrorIs(t, b.session.Run(ctx), context.DeadlineExceeded)
			assert.Equal(t, deadline, time.Since(start))
		})
	}
}

func TestCallsInOnLoginDoNotHangWhereRunStartsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		called := false
		b.session.OnLogin = func(*api.Secret) {
			if called {
				return
			}
			called = true
			b.run()
			synctest.Wait()
			b.server.RevokeAll()
			start := time.Now()
			assert.Error(t, read(b.session.Client))
			assert.Zero(t, time.Since(start))
		}
		require.NoError(t, b.session.Login(t.Context()))
		time.Sleep(time.Minute)
		assert.NoError(t, read(b.session.Client))
	})
}

func TestFleetThatIsToldWhenToComeBackDoesNotComeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		at := time.Now().Add(5 * time.Minute)
		b.server.SetFault(func(*http.Request) *vaultauthtest.Fault {
			if time.Now().Before(at) {
				return &vaultauthtest.Fault{Status: 503, Header: http.Header{"Retry-After": {at.UTC().Format(http.TimeFormat)}}}
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		var pods sync.WaitGroup
		for range 300 {
			session := b.newSession()
			session.Splay = 2 * time.Minute
			pods.Go(func() { session.Run(ctx) })
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		perSecond := map[int64]int{}
		most := 0
		for _, r := range b.server.Requests() {
			if r.Path == "auth/jwt/login" && r.Status == 200 {
				perSecond[r.Time.Unix()]++
				most = max(most, perSecond[r.Time.Unix()])
			}
		}
		cancel()
		pods.Wait()
		assert.Less(t, most, 20)
	})
}
