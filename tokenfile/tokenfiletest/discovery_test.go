package tokenfiletest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func TestRelyingPartyVerifiesThroughDiscovery(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	url := "http://" + srv.Listener.Addr().String()
	iss, err := tokenfiletest.NewIssuer(url)
	require.NoError(t, err)
	srv.Config.Handler = iss
	srv.Start()
	defer srv.Close()

	rs256, err := iss.Token(tokenfiletest.Request{Audiences: []string{"openbao"}})
	require.NoError(t, err)
	require.NoError(t, iss.RotateKey(tokenfiletest.ES256))
	require.NoError(t, iss.RotateKey(tokenfiletest.ES256))
	es256, err := iss.Token(tokenfiletest.Request{Audiences: []string{"openbao"}})
	require.NoError(t, err)

	var document map[string]any
	getJSON(t, url+"/.well-known/openid-configuration", "application/json", &document)
	assert.Equal(t, map[string]any{
		"issuer":                                url,
		"jwks_uri":                              url + "/openid/v1/jwks",
		"response_types_supported":              []any{"id_token"},
		"subject_types_supported":               []any{"public"},
		"id_token_signing_alg_values_supported": []any{"ES256", "RS256"},
	}, document)

	var set struct{ Keys []map[string]any }
	getJSON(t, document["jwks_uri"].(string), "application/jwk-set+json", &set)
	require.Len(t, set.Keys, 3)
	keys := map[any]any{}
	for _, k := range set.Keys {
		public := publicKey(t, k)
		assert.Equal(t, keyID(t, public), k["kid"], "as the API server makes it")
		keys[k["kid"]] = public
	}
	find := func(token *jwt.Token) (any, error) { return keys[token.Header["kid"]], nil }
	for _, token := range []string{rs256, es256} {
		parsed, err := jwt.Parse(token, find, jwt.WithIssuer(url), jwt.WithAudience("openbao"))
		require.NoError(t, err)
		assert.True(t, parsed.Valid)
	}

	iss.DropOldKeys()
	getJSON(t, url+"/openid/v1/jwks", "application/jwk-set+json", &set)
	assert.Len(t, set.Keys, 1)
	getJSON(t, url+"/.well-known/openid-configuration", "application/json", &document)
	assert.Equal(t, []any{"ES256"}, document["id_token_signing_alg_values_supported"])
}

func TestJWKSURI(t *testing.T) {
	iss := newIssuer(t)
	jwksURI := func(target string) string {
		rec := httptest.NewRecorder()
		iss.ServeHTTP(rec, httptest.NewRequest("GET", target, nil))
		var document struct {
			JWKSURI string `json:"jwks_uri"`
		}
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &document))
		return document.JWKSURI
	}
	assert.Equal(t, "http://h:1/openid/v1/jwks", jwksURI("http://h:1"+tokenfiletest.DiscoveryPath))
	assert.Equal(t, "https://h/openid/v1/jwks", jwksURI("https://h"+tokenfiletest.DiscoveryPath))
	iss.JWKSURI = "https://keys.example.com/jwks"
	assert.Equal(t, "https://keys.example.com/jwks", jwksURI("https://h"+tokenfiletest.DiscoveryPath))
}

func TestDiscoveryRefusesAsTheAPIServerDoes(t *testing.T) {
	tests := []struct {
		name, method, path, accept string
		want                       int
	}{
		{"any type", "GET", tokenfiletest.JWKSPath, "*/*", 200},
		{"no Accept at all", "GET", tokenfiletest.JWKSPath, "", 200},
		{"the very type", "GET", tokenfiletest.JWKSPath, "application/jwk-set+json", 200},
		{"the type among others, weighed", "GET", tokenfiletest.JWKSPath, "text/html, application/jwk-set+json;q=0.5", 200},
		{"plain JSON for keys", "GET", tokenfiletest.JWKSPath, "application/json", 406},
		{"half a wild card", "GET", tokenfiletest.JWKSPath, "application/*", 406},
		{"plain JSON for the document", "GET", tokenfiletest.DiscoveryPath, "application/json", 200},
		{"keys for the document", "GET", tokenfiletest.DiscoveryPath, "application/jwk-set+json", 406},
		{"POST", "POST", tokenfiletest.JWKSPath, "", 405},
		{"HEAD", "HEAD", tokenfiletest.DiscoveryPath, "", 405},
		{"another path", "GET", "/openid/v1/jwks.json", "", 404},
	}
	iss := newIssuer(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(tt.method, tt.path, nil)
			if tt.accept != "" {
				req.Header.Set("Accept", tt.accept)
			}
			rec := httptest.NewRecorder()
			iss.ServeHTTP(rec, req)
			assert.Equal(t, tt.want, rec.Code)
			if tt.want == 405 {
				assert.Equal(t, "GET", rec.Header().Get("Allow"))
			}
		})
	}
}

func getJSON(t *testing.T, url, contentType string, into any) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 200, resp.StatusCode)
	assert.Equal(t, contentType, resp.Header.Get("Content-Type"))
	assert.Equal(t, "public, max-age=3600", resp.Header.Get("Cache-Control"))
	require.NoError(t, json.Unmarshal(body, into))
}

// publicKey reads a JSON Web Key by hand, and insists on its every field.
func publicKey(t *testing.T, k map[string]any) any {
	t.Helper()
	field := func(name string, size int) []byte {
		data, err := base64.RawURLEncoding.DecodeString(k[name].(string))
		require.NoError(t, err)
		require.Len(t, data, size)
		return data
	}
	require.Equal(t, "sig", k["use"])
	switch k["kty"] {
	case "RSA":
		require.Len(t, k, 6)
		require.Equal(t, "RS256", k["alg"])
		require.Equal(t, []byte{1, 0, 1}, field("e", 3))
		return &rsa.PublicKey{N: new(big.Int).SetBytes(field("n", 256)), E: 65537}
	case "EC":
		require.Len(t, k, 7)
		require.Equal(t, "ES256", k["alg"])
		require.Equal(t, "P-256", k["crv"])
		point := append([]byte{4}, append(field("x", 32), field("y", 32)...)...)
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		require.NoError(t, err)
		return public
	}
	require.Fail(t, "unknown kty", k["kty"])
	return nil
}

func keyID(t *testing.T, public any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	require.NoError(t, err)
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
