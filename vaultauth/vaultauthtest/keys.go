package vaultauthtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// parsedJWT is a JWT taken apart and not yet verified.
type parsedJWT struct {
	text      string // without white space
	algorithm string
	claims    claims
	input     string // what is signed
	signature []byte
}

// parseJWT takes a JWT apart. White space in it is skipped, as by the servers.
func parseJWT(text string) (*parsedJWT, error) {
	text = strings.Join(strings.Fields(text), "")
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, errors.New("go-jose/go-jose: compact JWS format must have three parts")
	}
	p := &parsedJWT{text: text, input: text[:len(parts[0])+1+len(parts[1])]}
	var header struct{ Alg string }
	if err := decodePart(parts[0], &header); err != nil {
		return nil, err
	}
	if err := decodePart(parts[1], &p.claims); err != nil {
		return nil, err
	}
	var err error
	p.signature, err = base64.RawURLEncoding.DecodeString(parts[2])
	p.algorithm = header.Alg
	return p, err
}

func decodePart(part string, into any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	if json.Unmarshal(data, into) != nil {
		return errors.New("invalid character in JSON") // the decoder's own text quotes the token
	}
	return nil
}

// signed tells whether the token claims to be signed in a way that a cluster
// uses.
func (p *parsedJWT) signed() bool {
	return len(p.signature) > 0 && (p.algorithm == string(tokenfiletest.RS256) || p.algorithm == string(tokenfiletest.ES256))
}

var errNoKey = errors.New("no known key successfully validated the token signature")

// errFetch is what a server says that cannot reach the issuer.
var errFetch = errors.New(`fetching keys oidc: get keys failed Get "https://kubernetes.default.svc` +
	tokenfiletest.JWKSPath + `": dial tcp 10.96.0.1:443: connect: connection refused`)

// verify checks a JWT's signature against the keys that the issuer publishes
// now, and nothing else.
func (s *Server) verify(text string, unreachable bool) (claims, error) {
	parsed, err := parseJWT(text)
	switch {
	case err != nil:
		return nil, err
	case unreachable:
		return nil, errFetch
	case !parsed.signed():
		return nil, errNoKey
	}
	for _, key := range s.keys.published(s.issuer) {
		if parsed.verifies(key) {
			return parsed.claims, nil
		}
	}
	return nil, errNoKey
}

func (p *parsedJWT) verifies(key crypto.PublicKey) bool {
	sum := sha256.Sum256([]byte(p.input))
	switch key := key.(type) {
	case *rsa.PublicKey:
		return p.algorithm == string(tokenfiletest.RS256) &&
			rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], p.signature) == nil
	case *ecdsa.PublicKey:
		if p.algorithm != string(tokenfiletest.ES256) || len(p.signature) != 64 {
			return false
		}
		r, s := new(big.Int).SetBytes(p.signature[:32]), new(big.Int).SetBytes(p.signature[32:])
		return ecdsa.Verify(key, sum[:], r, s)
	}
	return false
}

// keySet remembers how the published keys were read the last time.
type keySet struct{ last atomic.Pointer[readKeys] }

// readKeys are keys and the document that they were read from.
type readKeys struct {
	document []byte
	keys     []crypto.PublicKey
}

// published asks the issuer for its keys, as the servers do over HTTP. They
// are parsed again only if the document is another one.
func (k *keySet) published(issuer *tokenfiletest.Issuer) []crypto.PublicKey {
	var w recorder
	issuer.ServeHTTP(&w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: tokenfiletest.JWKSPath}})
	last := k.last.Load()
	if last == nil || !bytes.Equal(last.document, w.body) {
		last = &readKeys{w.body, parseKeys(w.body)}
		k.last.Store(last)
	}
	return last.keys
}

// recorder is a ResponseWriter that keeps the body.
type recorder struct {
	header http.Header
	body   []byte
}

func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = make(http.Header)
	}
	return r.header
}

func (r *recorder) Write(p []byte) (int, error) {
	r.body = append(r.body, p...)
	return len(p), nil
}

func (r *recorder) WriteHeader(int) {}

// parseKeys reads a JSON Web Key Set. What it does not know it skips.
func parseKeys(document []byte) []crypto.PublicKey {
	var set struct {
		Keys []struct{ Kty, Crv, X, Y, N, E string }
	}
	json.Unmarshal(document, &set) // no keys if it is none
	var keys []crypto.PublicKey
	for _, k := range set.Keys {
		switch k.Kty {
		case "RSA":
			keys = append(keys, &rsa.PublicKey{N: number(k.N), E: int(number(k.E).Int64())})
		case "EC":
			point := [65]byte{4} // and then x and y
			number(k.X).FillBytes(point[1:33])
			number(k.Y).FillBytes(point[33:])
			if key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point[:]); err == nil {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func number(text string) *big.Int {
	data, _ := base64.RawURLEncoding.DecodeString(text)
	return new(big.Int).SetBytes(data)
}
