package vaultauth_test

import (
	"context"
	"errors"
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

const (
	renewal = "/v1/auth/token/renew-self"
	lookUp  = "/v1/auth/token/lookup-self"
	loginAt = "/v1/auth/jwt/login"
)

// https://github.com/hashicorp/vault/issues/28611
// https://github.com/hashicorp/vault/issues/20645
// https://github.com/openbao/openbao/issues/3747
func TestNoAnswerMakesASessionBusyOrGiveUp(t *testing.T) {
	refusal := func(status int, body string) *vaultauthtest.Fault {
		return &vaultauthtest.Fault{Status: status, Body: body}
	}
	for name, fault := range map[string]*vaultauthtest.Fault{
		"400":                     refusal(400, `{"errors":["lease is not renewable"]}`),
		"403 of a dead token":     refusal(403, `{"errors":["permission denied"]}`),
		"403 of a policy":         refusal(403, `{"errors":["1 error occurred:\n\t* permission denied\n\n"]}`),
		"403 of a firewall":       refusal(403, `<html>Forbidden</html>`),
		"404":                     refusal(404, `{"errors":[]}`),
		"405":                     refusal(405, ``),
		"412":                     refusal(412, `{"errors":[]}`),
		"429":                     refusal(429, `{"errors":["request path \"auth/jwt/login\": rate limit quota exceeded"]}`),
		"472":                     refusal(472, `{"errors":[]}`),
		"500":                     refusal(500, `{"errors":["internal error"]}`),
		"502 of a proxy":          refusal(502, `<html>Bad Gateway</html>`),
		"503":                     refusal(503, `{"errors":["Vault is sealed"]}`),
		"200 and nothing":         refusal(200, ``),
		"200 and an empty object": refusal(200, `{}`),
		"200 and null":            refusal(200, `null`),
		"200 and no token":        refusal(200, `{"auth":{"client_token":"","lease_duration":3600,"renewable":true}}`),
		"200 and a page":          refusal(200, `<html>Log in</html>`),
		"200 and a wrapped token": refusal(200, `{"wrap_info":{"token":"hvs.x","ttl":60}}`),
		"200 and a broken token":  refusal(200, `{"auth":{"client_token":"a\nb","lease_duration":3600}}`),
		"200 and far too much":    refusal(200, `{"a":"`+strings.Repeat("x", 2<<20)+`"}`),
		"204":                     refusal(204, ``),
		"a redirect to nowhere":   {Status: 307, Header: http.Header{"Location": {"https://127.0.0.1:1/v1/sys/health"}}},
		"a cut connection":        {Drop: true},
		"no answer":               {Hang: true},
	} {
		for where, paths := range map[string][]string{
			"to everything": {""}, "to renewals": {renewal}, "to logins and renewals": {renewal, loginAt},
		} {
			t.Run(name+" "+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t, vaultauthtest.Role{TokenTTL: 10 * time.Minute, TokenMaxTTL: time.Hour})
					b.start()
					b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
						for _, path := range paths {
							if strings.HasPrefix(r.URL.Path, path) {
								return fault
							}
						}
						return nil
					})
					time.Sleep(3 * time.Hour)
					b.gentle()
					stats := b.session.Stats()
					if where == "to renewals" && name != "403 of a dead token" {
						// Logins still work, and come before the lease ends.
						assert.NoError(t, b.session.Ready(t.Context()))
						assert.Greater(t, stats.Logins, uint64(3*6-2))
						assert.Less(t, stats.Logins, uint64(3*60))
					}
					if where != "to renewals" {
						assert.ErrorIs(t, b.session.Ready(t.Context()), vaultauth.ErrNotLoggedIn)
						assert.NotEmpty(t, stats.Failures)
						assert.Error(t, stats.LastError)
						assert.Less(t, b.log.lines(), 20, "each reason is told once")
					}
					b.server.SetFault(nil)
					time.Sleep(6*time.Minute + time.Second) // more than the longest wait and pause after it, and than the longest pause of all
					synctest.Wait()
					assert.NoError(t, b.session.Ready(t.Context()))
					assert.NoError(t, read(b.session.Client))
					assert.ErrorIs(t, b.stop(), b.session.Run(canceled(t)))
				})
			})
		}
	}
}

func TestOutageLongerThanTheLeaseNeedsNoRestart(t *testing.T) {
	for name, outage := range map[string]struct{ begin, end func(*vaultauthtest.Server) }{
		"sealed":        {(*vaultauthtest.Server).Seal, (*vaultauthtest.Server).Unseal},
		"standby":       {func(s *vaultauthtest.Server) { s.SetStandby(true) }, func(s *vaultauthtest.Server) { s.SetStandby(false) }},
		"not reachable": {func(s *vaultauthtest.Server) { s.SetDown(true) }, func(s *vaultauthtest.Server) { s.SetDown(false) }},
		"its tokens are lost": {func(s *vaultauthtest.Server) { s.SetDown(true); s.RevokeAll() },
			func(s *vaultauthtest.Server) { s.SetDown(false); s.Restart() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.start()
				time.Sleep(90 * time.Minute)
				outage.begin(b.server)
				time.Sleep(5 * time.Hour)
				b.gentle()
				assert.ErrorIs(t, b.session.Ready(t.Context()), vaultauth.ErrNotLoggedIn)
				assert.LessOrEqual(t, b.log.lines(), 6, b.log)
				outage.end(b.server)
				time.Sleep(3*time.Minute + time.Second) // twice the longest average pause
				synctest.Wait()
				_, failures := b.soak(48*time.Hour, time.Minute, b.session.Client)
				assert.Empty(t, failures)
			})
		})
	}
}

// A server that lets requests wait for longer than its clients do serves what
// nobody waits for any more, and that does not end by itself.
func TestWhoeverGetsNoAnswerWaitsForLonger(t *testing.T) {
	attempts := func(t *testing.T, fault *vaultauthtest.Fault) int {
		b := newBed(t, hour)
		b.server.SetFault(func(*http.Request) *vaultauthtest.Fault { return fault })
		b.run()
		time.Sleep(100 * time.Hour)
		failures := 0
		for _, n := range b.session.Stats().Failures {
			failures += int(n)
		}
		return failures
	}
	synctest.Test(t, func(t *testing.T) {
		// An attempt each minute and a half, and two and a half minutes' wait between.
		const hours = 100
		assert.InDelta(t, hours*3600/90, attempts(t, &vaultauthtest.Fault{Status: 503}), hours*3600/90/5)
		assert.InDelta(t, hours*3600/240, attempts(t, &vaultauthtest.Fault{Hang: true}), hours*3600/240/5)
	})
	for name, slow := range map[string]struct{ client, answer, within time.Duration }{
		"a proxy's queue":                         {time.Minute, 50 * time.Second, 10 * time.Minute},
		"a queue beyond the client's own timeout": {time.Minute, 2 * time.Minute, 15 * time.Minute},
		"a client whose timeout is short":         {5 * time.Second, 20 * time.Second, 10 * time.Minute},
		"a short timeout and a queue of minutes":  {5 * time.Second, 2 * time.Minute, 25 * time.Minute},
		"a client without a timeout":              {0, 2 * time.Minute, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.session.Client.SetClientTimeout(slow.client)
				b.server.SetLatency(func(*http.Request) time.Duration { return slow.answer })
				b.run()
				time.Sleep(slow.within)
				assert.NoError(t, b.session.Ready(t.Context()), "the first attempt waits for 30 seconds or as the client does, others for longer")
				assert.Equal(t, slow.client, b.session.Client.ClientTimeout(), "nothing on the client is changed")
				before := b.session.Stats().Failures[vaultauth.Unreachable]
				time.Sleep(12 * time.Hour)
				assert.Equal(t, before, b.session.Stats().Failures[vaultauth.Unreachable], "whoever knows how long it takes gives up no request")
			})
		})
	}
}

// Whoever calls Login waits for as long as the client is told to.
func TestLoginThatIsCalledKeepsTheClientsTimeout(t *testing.T) {
	for name, method := range map[string]func(*bed) api.AuthMethod{
		"this package's method":    func(b *bed) api.AuthMethod { return b.method },
		"another package's method": func(b *bed) api.AuthMethod { return byHand{b} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.server.SetFault(func(*http.Request) *vaultauthtest.Fault { return &vaultauthtest.Fault{Hang: true} })
				b.session.Method = method(b)
				b.session.Client.SetClientTimeout(7 * time.Second)
				b.session.Client.SetMaxRetries(0)
				start := time.Now()
				assert.ErrorIs(t, b.session.Login(t.Context()), context.DeadlineExceeded)
				assert.Equal(t, 7*time.Second, time.Since(start))
			})
		})
	}
}

// deaf is a method that does not look at its context.
type deaf struct{ api.AuthMethod }

func (d deaf) Login(_ context.Context, client *api.Client) (*api.Secret, error) {
	return d.AuthMethod.Login(context.Background(), client)
}

func TestMethodThatIgnoresItsContextDoesNotHangForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.SetFault(func(*http.Request) *vaultauthtest.Fault { return &vaultauthtest.Fault{Hang: true} })
		b.session.Method = deaf{byHand{b}}
		start := time.Now()
		assert.Error(t, b.session.Login(t.Context()))
		assert.Equal(t, 150*time.Second, time.Since(start))
	})
}

func TestOutageShorterThanTheLeaseIsNotSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		for range 50 {
			b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
				if strings.HasPrefix(r.URL.Path, "/v1/auth/") {
					return &vaultauthtest.Fault{Status: 503}
				}
				return nil
			})
			// 20 minutes: what is left of an hour after 85 % and one pause is less.
			_, failures := b.soak(8*time.Minute, 10*time.Second, b.session.Client)
			assert.Empty(t, failures)
			b.server.SetFault(nil)
			_, failures = b.soak(47*time.Minute, 10*time.Second, b.session.Client)
			assert.Empty(t, failures)
		}
	})
}

func TestRevokedTokenIsReplacedOnceForAllCallers(t *testing.T) {
	for name, product := range map[string]vaultauthtest.Product{
		"OpenBao": vaultauthtest.OpenBao, "Vault": vaultauthtest.Vault,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.server.Product = product
				b.server.SetLatency(func(*http.Request) time.Duration { return 5 * time.Millisecond })
				b.start()
				cloned, err := b.session.Client.Clone()
				require.NoError(t, err)
				for range 3 {
					time.Sleep(10 * time.Minute)
					b.server.RevokeAll()
					b.server.ClearRequests()
					var calls sync.WaitGroup
					for i := range 200 {
						calls.Go(func() {
							client := b.session.Client
							if i%2 == 0 {
								client = cloned
							}
							_, err := client.Logical().Write("secret/data/web", map[string]any{"data": map[string]any{"i": i}})
							assert.NoError(t, err)
						})
					}
					calls.Wait()
					assert.Equal(t, 1, b.requests("login", 0))
					assert.Equal(t, 1, b.requests("lookup-self", 0))
					assert.Equal(t, 200, b.requests("secret/data/web", 200))
				}
				assert.EqualValues(t, 3, b.session.Stats().Deaths)
			})
		})
	}
}

func TestTrueDenialIsReturnedAndCausesNoLogin(t *testing.T) {
	for name, role := range map[string]vaultauthtest.Role{
		"and the token may look itself up": hour,
		"and it may not":                   {TokenTTL: time.Hour, NoDefaultPolicy: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, role)
				b.start()
				const calls = 5000
				for range calls {
					_, err := b.session.Client.Logical().Read("secret/data/of-others")
					var refused *api.ResponseError
					require.ErrorAs(t, err, &refused)
					require.Equal(t, http.StatusForbidden, refused.StatusCode)
					time.Sleep(10 * time.Millisecond)
				}
				assert.Equal(t, 1, b.requests("login", 0))
				assert.Equal(t, calls, b.requests("of-others", 403), "none is sent twice")
				assert.Zero(t, b.requests("lookup-self", 0), "the server says so")
				b.gentle()
			})
		})
	}
}

// A 403 that does not say why, as from a namespace that the token is not of.
func TestUnexplainedDenialIsLookedIntoOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
			if r.URL.Path == "/v1/secret/data/web" {
				return &vaultauthtest.Fault{Status: 403, Body: `{"errors":["permission denied"]}`}
			}
			return nil
		})
		for range 5000 {
			require.Error(t, read(b.session.Client))
			time.Sleep(10 * time.Millisecond)
		}
		assert.Equal(t, 1, b.requests("login", 0))
		assert.LessOrEqual(t, b.requests("lookup-self", 200), 51)
		assert.Greater(t, b.requests("lookup-self", 200), 30)
		b.gentle()
	})
}

func TestTokenThatIsRevokedNowAndThenIsReplacedEachTime(t *testing.T) {
	for name, role := range map[string]vaultauthtest.Role{
		"right after renewals": {TokenTTL: 20 * time.Second}, "of a batch": {TokenTTL: 20 * time.Second, Batch: true},
		"which may not renew itself": {TokenTTL: 20 * time.Second, NoDefaultPolicy: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, role)
				b.start()
				for i := range 20 {
					_, failures := b.soak(29*time.Second+time.Duration(i)*97*time.Millisecond, 200*time.Millisecond, b.session.Client)
					require.Empty(t, failures)
					b.server.RevokeAll()
				}
				assert.GreaterOrEqual(t, b.server.Counts().Logins.OK, 20)
			})
		})
	}
}

// A login that gives tokens which are dead at once must not become a loop.
func TestTokensThatDieAtOnceDoNotMakeAStormOfLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
			if r.URL.Path == loginAt {
				return nil
			}
			return &vaultauthtest.Fault{Status: 403, Body: `{"errors":["permission denied"]}`}
		})
		_, failures := b.soak(time.Hour, 100*time.Millisecond, b.session.Client)
		assert.NotEmpty(t, failures)
		logins := b.server.Counts().Logins.OK
		assert.Less(t, logins, 80)
		assert.Greater(t, logins, 10)
		b.gentle()
		b.server.SetFault(nil)
		time.Sleep(5 * time.Minute)
		assert.NoError(t, read(b.session.Client))
	})
}

func TestTokenWithFewUsesIsReplacedWhenUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, vaultauthtest.Role{TokenTTL: time.Hour, NumUses: 10})
		b.start()
		_, failures := b.soak(6*time.Hour, time.Minute, b.session.Client)
		assert.Empty(t, failures)
		assert.Zero(t, b.requests("renew-self", 0), "a renewal is a use")
		assert.Contains(t, b.log.String(), "token_num_uses")
	})
}

func TestDeletedRoleIsToldWhileTheTokenLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		b.server.DeleteRole("jwt", "web")
		_, failures := b.soak(59*time.Minute, time.Minute, b.session.Client)
		assert.Empty(t, failures)
		assert.Contains(t, b.log.String(), string(vaultauth.NoSuchRole), "before the token ends")
		time.Sleep(time.Hour)
		assert.Less(t, b.requests("", 0), 59+240, "the reads, and a few requests a minute")
		b.role(hour)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		assert.NoError(t, read(b.session.Client))
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for name, value := range map[string]string{"seconds": "120", "a date": time.Date(2000, 1, 1, 0, 2, 0, 0, time.UTC).Format(http.TimeFormat)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
					return &vaultauthtest.Fault{Status: 429, Header: http.Header{"Retry-After": {value}}}
				})
				b.run()
				time.Sleep(119 * time.Second)
				assert.Equal(t, 1, b.requests("login", 429))
				b.server.SetFault(nil)
				time.Sleep(64 * time.Second) // half as long again, and a pause
				synctest.Wait()
				assert.NoError(t, b.session.Ready(t.Context()))
			})
		})
	}
}

// https://github.com/kubernetes/kubernetes/issues/138689
func TestNewTokenInTheFileEndsThePauseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, vaultauthtest.Role{TokenTTL: time.Hour, Batch: true})
		b.start()
		b.kubelet.Stall(true)
		time.Sleep(30 * time.Hour)
		require.ErrorIs(t, b.session.Ready(t.Context()), vaultauth.ErrNotLoggedIn)
		assert.ErrorContains(t, b.session.Ready(t.Context()), "expired")
		sent := b.requests("login", 0)
		time.Sleep(5 * time.Hour)
		assert.Equal(t, sent, b.requests("login", 0), "an expired token is not sent")
		require.NoError(t, b.kubelet.Rotate())
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.NoError(t, b.session.Ready(t.Context()))
	})
}

// A server that gives leases which no timer, or no patience, could serve.
func TestAbsurdLeases(t *testing.T) {
	for name, lease := range map[string]string{
		"zero": "0", "a second": "1", "negative": "-5", "the most that 32 bits hold": "2147483647", "a hundred years": "3153600000",
		"more than a Duration holds": "9223372036854775807",
	} {
		for _, renewable := range []string{"true", "false"} {
			t.Run(name+", renewable "+renewable, func(t *testing.T) {
				if lease > "2147483647" && len(lease) > 9 && uint64(^uint(0)) < 1<<32 {
					t.Skip("the client's int has 32 bits here")
				}
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t, hour)
					b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
						return &vaultauthtest.Fault{Status: 200, Body: `{"auth":{"client_token":"hvs.x","lease_duration":` +
							lease + `,"renewable":` + renewable + `}}`}
					})
					b.start()
					time.Sleep(time.Hour)
					b.gentle()
					switch n := b.requests("", 0); lease {
					case "1":
						assert.LessOrEqual(t, n, 3603)
					case "0", "-5":
						assert.Less(t, n, 10)
					default:
						assert.Equal(t, 1, n)
						assert.NoError(t, b.session.Ready(t.Context()))
					}
				})
			})
		}
	}
}

func TestErrorsOfASessionCanBeInspected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		b.server.Seal()
		time.Sleep(3 * time.Hour)
		err := b.session.Ready(t.Context())
		var failed *vaultauth.LoginError
		var refused *api.ResponseError
		require.True(t, errors.As(err, &failed) && errors.As(err, &refused))
		assert.Equal(t, vaultauth.Sealed, failed.Reason)
		assert.Positive(t, b.session.Stats().Failures[vaultauth.Sealed])
	})
}
