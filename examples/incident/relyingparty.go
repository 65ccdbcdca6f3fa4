package main

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"

	"github.com/golang-jwt/jwt/v5"
)

const (
	audience  = "openbao" // the relying party's name in tokens
	loginPath = "/v1/auth/jwt/login"
)

// A relyingParty lets clients log in with a token of one issuer, like a JWT
// mount of OpenBao or Vault. It knows nothing but the issuer's URL and learns
// its keys from there.
type relyingParty struct {
	issuer string
	http   *http.Client

	mu   sync.Mutex
	keys map[string]*rsa.PublicKey // by kid
}

// ServeHTTP answers 200, or 403 with the reason, or 400 to what is no login.
func (p *relyingParty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var login struct {
		JWT string `json:"jwt"`
	}
	body := http.MaxBytesReader(w, r.Body, 64<<10)
	if r.URL.Path != loginPath || json.NewDecoder(body).Decode(&login) != nil || login.JWT == "" {
		refuse(w, http.StatusBadRequest, errors.New("not a login"))
		return
	}
	if err := p.verify(r.Context(), login.JWT); err != nil {
		refuse(w, http.StatusForbidden, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// refuse writes an error in Vault's form.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string][]string{"errors": {err.Error()}})
}

// verify allows no leeway, so that what is seen is the token's own expiry.
func (p *relyingParty) verify(ctx context.Context, token string) error {
	key := func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		return p.key(ctx, kid)
	}
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(token, &claims, key,
		jwt.WithValidMethods([]string{"RS256"}),
		jwt.WithIssuer(p.issuer),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
	)
	return refusal(err, claims.Audience)
}

// refusal words golang-jwt's error for people. The error itself may quote the
// token, so it goes no further.
func refusal(err error, found []string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrTokenInvalidAudience):
		return fmt.Errorf("audience is %s, want %s", strings.Join(found, ", "), audience)
	case errors.Is(err, jwt.ErrTokenExpired):
		return errors.New("token is expired")
	case errors.Is(err, jwt.ErrTokenUnverifiable):
		return errors.New("no key to verify the token with")
	}
	return errors.New("token is not valid")
}

// key returns the issuer's key of that name, and asks the issuer for its keys
// if it is a new one.
func (p *relyingParty) key(ctx context.Context, kid string) (*rsa.PublicKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key, known := p.keys[kid]; known {
		return key, nil
	}
	keys, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	p.keys = keys
	if key, known := keys[kid]; known {
		return key, nil
	}
	return nil, errors.New("the issuer has no such key")
}

// discover follows the discovery document to the issuer's keys.
func (p *relyingParty) discover(ctx context.Context) (map[string]*rsa.PublicKey, error) {
	var document struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := p.get(ctx, p.issuer+"/.well-known/openid-configuration", &document); err != nil {
		return nil, err
	}
	if document.Issuer != p.issuer {
		return nil, errors.New("discovery names another issuer")
	}
	var set struct{ Keys []jwk }
	if err := p.get(ctx, document.JWKS, &set); err != nil {
		return nil, err
	}
	keys := map[string]*rsa.PublicKey{}
	for _, k := range set.Keys {
		keys[k.ID] = k.public()
	}
	return keys, nil
}

func (p *relyingParty) get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := p.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// jwk is a public RSA key as RFC 7517 writes it.
type jwk struct {
	ID string `json:"kid"`
	N  string `json:"n"`
	E  string `json:"e"`
}

func (k jwk) public() *rsa.PublicKey {
	return &rsa.PublicKey{N: number(k.N), E: int(number(k.E).Int64())}
}

// number decodes what is not base64url to a number that no signature fits.
func number(s string) *big.Int {
	b, _ := base64.RawURLEncoding.DecodeString(s)
	return new(big.Int).SetBytes(b)
}
