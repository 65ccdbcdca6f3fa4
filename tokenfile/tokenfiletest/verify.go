package tokenfiletest

import (
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

// refusals are the reasons for which Verify refuses a token, the ones that
// decide first.
var refusals = []error{
	jwt.ErrTokenMalformed,
	jwt.ErrTokenUnverifiable,
	jwt.ErrTokenSignatureInvalid,
	jwt.ErrTokenInvalidIssuer,
	jwt.ErrTokenInvalidAudience,
	jwt.ErrTokenExpired,
	jwt.ErrTokenNotValidYet,
	jwt.ErrTokenRequiredClaimMissing,
}

// Verify does what a relying party does with a token before it trusts it: it
// checks the signature against the published keys, that iss is the issuer's
// URL, that aud holds audience, that exp is there and lies ahead, and that nbf
// does not. There is no leeway: a token is refused from the instant of exp on.
//
// It returns the claims as encoding/json decodes them. A refusal is one of
// golang-jwt's errors for errors.Is, such as jwt.ErrTokenExpired; its text
// holds no byte of the token.
func (i *Issuer) Verify(token, audience string) (map[string]any, error) {
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(token, claims, i.verificationKey,
		jwt.WithValidMethods([]string{string(RS256), string(ES256)}),
		jwt.WithIssuer(i.url()),
		jwt.WithAudience(audience),
		jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(),
	)
	if err != nil {
		return nil, refusal(err)
	}
	return claims, nil
}

// verificationKey finds the key that the token's header names. A token
// without a kid may be signed with any.
func (i *Issuer) verificationKey(t *jwt.Token) (any, error) {
	var set jwt.VerificationKeySet
	kid, named := t.Header["kid"]
	for _, k := range i.published() {
		if !named || kid == k.id {
			set.Keys = append(set.Keys, k.public)
		}
	}
	if len(set.Keys) == 0 {
		return nil, errors.New("no such key")
	}
	return set, nil
}

// refusal reduces golang-jwt's error, which may quote the token, to the
// reason.
func refusal(err error) error {
	for _, reason := range refusals {
		if errors.Is(err, reason) {
			return fmt.Errorf("tokenfiletest: refused: %w", reason)
		}
	}
	return fmt.Errorf("tokenfiletest: refused: %w", jwt.ErrTokenInvalidClaims)
}
