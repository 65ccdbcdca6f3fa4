package tokenfiletest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const uuidForm = `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`

func TestTokenHasTheShapeOfKubernetes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // so that rounding shows
		token, err := newIssuer(t).Token(tokenfiletest.Request{
			Audiences:      []string{"openbao"},
			Lifetime:       10 * time.Minute,
			Namespace:      "shop",
			ServiceAccount: "web",
			Pod:            "web-0",
			Node:           "node-1",
		})
		require.NoError(t, err)
		header, claims := decode(t, token)

		assert.Len(t, header, 2, "no typ, as in Kubernetes")
		assert.Equal(t, "ES256", header["alg"])
		assert.Regexp(t, `^[A-Za-z0-9_-]{43}$`, header["kid"], "base64url of a SHA-256")

		now := float64(time.Now().Unix())
		assert.Regexp(t, uuidForm, claims["jti"])
		delete(claims, "jti")
		kubernetes := claims["kubernetes.io"].(map[string]any)
		for _, object := range []string{"serviceaccount", "pod", "node"} {
			reference := kubernetes[object].(map[string]any)
			assert.Regexp(t, uuidForm, reference["uid"])
			delete(reference, "uid")
		}
		assert.Equal(t, map[string]any{
			"aud": []any{"openbao"},
			"exp": now + 600,
			"iat": now,
			"iss": "https://kubernetes.default.svc.cluster.local",
			"nbf": now,
			"sub": "system:serviceaccount:shop:web",
			"kubernetes.io": map[string]any{
				"namespace":      "shop",
				"serviceaccount": map[string]any{"name": "web"},
				"pod":            map[string]any{"name": "web-0"},
				"node":           map[string]any{"name": "node-1"},
			},
		}, claims)
	})
}

func TestTokenOfZeroRequest(t *testing.T) {
	iss := newIssuer(t)
	iss.APIAudiences = []string{"https://kubernetes.default.svc", "k3s"}
	token, err := iss.Token(tokenfiletest.Request{})
	require.NoError(t, err)
	_, claims := decode(t, token)
	assert.Equal(t, []any{"https://kubernetes.default.svc", "k3s"}, claims["aud"])
	assert.Equal(t, "system:serviceaccount:default:default", claims["sub"])
	assert.Equal(t, 3600.0, claims["exp"].(float64)-claims["iat"].(float64))
	kubernetes := claims["kubernetes.io"].(map[string]any)
	assert.Len(t, kubernetes, 2, "neither pod nor node nor warnafter")
	assert.Equal(t, "default", kubernetes["namespace"])
	assert.Contains(t, kubernetes, "serviceaccount")
}

func TestTokensOfOneInstantDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iss := newIssuer(t)
		ids := map[any]bool{}
		for range 10 {
			token, err := iss.Token(tokenfiletest.Request{})
			require.NoError(t, err)
			_, claims := decode(t, token)
			ids[claims["jti"]] = true
		}
		assert.Len(t, ids, 10)
	})
}

// https://github.com/kubernetes/kubernetes/issues/106049
func TestUIDsStayOverRotationsAndCanBeChosen(t *testing.T) {
	iss := newIssuer(t)
	uids := func(r tokenfiletest.Request) (uids []any) {
		token, err := iss.Token(r)
		require.NoError(t, err)
		_, claims := decode(t, token)
		for _, object := range []string{"serviceaccount", "pod", "node"} {
			uids = append(uids, claims["kubernetes.io"].(map[string]any)[object].(map[string]any)["uid"])
		}
		return uids
	}
	web := tokenfiletest.Request{Pod: "web", Node: "web"}
	first := uids(web)
	assert.Equal(t, first, uids(web))
	assert.NotEqual(t, first[0], first[1])
	assert.NotEqual(t, first[1], first[2])
	web.ServiceAccountUID, web.PodUID, web.NodeUID = "a", "b", "c"
	assert.Equal(t, []any{"a", "b", "c"}, uids(web))
}

func TestTokenRefusesTheLifetimesThatTokenRequestRefuses(t *testing.T) {
	const limit = (1 << 32) * time.Second
	tests := []struct {
		name     string
		lifetime time.Duration
		short    bool   // Issuer.AllowShort
		want     string // "" : granted
	}{
		{"ten minutes", 600 * time.Second, false, ""},
		{"a second under ten minutes", 599 * time.Second, false, "may not specify a duration less than 10 minutes"},
		{"negative", -time.Second, false, "may not specify a duration less than 10 minutes"},
		{"2^32 seconds", limit, false, ""},
		{"a second over 2^32 seconds", limit + time.Second, false, "may not specify a duration larger than 2^32 seconds"},
		{"over 2^32 seconds with AllowShort", limit + time.Second, true, "may not specify a duration larger than 2^32 seconds"},
		{"fraction of a second", 10*time.Minute + time.Millisecond, false, "must be whole seconds"},
		{"one second with AllowShort", time.Second, true, ""},
		{"fraction of a second with AllowShort", 1500 * time.Millisecond, true, "must be whole seconds"},
		{"negative with AllowShort", -time.Second, true, "must be at least one second"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			iss := newIssuer(t)
			iss.AllowShort = tt.short
			token, err := iss.Token(tokenfiletest.Request{Lifetime: tt.lifetime})
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
				assert.Empty(t, token)
				return
			}
			require.NoError(t, err)
			_, claims := decode(t, token)
			assert.Equal(t, tt.lifetime.Seconds(), claims["exp"].(float64)-claims["iat"].(float64))
		})
	}
}

func TestOnlyInjectedTokensAreExtendedToAYear(t *testing.T) {
	const api = tokenfiletest.DefaultIssuer
	tests := []struct {
		name     string
		request  tokenfiletest.Request
		extended bool
	}{
		{"as admission asks for it", tokenfiletest.Request{Pod: "web-0", Lifetime: 3607 * time.Second}, true},
		{"the API server's audience by name", tokenfiletest.Request{Pod: "web-0", Lifetime: 3607 * time.Second, Audiences: []string{api}}, true},
		{"another audience", tokenfiletest.Request{Pod: "web-0", Lifetime: 3607 * time.Second, Audiences: []string{"openbao"}}, false},
		{"another audience beside the API server's", tokenfiletest.Request{Pod: "web-0", Lifetime: 3607 * time.Second, Audiences: []string{api, "openbao"}}, false},
		{"no pod", tokenfiletest.Request{Lifetime: 3607 * time.Second}, false},
		{"a node but no pod", tokenfiletest.Request{Node: "node-1", Lifetime: 3607 * time.Second}, false},
		{"3606 s", tokenfiletest.Request{Pod: "web-0", Lifetime: 3606 * time.Second}, false},
		{"3608 s", tokenfiletest.Request{Pod: "web-0", Lifetime: 3608 * time.Second}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			token, err := newIssuer(t).Token(tt.request)
			require.NoError(t, err)
			_, claims := decode(t, token)
			iat := claims["iat"].(float64)
			kubernetes := claims["kubernetes.io"].(map[string]any)
			if tt.extended {
				assert.Equal(t, iat+31536000, claims["exp"])
				assert.Equal(t, iat+3607, kubernetes["warnafter"])
			} else {
				assert.Equal(t, iat+tt.request.Lifetime.Seconds(), claims["exp"])
				assert.NotContains(t, kubernetes, "warnafter")
			}
		})
	}
}

func TestLegacyToken(t *testing.T) {
	iss := newIssuer(t)
	token, err := iss.LegacyToken("shop", "web", "web-token-x7x2p")
	require.NoError(t, err)
	_, claims := decode(t, token)
	assert.Regexp(t, uuidForm, claims["kubernetes.io/serviceaccount/service-account.uid"])
	delete(claims, "kubernetes.io/serviceaccount/service-account.uid")
	assert.Equal(t, map[string]any{
		"iss":                                    "kubernetes/serviceaccount",
		"sub":                                    "system:serviceaccount:shop:web",
		"kubernetes.io/serviceaccount/namespace": "shop",
		"kubernetes.io/serviceaccount/secret.name":          "web-token-x7x2p",
		"kubernetes.io/serviceaccount/service-account.name": "web",
	}, claims)

	token, err = iss.LegacyToken("", "", "")
	require.NoError(t, err)
	_, claims = decode(t, token)
	assert.Equal(t, "system:serviceaccount:default:default", claims["sub"])
	assert.Equal(t, "default-token", claims["kubernetes.io/serviceaccount/secret.name"])
}

func TestSignAddsNothing(t *testing.T) {
	iss := newIssuer(t)
	token, err := iss.Sign(map[string]any{"exp": "tomorrow", "EXP": 1})
	require.NoError(t, err)
	_, claims := decode(t, token)
	assert.Equal(t, map[string]any{"exp": "tomorrow", "EXP": 1.0}, claims)

	_, err = iss.Sign(map[string]any{"exp": make(chan int)})
	assert.Error(t, err, "no JSON")
}

func TestNewIssuer(t *testing.T) {
	for _, url := range []string{"", "https://oidc.example.com/id/1", "http://127.0.0.1:8080"} {
		iss, err := tokenfiletest.NewIssuer(url)
		require.NoError(t, err)
		token, err := iss.Token(tokenfiletest.Request{})
		require.NoError(t, err)
		header, claims := decode(t, token)
		assert.Equal(t, "RS256", header["alg"])
		if url == "" {
			url = tokenfiletest.DefaultIssuer
		}
		assert.Equal(t, url, claims["iss"])
		assert.Equal(t, []any{url}, claims["aud"])
	}
}

func TestNewIssuerRefusesWhatIsNoIssuerURL(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"no scheme", "kubernetes/serviceaccount", "must be an https or http URL"},
		{"another scheme", "ldap://example.com", "must be an https or http URL"},
		{"no host", "https:///path", "has no host"},
		{"query", "https://example.com?a=b", "neither query nor fragment"},
		{"fragment", "https://example.com#a", "neither query nor fragment"},
		{"no URL", "https://exa mple.com", "invalid character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tokenfiletest.NewIssuer(tt.url)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestKeyRotation(t *testing.T) {
	iss := newIssuer(t)
	sign := func() string {
		token, err := iss.Token(tokenfiletest.Request{Audiences: []string{"openbao"}})
		require.NoError(t, err)
		return token
	}
	verify := func(token string) error {
		_, err := iss.Verify(token, "openbao")
		return err
	}
	before := sign()
	require.NoError(t, iss.RotateKey(tokenfiletest.RS256))
	after := sign()

	header, _ := decode(t, after)
	assert.Equal(t, "RS256", header["alg"])
	assert.NoError(t, verify(before), "the old key is still published")
	assert.NoError(t, verify(after))

	iss.DropOldKeys()
	assert.ErrorIs(t, verify(before), jwt.ErrTokenUnverifiable)
	assert.NoError(t, verify(after))

	iss.DropOldKeys()
	assert.NoError(t, verify(after), "the key that signs is never dropped")
}

func TestIssuerWithoutKey(t *testing.T) {
	iss := &tokenfiletest.Issuer{}
	iss.DropOldKeys()
	_, err := iss.Token(tokenfiletest.Request{})
	assert.ErrorContains(t, err, "no key")
	_, err = iss.LegacyToken("", "", "")
	assert.ErrorContains(t, err, "no key")
	_, err = iss.Sign(nil)
	assert.ErrorContains(t, err, "no key")
	assert.ErrorContains(t, iss.RotateKey("HS256"), `unknown algorithm "HS256"`)
	_, err = iss.Sign(nil)
	assert.ErrorContains(t, err, "no key", "a failed rotation leaves none behind")
}
