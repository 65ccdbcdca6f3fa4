package vaultauthtest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// loginCase is a login and what both servers answer.
type loginCase struct {
	name   string
	role   string
	jwt    func(f *fake) string
	status int
	errors string
}

func good(f *fake) string { return f.jwt(nil) }

func with(change object) func(f *fake) string {
	return func(f *fake) string { return f.jwt(change) }
}

const (
	invalid  = "error validating token: "
	noKey    = invalid + "error verifying token signature: no known key successfully validated the token signature"
	wrongAud = "invalid audience (aud) claim: audience claim does not match any expected audience"
	expired  = "invalid expiration time (exp) claim: token is expired"
	tooEarly = "invalid not before (nbf) claim: token not yet valid"
	future   = "invalid issued at (iat) claim: token issued in the future"
)

func TestJWTLogin(t *testing.T) {
	cases := []loginCase{
		{"good", "hour", good, 200, ""},
		{"role in upper case", "HOUR", good, 200, ""},
		{"newline at the end", "hour", func(f *fake) string { return f.jwt(nil) + "\n" }, 200, ""},
		{"aud is a string", "hour", with(object{"aud": "openbao"}), 200, ""},
		{"aud has one more", "hour", with(object{"aud": []string{"other", "openbao"}}), 200, ""},

		{"no role", "", good, 400, "missing role"},
		{"unknown role", "x", good, 400, `role "x" could not be found`},
		{"no token", "hour", func(*fake) string { return "" }, 400, "missing token"},
		{"unknown role and no token", "x", func(*fake) string { return "" }, 400, `role "x" could not be found`},
		{"no JWT", "hour", func(*fake) string { return "x" }, 400,
			invalid + "error verifying token signature: go-jose/go-jose: compact JWS format must have three parts"},
		{"signed by another key", "hour", func(f *fake) string { return forged(f.t) }, 400, noKey},
		{"not signed", "hour", func(f *fake) string { return unsigned(f.t) }, 400, noKey},
		{"signature cut short", "hour", func(f *fake) string { return f.jwt(nil)[:len(f.jwt(nil))-8] }, 400, noKey},

		{"wrong audience", "hour", with(object{"aud": []string{"vault"}}), 400, invalid + wrongAud},
		{"no audience", "hour", with(object{"aud": nil}), 400, invalid + wrongAud},
		{"wrong issuer", "hour", with(object{"iss": "https://other.test"}), 400, invalid + "invalid issuer (iss) claim"},
		{"wrong subject", "subject", good, 400, invalid + "invalid subject (sub) claim"},
		{"issuer before subject before audience", "subject", with(object{"iss": "x", "aud": "x"}), 400,
			invalid + "invalid issuer (iss) claim"},
		{"subject before audience", "subject", with(object{"aud": "x"}), 400, invalid + "invalid subject (sub) claim"},
		{"audience before expiry", "hour", with(object{"aud": "x", "exp": 1}), 400, invalid + wrongAud},

		{"expired by 30 s", "hour", with(object{"exp": ahead(-30 * time.Second)}), 200, ""},
		{"expired by 62 s", "hour", with(object{"exp": ahead(-62 * time.Second)}), 400, invalid + expired},
		{"not yet valid by 50 s", "hour", with(object{"nbf": ahead(50 * time.Second)}), 200, ""},
		{"not yet valid by 90 s", "hour", with(object{"nbf": ahead(90 * time.Second)}), 400, invalid + tooEarly},
		{"issued 90 s ahead", "hour", with(object{"iat": ahead(90 * time.Second)}), 400, invalid + future},
		{"exp alone, near", "hour", with(object{"iat": nil, "nbf": nil, "exp": ahead(200 * time.Second)}), 200, ""},
		{"exp alone, far", "hour", with(object{"iat": nil, "nbf": nil}), 400, invalid + tooEarly},
		{"no times at all", "hour", with(object{"iat": nil, "nbf": nil, "exp": nil}), 400,
			invalid + "no issued at (iat), not before (nbf), or expiration time (exp) claims in token"},
		{"no exp, issued long ago", "hour", with(object{"exp": nil, "iat": ahead(-time.Hour), "nbf": nil}), 400, invalid + expired},

		{"role without audiences", "open", good, 400, "audience claim found in JWT but no audiences bound to the role"},
		{"role and token without audiences", "open", with(object{"aud": nil}), 200, ""},
		{"sub is a number", "hour", with(object{"sub": 1}), 400,
			invalid + "json: cannot unmarshal number into Go struct field Claims.sub of type string"},
		{"aud is a number", "hour", with(object{"aud": 1}), 400,
			invalid + "go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience"},
		{"exp is a text", "hour", with(object{"exp": "x"}), 400,
			invalid + "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate"},
		{"no sub", "hour", with(object{"sub": nil}), 400, `claim "sub" not found in token`},

		{"bound claims", "claims", good, 200, ""},
		{"bound claim differs", "claims", with(object{"kubernetes.io": object{"namespace": "other"}}), 400,
			`error validating claims: claim "/kubernetes.io/namespace" does not match any associated bound claim values`},
		{"bound claim is missing", "claims", with(object{"kubernetes.io": nil}), 400,
			`error validating claims: claim "/kubernetes.io/namespace" is missing`},
		{"pointer into a list", "pointer", with(object{"groups": []any{"a", object{"admin/x": true}}}), 200, ""},
		{"pointer beyond a list", "pointer", with(object{"groups": []any{"a"}}), 400,
			`error validating claims: claim "/groups/1/admin~1x" is missing`},
		{"pointer through a text", "pointer", with(object{"groups": "a"}), 400,
			`error validating claims: claim "/groups/1/admin~1x" is missing`},
		{"claim cannot be compared", "number", with(object{"level": object{}, "groups": "b"}), 400,
			"error validating claims: received claim is not a string, bool, int or list: map[]"},
		{"bound number and list", "number", with(object{"level": 3, "groups": []string{"a", "b"}}), 200, ""},
		{"bound number differs", "number", with(object{"level": 4, "groups": "b"}), 400,
			`error validating claims: claim "level" does not match any associated bound claim values`},
	}
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		f.SetRole("jwt", "subject", variant(func(r *vaultauthtest.Role) { r.BoundSubject = "system:serviceaccount:shop:other" }))
		f.SetRole("jwt", "open", variant(func(r *vaultauthtest.Role) { r.BoundAudiences = nil }))
		f.SetRole("jwt", "claims", variant(func(r *vaultauthtest.Role) {
			r.BoundClaims = object{"/kubernetes.io/namespace": []string{"bar", "shop"}}
		}))
		f.SetRole("jwt", "pointer", variant(func(r *vaultauthtest.Role) {
			r.BoundClaims = object{"/groups/1/admin~1x": true}
		}))
		f.SetRole("jwt", "number", variant(func(r *vaultauthtest.Role) {
			r.BoundClaims = object{"level": 3, "groups": []any{"b"}}
		}))
		runLogins(t, f, "jwt", cases)
	})
}

func TestKubernetesLogin(t *testing.T) {
	const notYours, notYourNamespace = "service account name not authorized", "namespace not authorized"
	cases := []loginCase{
		{"good", "hour", good, 200, ""},
		{"names with a star", "star", good, 200, ""},
		{"any name", "any", good, 200, ""},
		{"names with more stars", "stars", with(object{"kubernetes.io": object{
			"namespace": "shop", "serviceaccount": object{"name": "web-api-v2", "uid": "1"},
		}}), 200, ""},
		{"names with more stars, in another order", "stars", with(object{"kubernetes.io": object{
			"namespace": "shop", "serviceaccount": object{"name": "web-v2-api", "uid": "1"},
		}}), 403, notYours},
		{"newline at the end", "hour", func(f *fake) string { return f.jwt(nil) + "\n" }, 200, ""},

		{"no role", "", good, 400, "missing role"},
		{"unknown role", "x", good, 400, `invalid role name "x"`},
		{"unknown role in upper case", "X", good, 400, `invalid role name "X"`},
		{"role in upper case", "HOUR", good, 200, ""},
		{"aud is a string", "hour", with(object{"aud": "openbao"}), 500,
			"1 error(s) decoding:\n\n* 'aud': source data must be an array or slice, got string"},
		{"sub is a number", "hour", with(object{"sub": 1}), 403,
			"json: cannot unmarshal number into Go struct field Claims.sub of type string"},
		{"no token", "hour", func(*fake) string { return "" }, 400, "missing jwt"},
		{"unknown role and no token", "x", func(*fake) string { return "" }, 400, "missing jwt"},
		{"no JWT", "hour", func(*fake) string { return "x" }, 403, denied},
		{"signed by another key", "hour", func(f *fake) string { return forged(f.t) }, 403, denied},
		{"not signed", "hour", func(f *fake) string { return unsigned(f.t) }, 403, denied},

		{"wrong audience", "hour", with(object{"aud": []string{"vault"}}), 403, wrongAud},
		{"role without audience", "open", with(object{"aud": []string{"vault"}}), 200, ""},
		{"expired by 62 s", "hour", with(object{"exp": ahead(-62 * time.Second)}), 403, expired},
		{"expired by 30 s", "hour", with(object{"exp": ahead(-30 * time.Second)}), 403, denied},
		{"not yet valid by 90 s", "hour", with(object{"nbf": ahead(90 * time.Second)}), 403, tooEarly},
		{"issued 90 s ahead", "hour", with(object{"iat": ahead(90 * time.Second)}), 403, future},
		{"wrong issuer", "hour", with(object{"iss": "https://other.test"}), 403, denied},

		{"another service account", "other", good, 403, notYours},
		{"another namespace", "elsewhere", good, 403, notYourNamespace},
		{"role for nobody", "nobody", good, 403, notYours},
		{"without the claim kubernetes.io", "hour", with(object{"kubernetes.io": nil}), 403, notYours},
		{"without a uid", "hour", with(object{"kubernetes.io": object{
			"namespace": "shop", "serviceaccount": object{"name": "web"},
		}}), 500, "could not parse UID from claims"},
		{"name before audience", "hour", with(object{"aud": "x", "kubernetes.io": nil}), 403, wrongAud},

		{"bound to a deleted pod", "hour", with(object{"kubernetes.io": object{
			"namespace": "shop", "serviceaccount": object{"name": "web", "uid": "0f3f7ca8"},
			"pod": object{"name": "gone", "uid": "11111111"},
		}}), 403, denied},
	}
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		roles := map[string]func(*vaultauthtest.Role){
			"star":      func(r *vaultauthtest.Role) { r.BoundServiceAccountNames = []string{"x", "w*b"} },
			"stars":     func(r *vaultauthtest.Role) { r.BoundServiceAccountNames = []string{"*b-*pi-*2"} },
			"open":      func(r *vaultauthtest.Role) { r.BoundAudiences = nil },
			"other":     func(r *vaultauthtest.Role) { r.BoundServiceAccountNames = []string{"other"} },
			"elsewhere": func(r *vaultauthtest.Role) { r.BoundServiceAccountNamespaces = []string{"other"} },
			"nobody":    func(r *vaultauthtest.Role) { r.BoundServiceAccountNames = nil },
			"any": func(r *vaultauthtest.Role) {
				r.BoundServiceAccountNames, r.BoundServiceAccountNamespaces = []string{"*"}, []string{"*"}
			},
		}
		for name, change := range roles {
			f.SetRole("kubernetes", name, variant(change))
		}
		f.DeletePod("shop", "gone")
		runLogins(t, f, "kubernetes", cases)
	})
}

func runLogins(t *testing.T, f *fake, mount string, cases []loginCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f.t = t
			r := f.login(mount, c.role, c.jwt(f))
			assert.Equal(t, c.status, r.status)
			assert.Equal(t, c.errors, r.errors)
			assert.Equal(t, c.status == 200, r.token() != "")
		})
	}
}

func TestTokenReviewFails(t *testing.T) {
	reviewers := map[string]vaultauthtest.Reviewer{
		"denied":      vaultauthtest.Denied,
		"401":         vaultauthtest.Unauthorized,
		"429":         vaultauthtest.Throttled,
		"500":         vaultauthtest.Failing,
		"unreachable": vaultauthtest.Unreachable,
		"one of the test's own": func(context.Context, string, []string) error {
			return errors.New("no")
		},
	}
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		for name, reviewer := range reviewers {
			t.Run(name, func(t *testing.T) {
				f := newFake(t, p)
				f.Enable("kubernetes", vaultauthtest.Mount{Reviewer: reviewer})
				f.SetRole("kubernetes", "hour", hour())
				r := f.login("kubernetes", "hour", f.jwt(nil))
				assert.Equal(t, 403, r.status)
				assert.Equal(t, denied, r.errors)
			})
		}
	})
}

// A method that is enabled again is the same one with another configuration.
func TestMethodIsChanged(t *testing.T) {
	f := newFake(t, vaultauthtest.OpenBao)
	token := f.granted("kubernetes", "hour").token()
	f.Enable("kubernetes", vaultauthtest.Mount{Reviewer: vaultauthtest.Unauthorized})
	assert.Equal(t, denied, f.login("kubernetes", "hour", f.jwt(nil)).errors)
	assert.Equal(t, 200, f.renew(token).status)
	f.Enable("kubernetes", vaultauthtest.Mount{})
	assert.Equal(t, 200, f.login("kubernetes", "hour", f.jwt(nil)).status)
	f.DeleteRole("kubernetes", "hour")
	assert.Equal(t, 500, f.renew(token).status)
}

func TestReviewerIsAskedForTheAudience(t *testing.T) {
	f := newFake(t, vaultauthtest.Vault)
	var asked [][]string
	f.Enable("kubernetes", vaultauthtest.Mount{Reviewer: func(_ context.Context, token string, audiences []string) error {
		asked = append(asked, audiences)
		_, err := f.issuer.Verify(token, audiences[0])
		return err
	}})
	f.SetRole("kubernetes", "hour", hour())
	f.SetRole("kubernetes", "open", variant(func(r *vaultauthtest.Role) { r.BoundAudiences = nil }))
	token := f.jwt(object{"aud": []string{"openbao", "other"}})
	assert.Equal(t, 200, f.login("kubernetes", "hour", token).status)
	assert.Equal(t, 200, f.login("kubernetes", "open", token+"\n").status)
	assert.Equal(t, [][]string{{"openbao"}, {"openbao", "other"}}, asked)
}

// A token from a Secret has neither aud nor exp.
func TestLegacyToken(t *testing.T) {
	f := newFake(t, vaultauthtest.OpenBao)
	f.SetRole("kubernetes", "open", variant(func(r *vaultauthtest.Role) { r.BoundAudiences = nil }))
	legacy, err := f.issuer.LegacyToken("shop", "web", "web-token")
	require.NoError(t, err)
	r := f.login("kubernetes", "hour", legacy)
	assert.Equal(t, 403, r.status)
	assert.Equal(t, wrongAud, r.errors)
	r = f.login("kubernetes", "open", legacy)
	assert.Equal(t, 200, r.status)
	assert.Equal(t, "web-token", r.auth()["metadata"].(object)["service_account_secret_name"])
	assert.Equal(t, 403, f.login("kubernetes", "open", legacy[:len(legacy)-10]+"AAAAAAAAAA").status)
}

func TestKeysOfTheIssuer(t *testing.T) {
	f := newFake(t, vaultauthtest.OpenBao)
	old := f.jwt(nil)
	require.NoError(t, f.issuer.RotateKey(tokenfiletest.RS256))
	rsa := f.jwt(nil)
	assert.Equal(t, 200, f.login("jwt", "hour", rsa).status, "the new key is known at once")
	other := f.jwt(object{"sub": "another"})
	mixed := other[:strings.LastIndexByte(other, '.')] + rsa[strings.LastIndexByte(rsa, '.'):]
	assert.Equal(t, noKey, f.login("jwt", "hour", mixed).errors)
	assert.Equal(t, 200, f.login("jwt", "hour", old).status)
	f.issuer.DropOldKeys()
	assert.Equal(t, noKey, f.login("jwt", "hour", old).errors)

	f.Enable("jwt", vaultauthtest.Mount{KeysUnreachable: true})
	f.SetRole("jwt", "hour", hour())
	r := f.login("jwt", "hour", f.jwt(nil))
	assert.Equal(t, 400, r.status)
	assert.Contains(t, r.errors, invalid+"error verifying token signature: fetching keys oidc: ")
}

func TestWhatALoginGives(t *testing.T) {
	tests := []struct {
		mount    string
		metadata object
		display  string
	}{
		{"jwt", object{"role": "hour"}, "jwt-system:serviceaccount:shop:web"},
		{"kubernetes", object{
			"role": "hour", "service_account_name": "web", "service_account_namespace": "shop",
			"service_account_uid": "0f3f7ca8", "service_account_secret_name": "",
		}, "kubernetes-shop-web"},
	}
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		for _, test := range tests {
			f := newFake(t, p)
			for _, method := range []string{http.MethodPut, http.MethodPost} {
				r := f.ask("", method, "auth/"+test.mount+"/login", object{"role": "hour", "jwt": f.jwt(nil)})
				require.Equal(t, 200, r.status, r.errors)
				assert.Equal(t, "application/json", r.header.Get("Content-Type"))
				assert.Equal(t, "no-store", r.header.Get("Cache-Control"))
				auth := r.auth()
				assert.Regexp(t, tokenShape(p), auth["client_token"])
				assert.Regexp(t, `^[0-9A-Za-z]{24}$`, auth["accessor"])
				assert.Regexp(t, `^[0-9a-f-]{36}$`, auth["entity_id"])
				assert.Regexp(t, `^[0-9a-f-]{36}$`, r.body["request_id"])
				assert.Equal(t, test.display, f.lookup(r.token()).body["data"].(object)["display_name"])
				for _, random := range []string{"client_token", "accessor", "entity_id"} {
					delete(auth, random)
				}
				delete(r.body, "request_id")
				want := object{
					"lease_id": "", "renewable": false, "lease_duration": 0.0, "data": nil, "wrap_info": nil, "warnings": nil,
					"auth": object{
						"policies": []any{"default", "web"}, "token_policies": []any{"default", "web"},
						"metadata": test.metadata, "lease_duration": 3600.0, "renewable": true,
						"token_type": "service", "orphan": true, "mfa_requirement": nil, "num_uses": 0.0,
					},
				}
				if p == vaultauthtest.Vault {
					want["mount_type"] = ""
				}
				assert.Equal(t, want, r.body)
			}
		}
	})
}

func tokenShape(p vaultauthtest.Product) string {
	if p == vaultauthtest.OpenBao {
		return `^s\.[0-9A-Za-z]{24}$`
	}
	return `^hvs\.[0-9A-Za-z_-]{91}$`
}

// An entity is a pod's service account at one mount, at every login the same.
func TestEntities(t *testing.T) {
	f := newFake(t, vaultauthtest.Vault)
	entity := func(r reply) string { return r.auth()["entity_id"].(string) }
	first := entity(f.granted("jwt", "hour"))
	assert.Equal(t, first, entity(f.granted("jwt", "hour")))
	assert.NotEqual(t, first, entity(f.granted("kubernetes", "hour")))
	other := f.login("jwt", "hour", f.jwt(object{"sub": "system:serviceaccount:shop:other"}))
	assert.NotEqual(t, first, entity(other))
}

func TestLoginRequests(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		login := func(body any) reply { return f.ask("", http.MethodPut, "auth/jwt/login", body) }

		assert.Equal(t, "missing role", login(nil).errors)
		assert.Equal(t, "missing role", login("").errors)
		assert.Equal(t, "missing token", login(object{"role": "hour"}).errors)
		assert.Equal(t, "missing role", f.ask("", http.MethodPut, "auth/kubernetes/login", nil).errors)

		assert.Equal(t, 400, login("role=hour").status)
		cut := login(`{"role": "hour"`)
		broken := login(`{"role": hour}`)
		if p == vaultauthtest.OpenBao {
			assert.Equal(t, 400, cut.status)
			assert.Equal(t, 400, broken.status)
			assert.True(t, strings.HasPrefix(cut.errors, "failed to parse JSON input: "), cut.errors)
		} else {
			assert.Equal(t, 500, cut.status)
			assert.Equal(t, 500, broken.status)
			assert.Equal(t, "malformed JSON, unclosed containers", cut.errors)
		}

		get := f.ask("", http.MethodGet, "auth/jwt/login", nil)
		assert.Equal(t, 405, get.status)
		assert.Equal(t, "unsupported operation", get.errors)

		assert.Equal(t, 403, f.ask("", "LIST", "auth/jwt/login", nil).status, "that is a folder")
		array := login(`["hour"]`)
		assert.Equal(t, 400, array.status)
		assert.Contains(t, array.errors, "cannot unmarshal array")

		missing := f.ask("", http.MethodPut, "auth/none/login", object{"role": "hour", "jwt": f.jwt(nil)})
		assert.Equal(t, 403, missing.status)
		assert.Equal(t, denied, missing.errors)

		slash := f.ask("", http.MethodPut, "auth/jwt/login/", object{"role": "hour", "jwt": f.jwt(nil)})
		assert.Equal(t, 400, slash.status)
		assert.Equal(t, "cannot write to a path ending in '/'", slash.errors)
	})
}

// A client may send its old token along with a login. That does harm only if
// the token is good and its entity is gone.
func TestLoginWithAToken(t *testing.T) {
	eachProduct(t, func(t *testing.T, p vaultauthtest.Product) {
		f := newFake(t, p)
		with := func(token string) reply {
			return f.ask(token, http.MethodPut, "auth/jwt/login", object{"role": "hour", "jwt": f.jwt(nil)})
		}
		token := f.granted("jwt", "hour").token()
		assert.Equal(t, 200, with(token).status)
		assert.Equal(t, 200, with("hvs.none").status)
		f.DeleteEntities()
		r := with(token)
		assert.Equal(t, 403, r.status)
		assert.Equal(t, denied, r.errors)
		fresh := f.granted("jwt", "hour").token()
		assert.Equal(t, 200, with(fresh).status)
		assert.Equal(t, 403, with(token).status)
		f.RevokeAll()
		assert.Equal(t, 200, with(token).status, "a revoked token does no harm")
	})
}
