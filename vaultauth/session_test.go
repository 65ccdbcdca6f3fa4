package vaultauth_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// https://github.com/hashicorp/vault/issues/24498
func TestClientAndItsClonesReadForMonthsWithoutAFailure(t *testing.T) {
	for name, role := range map[string]vaultauthtest.Role{
		"renewable, with a max TTL of a day": hour,
		"periodic":                           {TokenPeriod: 30 * time.Minute},
		"batch":                              {TokenTTL: 20 * time.Minute, Batch: true},
		"may not renew itself":               {TokenTTL: time.Hour, NoDefaultPolicy: true},
		"explicit max TTL":                   {TokenTTL: time.Hour, TokenExplicitMaxTTL: 3*time.Hour + 7*time.Minute},
		"TTL above the max TTL":              {TokenTTL: 5 * time.Hour, TokenMaxTTL: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, role)
				b.server.LogSize = -1
				b.session.KeepToken = role.TokenPeriod > 0
				cloned, err := b.session.Client.Clone()
				require.NoError(t, err)
				b.start()
				later, err := b.session.Client.Clone()
				require.NoError(t, err)
				copied := b.session.Client.WithNamespace("")

				length := 10 * 24 * time.Hour
				if name == "renewable, with a max TTL of a day" {
					length *= 6
				}
				reads, failures := b.soak(length, 23*time.Minute, b.session.Client, cloned, later, copied)
				assert.Empty(t, failures)
				stats := b.session.Stats()
				t.Logf("%d reads, %d rotations, %d logins, %d renewals, failures %v",
					reads, b.kubelet.Rotations(), stats.Logins, stats.Renewals, stats.Failures)
				assert.Greater(t, b.kubelet.Rotations(), int(length/time.Hour))
				switch {
				case role.TokenPeriod > 0:
					assert.EqualValues(t, 1, stats.Logins, "a periodic token is renewed for ever")
				case role.Batch, role.NoDefaultPolicy, role.TokenMaxTTL == time.Hour:
					// One renewal of a token that looks renewable tells that it cannot grow.
					assert.LessOrEqual(t, stats.Renewals, stats.Logins)
				default:
					assert.Greater(t, stats.Renewals, stats.Logins, "renewed rather than logged in")
				}
			})
		})
	}
}

func TestLoginTellsAtStartWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.DeleteRole("jwt", "web")
		err := b.session.Login(t.Context())
		var failed *vaultauth.LoginError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, vaultauth.NoSuchRole, failed.Reason)
		assert.Equal(t, 1, b.requests("login", 0))
		require.ErrorIs(t, b.session.Ready(t.Context()), vaultauth.ErrNotLoggedIn)
		assert.ErrorContains(t, b.session.Ready(t.Context()), "could not be found")
	})
}

func TestRunNeedsNoLoginBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.session.Splay = time.Minute
		require.ErrorIs(t, b.session.Ready(t.Context()), vaultauth.ErrNotLoggedIn)
		b.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, b.session.Ready(t.Context()))
		require.NoError(t, read(b.session.Client))
		assert.ErrorContains(t, b.session.Run(t.Context()), "already running")
	})
}

func TestEndOfRunTakesTheTokenAway(t *testing.T) {
	for name, revoke := range map[string]bool{"and leaves it to expire": false, "and revokes it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.session.RevokeAtEnd = revoke
				b.start()
				token := b.session.Client.Token()
				require.NotEmpty(t, token)

				assert.ErrorIs(t, b.stop(), context.Canceled)
				assert.Empty(t, b.session.Client.Token())
				assert.ErrorIs(t, b.session.Ready(t.Context()), vaultauth.ErrNotLoggedIn)
				other := b.client()
				other.SetToken(token)
				assert.Equal(t, revoke, read(other) != nil, "the token is revoked")
				assert.Empty(t, b.session.Stats().Next)
			})
		})
	}
}

// LifetimeWatcher.Stop waits for the request that is under way.
func TestRunEndsAtOnceWhileTheServerHangs(t *testing.T) {
	for name, path := range map[string]string{"in a renewal": "/v1/auth/token/renew-self", "in a login": "/v1/auth/jwt/login"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.start()
				hung := make(chan struct{}, 1)
				b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
					if r.URL.Path != path {
						return nil
					}
					hung <- struct{}{}
					return &vaultauthtest.Fault{Hang: true}
				})
				if path != "/v1/auth/token/renew-self" {
					b.server.RevokeAll()
					go read(b.session.Client)
				}
				<-hung
				before := time.Now()
				assert.ErrorIs(t, b.stop(), context.Canceled)
				assert.Zero(t, time.Since(before))
			})
		})
	}
}

func TestRenewalsGoToTheNamespaceOfTheLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.Product = vaultauthtest.OpenBao
		b.server.AddNamespace("team")
		b.server.AddNamespace("team/app")
		b.server.Enable("k8s", vaultauthtest.Mount{Type: "jwt", Namespace: "team"})
		b.server.SetRole("team/k8s", "web", vaultauthtest.Role{
			BoundAudiences: []string{"openbao"}, TokenTTL: time.Hour, TokenMaxTTL: 24 * time.Hour, Policies: []string{"web"},
		})
		b.method.Mount = "k8s"
		b.session.Namespace = "team"
		b.session.Client.SetNamespace("team/app")
		b.start()
		time.Sleep(3 * 24 * time.Hour)
		synctest.Wait()

		assert.Equal(t, "team/app", b.session.Client.Namespace())
		assert.Empty(t, b.session.Stats().Failures)
		assert.Greater(t, b.requests("renew-self", 200), 50)
		for _, r := range b.server.Requests() {
			assert.Equal(t, "team", r.Namespace, r.Path)
		}
	})
}

func TestRootNamespaceForLoginsOfAClientInAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.Product = vaultauthtest.OpenBao
		b.session.Namespace = "/"
		b.session.Client.SetNamespace("team")
		require.NoError(t, b.session.Login(t.Context()))
		assert.Empty(t, b.server.Requests()[0].Namespace)
		assert.Equal(t, "team", b.session.Client.Namespace())
	})
}

func TestEachLoginIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, vaultauthtest.Role{TokenTTL: time.Hour, TokenMaxTTL: 2 * time.Hour})
		var tokens []string
		b.session.OnLogin = func(s *api.Secret) {
			assert.Equal(t, s.Auth.Accessor, b.accessor())
			tokens = append(tokens, s.Auth.ClientToken)
		}
		b.start()
		time.Sleep(48 * time.Hour)
		require.ErrorIs(t, b.stop(), context.Canceled)
		assert.Len(t, tokens, int(b.session.Stats().Logins))
		assert.Greater(t, len(tokens), 24)
	})
}

// A token's policies are those of its login.
// https://github.com/hashicorp/vault-secrets-operator/issues/1185
func TestLoginWhileRunningHasANewToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		first := b.accessor()
		b.server.SetPolicy("more", "secret/data/more")
		b.server.Put("more", map[string]any{"a": "b"})
		b.role(vaultauthtest.Role{TokenTTL: time.Hour, Policies: []string{"more"}})
		_, err := b.session.Client.Logical().Read("secret/data/more")
		require.Error(t, err)

		require.NoError(t, b.session.Login(t.Context()))
		_, err = b.session.Client.Logical().Read("secret/data/more")
		require.NoError(t, err)
		assert.NotEqual(t, first, b.accessor())
		_, failures := b.soak(24*time.Hour, time.Minute, b.session.Client)
		assert.Empty(t, failures)
	})
}

func TestTokenOfTheEnvironmentIsReplaced(t *testing.T) {
	t.Setenv(api.EnvVaultToken, "hvs.of-a-developer")
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		cloned, err := b.session.Client.Clone() // reads the environment again
		require.NoError(t, err)
		require.NoError(t, read(b.session.Client))
		require.NoError(t, read(cloned))
		assert.Equal(t, 2, b.requests("secret/data/web", 200))
		assert.Zero(t, b.requests("lookup-self", 0), "it is not sent")
	})
}

func TestClientWithATokenOfItsOwnKeepsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		secret, err := b.method.Login(t.Context(), b.client())
		require.NoError(t, err)
		cloned, err := b.session.Client.Clone()
		require.NoError(t, err)
		cloned.SetToken(secret.Auth.ClientToken)
		require.NoError(t, read(cloned))
		theirs := b.lastAccessor()
		assert.NotEqual(t, b.accessor(), theirs)
		b.server.RevokeAll()
		assert.Error(t, read(cloned), "its token is not the session's to replace")
		assert.NoError(t, read(b.session.Client))
	})
}

func TestSessionMadeByHandKeepsItsClientLoggedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.session = &vaultauth.Session{Client: b.client(), Method: b.method}
		b.start()
		_, failures := b.soak(10*24*time.Hour, 3*time.Minute, b.session.Client)
		assert.Empty(t, failures)

		b.server.RevokeAll()
		require.Error(t, read(b.session.Client), "nothing in its transport recovers")
		assert.NoError(t, b.session.Do(t.Context(), read))
	})
}

func TestMissingFieldsAreToldAtOnce(t *testing.T) {
	client, err := api.NewClient(nil)
	require.NoError(t, err)
	var none *vaultauth.Method
	for name, s := range map[string]*vaultauth.Session{
		"nothing is set":  {},
		"no client":       {Method: new(vaultauth.Method)},
		"no method":       {Client: client},
		"a nil method":    {Client: client, Method: none},
		"no source":       {Client: client, Method: &vaultauth.Method{Role: "web"}},
		"no way to mount": {Client: client, Method: &vaultauth.Method{Role: "web", Mount: "../sys"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Error(t, s.Login(t.Context()))
			assert.Error(t, s.Run(t.Context()))
			assert.ErrorIs(t, s.Ready(t.Context()), vaultauth.ErrNotLoggedIn)
			assert.Zero(t, s.Stats().Logins)
		})
	}
}

func TestCallsWithinOnLoginDoNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		refused := 0
		b.session.OnLogin = func(*api.Secret) {
			if _, err := b.session.Client.Logical().Read("secret/data/of-others"); err != nil {
				refused++
			}
		}
		b.start()
		b.server.RevokeAll()
		require.NoError(t, read(b.session.Client))
		synctest.Wait()
		assert.Equal(t, 2, refused)
	})
}

func TestLoginEndsWithItsContextWhileRunLogsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		hung := make(chan struct{}, 1)
		b.server.SetFault(func(*http.Request) *vaultauthtest.Fault {
			hung <- struct{}{}
			return &vaultauthtest.Fault{Hang: true}
		})
		b.run()
		<-hung
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		assert.ErrorIs(t, b.session.Login(ctx), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))
	})
}

func TestSessionPrintsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.start()
		token := b.session.Client.Token()
		b.server.RevokeAll()
		_, _ = b.session.Client.Logical().Read("secret/data/of-others")
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			for _, secret := range []string{token, b.session.Client.Token()} {
				assert.NotContains(t, fmt.Sprintf(verb, b.session), secret, verb)
				assert.NotContains(t, fmt.Sprintf(verb, b.session.Stats()), secret, verb)
			}
		}
	})
}
