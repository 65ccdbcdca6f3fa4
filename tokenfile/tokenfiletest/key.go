package tokenfiletest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

// Algorithm names a way to sign tokens, in the words of RFC 7518.
type Algorithm string

// The algorithms that an Issuer signs with.
const (
	RS256 Algorithm = "RS256" // RSA of 2048 bits, what most clusters use
	ES256 Algorithm = "ES256" // ECDSA on P-256: smaller tokens, and keys made in no time
)

// key is one signing key of an Issuer. Its private half lives in the closure
// sign and in no field, so that no format verb can print it.
type key struct {
	id     string // base64url of the SHA-256 of the PKIX public key
	alg    Algorithm
	public crypto.PublicKey
	sign   func(jwt.MapClaims) (string, error)
}

func newKey(alg Algorithm) (*key, error) {
	private, err := generate(alg)
	if err != nil {
		return nil, err
	}
	return wrap(alg, private)
}

// wrap puts a private key out of sight.
func wrap(alg Algorithm, private crypto.Signer) (*key, error) {
	id, err := keyID(private.Public())
	if err != nil {
		return nil, err
	}
	return &key{id: id, alg: alg, public: private.Public(), sign: signer(alg, id, private)}, nil
}

func generate(alg Algorithm) (crypto.Signer, error) {
	switch alg {
	case RS256:
		return rsa.GenerateKey(rand.Reader, 2048)
	case ES256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return nil, fmt.Errorf("tokenfiletest: unknown algorithm %q: use RS256 or ES256", string(alg))
}

// keyID derives the kid as the API server does.
func keyID(public crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

func signer(alg Algorithm, id string, private crypto.Signer) func(jwt.MapClaims) (string, error) {
	method := jwt.GetSigningMethod(string(alg))
	return func(claims jwt.MapClaims) (string, error) {
		t := jwt.NewWithClaims(method, claims)
		t.Header = map[string]any{"alg": string(alg), "kid": id} // Kubernetes writes no typ
		return t.SignedString(private)
	}
}
