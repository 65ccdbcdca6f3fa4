package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// ours are the claims of a token that the relying party accepts.
func ours(change func(map[string]any)) map[string]any {
	claims := map[string]any{"iss": "http://issuer.test", "aud": []string{audience}, "exp": time.Now().Add(time.Hour).Unix()}
	change(claims)
	return claims
}

func TestRelyingPartyLooksAtTheClaims(t *testing.T) {
	s := newTestStage(t)
	for name, test := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"good":            {func(map[string]any) {}, ""},
		"expired":         {func(c map[string]any) { c["exp"] = time.Now().Add(-time.Second).Unix() }, "token is expired"},
		"for another":     {func(c map[string]any) { c["aud"] = []string{"a", "b"} }, "audience is a, b, want openbao"},
		"for nobody":      {func(c map[string]any) { delete(c, "aud") }, "token is not valid"},
		"without expiry":  {func(c map[string]any) { delete(c, "exp") }, "token is not valid"},
		"not yet valid":   {func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() }, "token is not valid"},
		"of another host": {func(c map[string]any) { c["iss"] = "http://other.test" }, "token is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := s.issuer.Sign(ours(test.change))
			require.NoError(t, err)
			err = s.door.enter(t.Context(), token)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, test.want)
		})
	}
}

func TestRelyingPartyLooksAtTheSignature(t *testing.T) {
	s := newTestStage(t)
	stranger, err := tokenfiletest.NewIssuer("http://issuer.test")
	require.NoError(t, err)
	claims := ours(func(map[string]any) {})
	foreign, err := stranger.Sign(claims)
	require.NoError(t, err)
	good, err := s.issuer.Sign(claims)
	require.NoError(t, err)
	other, err := s.issuer.Sign(ours(func(c map[string]any) { c["sub"] = "root" }))
	require.NoError(t, err)

	assert.EqualError(t, s.door.enter(t.Context(), foreign), "no key to verify the token with")
	mixed := other[:strings.LastIndex(other, ".")] + good[strings.LastIndex(good, "."):]
	assert.EqualError(t, s.door.enter(t.Context(), mixed), "token is not valid")
	const none = "eyJhbGciOiJub25lIn0.e30."
	assert.EqualError(t, s.door.enter(t.Context(), none), "token is not valid")
	assert.NoError(t, s.door.enter(t.Context(), good))
}

func TestRelyingPartyLearnsNewKeys(t *testing.T) {
	s := newTestStage(t)
	for range 2 {
		token, err := s.issuer.Sign(ours(func(map[string]any) {}))
		require.NoError(t, err)
		assert.NoError(t, s.door.enter(t.Context(), token))
		require.NoError(t, s.issuer.RotateKey(tokenfiletest.RS256))
	}
}

func TestRelyingPartyWithoutItsIssuer(t *testing.T) {
	s := newTestStage(t)
	token, err := s.issuer.Sign(ours(func(map[string]any) {}))
	require.NoError(t, err)
	s.party.http = &http.Client{Transport: inProcess{"issuer.test": http.NotFoundHandler()}}
	assert.EqualError(t, s.door.enter(t.Context(), token), "no key to verify the token with")
}

func TestWhatIsNoLogin(t *testing.T) {
	s := newTestStage(t)
	for name, test := range map[string]struct{ path, body string }{
		"another path": {"/v1/secret", `{"jwt":"a"}`},
		"no JSON":      {loginPath, "jwt"},
		"no token":     {loginPath, "{}"},
		"too long":     {loginPath, `{"jwt":"` + strings.Repeat("a", 64<<10) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			s.party.ServeHTTP(w, httptest.NewRequest(http.MethodPost, test.path, strings.NewReader(test.body)))
			assert.Equal(t, http.StatusBadRequest, w.Code)
			assert.JSONEq(t, `{"errors":["not a login"]}`, w.Body.String())
		})
	}
}
