package tokenfiletest

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"slices"
	"strings"
)

// Where the API server, and an Issuer as an http.Handler, publish their
// OpenID Connect discovery document and their keys.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	JWKSPath      = "/openid/v1/jwks"
)

var _ http.Handler = (*Issuer)(nil)

// discovery is the discovery document, its fields in the API server's order.
type discovery struct {
	Issuer        string      `json:"issuer"`
	JWKSURI       string      `json:"jwks_uri"`
	ResponseTypes []string    `json:"response_types_supported"`
	SubjectTypes  []string    `json:"subject_types_supported"`
	Algorithms    []Algorithm `json:"id_token_signing_alg_values_supported"`
}

// jwk is one public key of RFC 7517, its fields in the API server's order.
type jwk struct {
	Use       string    `json:"use"`
	Type      string    `json:"kty"`
	ID        string    `json:"kid"`
	Curve     string    `json:"crv,omitempty"`
	Algorithm Algorithm `json:"alg"`
	X         string    `json:"x,omitempty"`
	Y         string    `json:"y,omitempty"`
	N         string    `json:"n,omitempty"`
	E         string    `json:"e,omitempty"`
}

type jwks struct {
	Keys []jwk `json:"keys"`
}

// ServeHTTP answers GET requests for DiscoveryPath and JWKSPath with what the
// API server answers there: application/json and application/jwk-set+json,
// both cacheable for an hour. Like the API server it insists on the Accept
// header: a client that accepts only application/json gets 406 for the keys.
//
// A relying party that runs discovery needs an Issuer whose URL is the
// server's, as the example shows. Where that URL has a path, serve the Issuer
// under http.StripPrefix and set JWKSURI.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case DiscoveryPath:
		serve(w, r, "application/json", i.discovery(r))
	case JWKSPath:
		serve(w, r, "application/jwk-set+json", i.jwks())
	default:
		http.NotFound(w, r)
	}
}

func serve(w http.ResponseWriter, r *http.Request, contentType string, document any) {
	switch {
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "405: Method Not Allowed", http.StatusMethodNotAllowed)
	case !accepts(r.Header.Get("Accept"), contentType):
		http.Error(w, "406: Not Acceptable", http.StatusNotAcceptable)
	default:
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "public, max-age=3600")
		body, _ := json.Marshal(document) // strings only: cannot fail
		w.Write(body)
	}
}

// accepts reads an Accept header as the API server's router does, which knows
// */* but no other wild card, and no quality of zero.
func accepts(accept, contentType string) bool {
	if accept == "" {
		return true
	}
	for option := range strings.SplitSeq(accept, ",") {
		option, _, _ = strings.Cut(option, ";")
		option = strings.TrimSpace(option)
		if option == "*/*" || option == contentType {
			return true
		}
	}
	return false
}

func (i *Issuer) discovery(r *http.Request) discovery {
	d := discovery{
		Issuer:        i.url(),
		JWKSURI:       or(i.JWKSURI, origin(r)+JWKSPath),
		ResponseTypes: []string{"id_token"},
		SubjectTypes:  []string{"public"},
		Algorithms:    []Algorithm{},
	}
	for _, k := range i.published() {
		d.Algorithms = append(d.Algorithms, k.alg)
	}
	slices.Sort(d.Algorithms)
	d.Algorithms = slices.Compact(d.Algorithms)
	return d
}

func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (i *Issuer) jwks() jwks {
	set := jwks{Keys: []jwk{}}
	for _, k := range i.published() {
		set.Keys = append(set.Keys, k.jwk())
	}
	return set
}

func (k *key) jwk() jwk {
	j := jwk{Use: "sig", ID: k.id, Algorithm: k.alg}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		j.Type = "RSA"
		j.N = base64url(public.N.Bytes())
		j.E = base64url(big.NewInt(int64(public.E)).Bytes())
	case *ecdsa.PublicKey:
		point, _ := public.Bytes() // 4, x and y; cannot fail on a key just made
		j.Type, j.Curve = "EC", "P-256"
		j.X = base64url(point[1:33])
		j.Y = base64url(point[33:])
	}
	return j
}

func base64url(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
