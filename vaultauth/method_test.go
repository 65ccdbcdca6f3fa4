package vaultauth_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// https://github.com/hashicorp/vault/issues/24498
// https://github.com/hashicorp/vault/issues/15390
func TestEachAttemptSendsTheTokenOfTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		var sent []string
		b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
			body, _ := io.ReadAll(r.Body)
			sent = append(sent, string(body))
			assert.NoError(t, b.kubelet.Rotate())
			return &vaultauthtest.Fault{Status: 503}
		})
		_, err := b.method.Login(t.Context(), b.client())
		require.Error(t, err)
		require.Len(t, sent, 3, "once, and the client's two retries")
		assert.NotEqual(t, sent[0], sent[1])
		assert.NotEqual(t, sent[1], sent[2])
	})
}

func TestRetriesAreAsManyAsTheClientAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.Seal()
		for _, retries := range []int{0, 5} {
			b.server.ClearRequests()
			client := b.client()
			client.SetMaxRetries(retries)
			_, err := b.method.Login(t.Context(), client)
			assert.Error(t, err)
			assert.Len(t, b.server.Requests(), 1+retries)
			assert.Equal(t, retries, client.MaxRetries())
		}
	})
}

func TestLoginLeavesTheClientAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		client := b.client()
		client.SetToken("hvs.earlier")
		client.AddHeader("X-Trace", "1")
		wrap := func(string, string) string { return "1m" }
		client.SetWrappingLookupFunc(wrap)
		secret, err := b.method.Login(t.Context(), client)
		require.NoError(t, err)
		assert.NotEmpty(t, secret.Auth.ClientToken)

		assert.Equal(t, "hvs.earlier", client.Token())
		assert.Equal(t, "1", client.Headers().Get("X-Trace"))
		assert.NotNil(t, client.CurrentWrappingLookupFunc())
		assert.Equal(t, 2, client.MaxRetries())
		request := b.server.Requests()[0]
		assert.False(t, request.HadToken)
		assert.False(t, request.WrapTTL)

		_, err = client.Auth().Login(t.Context(), b.method)
		require.NoError(t, err)
		assert.NotEqual(t, "hvs.earlier", client.Token())
	})
}

// A server refuses a good JWT beside the token of a deleted entity.
func TestStaleTokenOfTheClientIsNotSentWithALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		client := b.client()
		_, err := client.Auth().Login(t.Context(), b.method)
		require.NoError(t, err)
		b.server.DeleteEntities()
		client.AddHeader("X-Vault-Token", client.Token())
		_, err = b.method.Login(t.Context(), client)
		assert.NoError(t, err)
	})
}

func TestWrappingOfTheEnvironmentDoesNotReachALogin(t *testing.T) {
	t.Setenv(api.EnvVaultWrapTTL, "60s")
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		secret, err := b.method.Login(t.Context(), b.client())
		require.NoError(t, err)
		require.NotNil(t, secret.Auth)
		b.start()
		time.Sleep(2 * time.Hour)
		assert.Positive(t, b.requests("renew-self", 200))
	})
}

func TestLoginGoesToTheNamespaceOfTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.Product = vaultauthtest.OpenBao
		b.server.Enable("jwt", vaultauthtest.Mount{Namespace: "team/a"})
		b.server.SetRole("team/a/jwt", "web", vaultauthtest.Role{BoundAudiences: []string{"openbao"}})
		_, err := b.method.Login(t.Context(), b.client().WithNamespace("team/a"))
		require.NoError(t, err)
		assert.Equal(t, "team/a", b.server.Requests()[0].Namespace)

		_, err = b.method.Login(t.Context(), b.client().WithNamespace("nowhere"))
		var failed *vaultauth.LoginError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, vaultauth.NoSuchPath, failed.Reason)
		assert.ErrorContains(t, err, `in namespace "nowhere"`)
	})
}

func TestTokenThatFailsValidationIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		volume := b.kubelet.Volume
		for name, breakIt := range map[string]struct {
			do    func()
			cause any
		}{
			"of another audience": {func() { b.kubelet.Request.Audiences = []string{"other"}; b.kubelet.Rotate() }, new(*tokenfile.AudienceError)},
			"torn":                {func() { volume.Write("eyJhbGciOi") }, tokenfile.ErrMalformed},
			"empty":               {func() { volume.Write("") }, tokenfile.ErrMalformed},
			"gone":                {func() { volume.Dangle() }, fs.ErrNotExist},
		} {
			breakIt.do()
			_, err := b.method.Login(t.Context(), b.client())
			var failed *vaultauth.LoginError
			require.ErrorAs(t, err, &failed, name)
			assert.Equal(t, vaultauth.TokenFile, failed.Reason, name)
			if target, is := breakIt.cause.(error); is {
				assert.ErrorIs(t, err, target, name)
			} else {
				assert.ErrorAs(t, err, breakIt.cause, name)
			}
			var file *tokenfile.Error
			assert.ErrorAs(t, err, &file, name)
		}
		b.kubelet.Request.Audiences = []string{"openbao"}
		require.NoError(t, b.kubelet.Rotate())
		time.Sleep(2 * time.Hour)
		_, err := b.method.Login(t.Context(), b.client())
		assert.ErrorAs(t, err, new(*tokenfile.ExpiredError))
		assert.Empty(t, b.server.Requests())
	})
}

func TestTrailingNewlineIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		token, err := os.ReadFile(b.kubelet.Volume.Path())
		require.NoError(t, err)
		require.NoError(t, b.kubelet.Volume.Write(string(token)+"\n"))
		var body []byte
		b.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
			body, _ = io.ReadAll(r.Body)
			return &vaultauthtest.Fault{Status: 400}
		})
		_, _ = b.method.Login(t.Context(), b.client())
		assert.Contains(t, string(body), string(token))
		assert.NotContains(t, string(body), `\n`)
	})
}

func TestMountIsWrittenAsPeopleWriteIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		for _, mount := range []string{"jwt", "/jwt/", "auth/jwt", "auth/jwt/"} {
			b.method.Mount = mount
			_, err := b.method.Login(t.Context(), b.client())
			assert.NoError(t, err, mount)
		}
		b.server.ClearRequests()
		for _, mount := range []string{"../sys", "jwt/../../sys", "a//b", ".", "jwt?x=1", "jwt#", "j wt", "jwt%2f", "jwt\n"} {
			b.method.Mount = mount
			_, err := b.method.Login(t.Context(), b.client())
			var failed *vaultauth.LoginError
			require.ErrorAs(t, err, &failed, mount)
			assert.Equal(t, vaultauth.Misconfigured, failed.Reason)
		}
		assert.Empty(t, b.server.Requests())
	})
}

func TestEnvironmentThatIsNoConfigurationIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		client := b.client()
		t.Setenv(api.EnvVaultMaxRetries, "many")
		start := time.Now()
		// One of the libraries reads the environment for a login, the other does not.
		if _, err := b.method.Login(t.Context(), client); err != nil {
			var failed *vaultauth.LoginError
			require.ErrorAs(t, err, &failed)
			assert.Equal(t, vaultauth.Misconfigured, failed.Reason)
			assert.Empty(t, b.server.Requests())
		}
		assert.Zero(t, time.Since(start))
		_, err := vaultauth.NewSession(nil, b.method)
		assert.Error(t, err)
	})
}

func TestLoginEndsWithItsContext(t *testing.T) {
	for name, fault := range map[string]*vaultauthtest.Fault{"while the server hangs": {Hang: true}, "between two attempts": {Status: 503}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				b.server.SetFault(func(*http.Request) *vaultauthtest.Fault { return fault })
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				start := time.Now()
				_, err := b.method.Login(ctx, b.client())
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, 500*time.Millisecond, time.Since(start))
				if fault.Status != 0 {
					assert.ErrorAs(t, err, new(*api.ResponseError), "and it tells what it waited for")
				}
			})
		})
	}
}

// https://github.com/hashicorp/vault/issues/3217
func TestWrappedAnswerIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		b.server.SetFault(func(*http.Request) *vaultauthtest.Fault {
			return &vaultauthtest.Fault{Status: 200, Body: `{"wrap_info":{"token":"hvs.wrapping","ttl":60},"auth":null}`}
		})
		_, err := b.method.Login(t.Context(), b.client())
		assert.ErrorContains(t, err, "wrapped")
		assert.NotContains(t, err.Error(), "hvs.wrapping")
	})
}

func TestSocketOfAnAgent(t *testing.T) {
	b := newBed(t, hour)
	socket := filepath.Join(t.TempDir(), "s")
	server := &http.Server{Handler: b.server}
	listener := listenUnix(t, socket)
	go server.Serve(listener)
	defer server.Close()
	config := api.DefaultConfig()
	config.Address = "unix://" + socket
	session, err := vaultauth.NewSession(config, b.method)
	require.NoError(t, err)
	require.NoError(t, session.Login(t.Context()))
	cloned, err := session.Client.Clone()
	require.NoError(t, err)
	assert.NoError(t, read(cloned))
}

// Whatever a server, a proxy or the connection says, a login's error has none
// of the secrets in it.
func TestNoSecretInTheErrorsOfALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, hour)
		raw, err := os.ReadFile(b.kubelet.Volume.Path())
		require.NoError(t, err)
		parts := strings.Split(string(raw), ".")
		config := b.config()
		config.Address = "https://user:hunter2@127.0.0.1:8200"
		client, err := api.NewClient(config)
		require.NoError(t, err)
		client.SetMaxRetries(0)
		for name, body := range map[string]string{
			"the whole token":    `{"errors":["cannot parse ` + string(raw) + `"]}`,
			"its payload":        `{"errors":["cannot parse ` + parts[1] + ` here"]}`,
			"a page that has it": "<html>" + string(raw) + "</html>",
		} {
			b.server.SetFault(func(*http.Request) *vaultauthtest.Fault {
				return &vaultauthtest.Fault{Status: 400, Body: body}
			})
			_, err := b.method.Login(t.Context(), client)
			require.Error(t, err)
			for e := err; e != nil; e = errors.Unwrap(e) {
				for _, secret := range append(parts, "hunter2") {
					assert.NotContains(t, e.Error(), secret, name)
				}
			}
		}
	})
}

func TestZeroLoginErrorPrints(t *testing.T) {
	assert.Equal(t, "vaultauth: login: unknown failure; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#login-refused",
		new(vaultauth.LoginError).Error())
}

// The texts are for whoever is paged. Each is what a server really answers.
func TestEachRefusalIsExplained(t *testing.T) {
	type edit = func(*bed)
	jwtRole := func(r vaultauthtest.Role) edit { return func(b *bed) { b.server.SetRole("jwt", "web", r) } }
	kubernetes := func(m vaultauthtest.Mount, r vaultauthtest.Role) edit {
		return func(b *bed) {
			m.Type = "kubernetes"
			b.server.Enable("kubernetes", m)
			b.server.SetRole("kubernetes", "web", r)
			b.method.Mount = ""
		}
	}
	open := vaultauthtest.Role{BoundServiceAccountNames: []string{"*"}, BoundServiceAccountNamespaces: []string{"*"}}
	down := func(context.Context, string, []string) error { return errors.New("connection refused") }
	with := func(r vaultauthtest.Role, change func(*vaultauthtest.Role)) vaultauthtest.Role { change(&r); return r }
	for name, c := range map[string]struct {
		edit   edit
		reason vaultauth.Reason
		says   []string
	}{
		"another audience, jwt": {jwtRole(vaultauthtest.Role{BoundAudiences: []string{"vault"}}), vaultauth.AudienceRefused,
			[]string{`aud ["openbao"]`, "bound_audiences", "auth/jwt/role/web"}},
		"another audience, kubernetes": {kubernetes(vaultauthtest.Mount{}, with(open, func(r *vaultauthtest.Role) { r.BoundAudiences = []string{"vault"} })),
			vaultauth.AudienceRefused, []string{`aud ["openbao"]`, "audience of a kubernetes role"}},
		"another subject": {jwtRole(vaultauthtest.Role{BoundAudiences: []string{"openbao"}, BoundSubject: "system:serviceaccount:shop:api"}),
			vaultauth.NotBound, []string{`sub "system:serviceaccount:shop:web"`, "bound_subject"}},
		"another service account": {kubernetes(vaultauthtest.Mount{}, with(open, func(r *vaultauthtest.Role) { r.BoundServiceAccountNames = []string{"api"} })),
			vaultauth.NotBound, []string{"bound_service_account_names", `sub "system:serviceaccount:shop:web"`}},
		"another namespace": {kubernetes(vaultauthtest.Mount{}, with(open, func(r *vaultauthtest.Role) { r.BoundServiceAccountNamespaces = []string{"ops"} })),
			vaultauth.NotBound, []string{"bound_service_account_namespaces"}},
		"unknown role, jwt":        {func(b *bed) { b.server.DeleteRole("jwt", "web") }, vaultauth.NoSuchRole, []string{"auth/jwt/role"}},
		"unknown role, kubernetes": {func(b *bed) { kubernetes(vaultauthtest.Mount{}, open)(b); b.method.Role = "wbe" }, vaultauth.NoSuchRole, []string{`role "wbe"`}},
		"no role at all":           {func(b *bed) { b.method.Role = "" }, vaultauth.NoSuchRole, []string{"missing role", "Method.Role"}},
		"another issuer":           {func(b *bed) { b.server.Enable("jwt", vaultauthtest.Mount{BoundIssuer: "https://other"}); b.role(hour) }, vaultauth.IssuerRefused, []string{"bound_issuer"}},
		"another cluster's key": {func(b *bed) {
			b.kubelet.Issuer = &tokenfiletest.Issuer{}
			b.kubelet.Issuer.RotateKey(tokenfiletest.ES256)
			b.kubelet.Rotate()
		}, vaultauth.SignatureRefused, []string{"auth/jwt/config"}},
		"reviewer not reachable": {kubernetes(vaultauthtest.Mount{Reviewer: down}, open), vaultauth.PermissionDenied,
			[]string{"no auth method at auth/kubernetes", "token_reviewer_jwt", "unreachable"}},
		"no such mount":    {func(b *bed) { b.method.Mount = "nowhere" }, vaultauth.PermissionDenied, []string{"no auth method at auth/nowhere"}},
		"keys unreachable": {func(b *bed) { b.server.Enable("jwt", vaultauthtest.Mount{KeysUnreachable: true}); b.role(hour) }, vaultauth.KeysUnreachable, []string{"jwks_url"}},
		"sealed":           {func(b *bed) { b.server.Seal() }, vaultauth.Sealed, []string{"503", "unseals"}},
		"standby":          {func(b *bed) { b.server.SetStandby(true) }, vaultauth.Standby, []string{"active"}},
		"rate limited":     {func(b *bed) { b.server.SetRateLimit(0.001, 1, false); read(b.client()) }, vaultauth.RateLimited, []string{"429", "quota"}},
		"not reachable":    {func(b *bed) { b.server.SetDown(true) }, vaultauth.Unreachable, []string{"refused"}},
		"clock of the server is behind": {func(b *bed) {
			b.server.SetFault(func(*http.Request) *vaultauthtest.Fault {
				return &vaultauthtest.Fault{Status: 400, Body: `{"errors":["error validating token: invalid expiration time (exp) claim: token is expired"]}`}
			})
		}, vaultauth.ClockRefused, []string{"clocks"}},
		// https://github.com/hashicorp/vault/issues/13867
		"issuer, by an old server": {func(b *bed) {
			b.server.SetFault(func(*http.Request) *vaultauthtest.Fault {
				return &vaultauthtest.Fault{Status: 500, Body: `{"errors":["claim \"iss\" is invalid"]}`}
			})
		}, vaultauth.IssuerRefused, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, hour)
				c.edit(b)
				_, err := b.method.Login(t.Context(), b.client())
				var failed *vaultauth.LoginError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, c.reason, failed.Reason, "%v", err)
				for _, says := range c.says {
					assert.Contains(t, err.Error(), says)
				}
				assert.NotContains(t, err.Error(), "\n")
				assert.Equal(t, "login-"+strings.ReplaceAll(string(c.reason), " ", "-"), sectionOf(t, err))
				if c.reason != vaultauth.Unreachable {
					assert.ErrorAs(t, err, new(*api.ResponseError))
				}
				assert.Equal(t, []string{"openbao"}, failed.Audience)
				t.Log(err)
			})
		})
	}
}
