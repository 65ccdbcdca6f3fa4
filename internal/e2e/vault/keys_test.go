//go:build linux

package vault

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// publicKeys is what an issuer publishes, as PEM: the form that servers take
// keys in which are not fetched.
func publicKeys(issuer *tokenfiletest.Issuer) (string, error) {
	published := httptest.NewRecorder()
	issuer.ServeHTTP(published, httptest.NewRequest(http.MethodGet, tokenfiletest.JWKSPath, nil))
	var set struct{ Keys []struct{ Kty, N, E string } }
	if err := json.Unmarshal(published.Body.Bytes(), &set); err != nil {
		return "", err
	}
	var all strings.Builder
	for _, key := range set.Keys {
		if key.Kty != "RSA" {
			return "", fmt.Errorf("a key of type %q", key.Kty)
		}
		n, err := base64.RawURLEncoding.DecodeString(key.N)
		if err != nil {
			return "", err
		}
		e, err := base64.RawURLEncoding.DecodeString(key.E)
		if err != nil {
			return "", err
		}
		text, err := publicPEM(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())})
		if err != nil {
			return "", err
		}
		all.WriteString(text)
	}
	return all.String(), nil
}
