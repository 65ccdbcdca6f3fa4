package vaultauthtest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// A soak of a fleet sends some hundred thousand requests, so what one costs
// here is what the soak costs.
func BenchmarkRequests(b *testing.B) {
	issuer := &tokenfiletest.Issuer{}
	require.NoError(b, issuer.RotateKey(tokenfiletest.ES256))
	server := vaultauthtest.New(issuer)
	server.Enable("jwt", vaultauthtest.Mount{})
	server.SetRole("jwt", "hour", hour())
	jwt, err := issuer.Sign(claims(object{"exp": ahead(1e15)}))
	require.NoError(b, err)
	body, err := json.Marshal(object{"role": "hour", "jwt": jwt})
	require.NoError(b, err)
	send := func(b *testing.B, token, method, path, body string) string {
		request, err := http.NewRequest(method, "http://server.test/v1/"+path, strings.NewReader(body))
		require.NoError(b, err)
		request.Header.Set("X-Vault-Token", token)
		response, err := server.Transport().RoundTrip(request)
		require.NoError(b, err)
		require.Equal(b, 200, response.StatusCode)
		text, err := io.ReadAll(response.Body)
		require.NoError(b, err)
		return string(text)
	}
	b.Run("login", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			send(b, "", http.MethodPut, "auth/jwt/login", string(body))
		}
	})
	b.Run("renewal", func(b *testing.B) {
		var login struct {
			Auth struct {
				Token string `json:"client_token"`
			}
		}
		require.NoError(b, json.Unmarshal([]byte(send(b, "", http.MethodPut, "auth/jwt/login", string(body))), &login))
		b.ReportAllocs()
		for b.Loop() {
			send(b, login.Auth.Token, http.MethodPut, "auth/token/renew-self", "{}")
		}
	})
}
