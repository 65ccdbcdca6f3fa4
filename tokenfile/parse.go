package tokenfile

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
)

// parseToken makes a Token of the file's content. golang-jwt does the
// decoding; what it would let pass and another reader might take differently
// is refused here. No error holds a byte of content.
func parseToken(content string) (*Token, error) {
	raw := strings.TrimSuffix(content, "\n")
	if content != "" && strings.TrimSpace(content) == "" {
		return nil, malformed("the file holds white space only: it is being written, or its writer failed")
	}
	if err := checkBytes(raw); err != nil {
		return nil, err
	}
	var claims strictClaims
	decoded, _, err := parser.ParseUnverified(raw, &claims)
	switch {
	case err != nil:
		return nil, withoutBytes(err)
	case decoded.Method == jwt.SigningMethodNone:
		return nil, malformed("its alg is none: nobody signed it")
	case !isStrict(raw):
		return nil, malformed("its header names a parameter twice or in another case, which two readers take differently")
	case !isWhole(decoded):
		return nil, malformed("its signature is not as long as its alg makes it: a write in progress, or cut short")
	case claims.token == nil: // the JSON value null does not reach UnmarshalJSON
		return nil, errNoObject
	}
	claims.token.raw = func() string { return raw }
	return claims.token, nil
}

var parser = jwt.NewParser(jwt.WithStrictDecoding())

// isStrict reports whether the header leaves no choice of how to read it.
func isStrict(raw string) bool {
	part, _, _ := strings.Cut(raw, ".")
	header, err := parser.DecodeSegment(part)
	return err == nil && utf8.Valid(header) && newObject(header, "alg", "kid", "typ", "crit", "enc").err == nil
}

// isWhole reports whether the signature has a length that its algorithm can
// give it, which tells a write that was torn within it: everything before is in
// order then. Whether it is a good signature is the relying party's to say.
func isWhole(t *jwt.Token) bool {
	n := len(t.Signature)
	switch m := t.Method.(type) {
	case *jwt.SigningMethodECDSA:
		return n == 2*m.KeySize
	case *jwt.SigningMethodEd25519:
		return n == ed25519.SignatureSize
	case *jwt.SigningMethodHMAC:
		return n == m.Hash.Size()
	case *jwt.SigningMethodRSA, *jwt.SigningMethodRSAPSS:
		return n >= 256 && n%64 == 0 // as long as the key: RFC 7518 asks for 2,048 bits, and keys come in steps of 512
	}
	return true
}

// withoutBytes keeps of a decoder's error only what quotes nothing.
func withoutBytes(err error) error {
	var m *malformedError
	switch {
	case errors.As(err, &m):
		return m
	case errors.Is(err, jwt.ErrTokenUnverifiable):
		return malformed("its header names no signature algorithm, or an unknown one")
	}
	return malformed("one of its three parts is not base64url-encoded JSON as a JSON Web Token has it")
}

// checkBytes refuses all but three non-empty parts of base64url.
func checkBytes(raw string) error {
	if raw == "" {
		return malformed("the file is empty: it is being written, or its writer failed")
	}
	if strings.HasPrefix(raw, "\xef\xbb\xbf") || strings.HasPrefix(raw, "\xff\xfe") || strings.HasPrefix(raw, "\xfe\xff") {
		return malformed("the file starts with a byte-order mark: write it as plain ASCII")
	}
	parts, empty := 1, true
	for i := range len(raw) {
		switch c := raw[i]; {
		case isBase64URL(c):
			empty = false
		case c == '.' && !empty:
			parts, empty = parts+1, true
		case c == '.':
			return malformed("one of its parts is empty")
		default:
			return malformed("byte %d is %s, which no token has", i+1, nameByte(c))
		}
	}
	switch {
	case parts == 5:
		return malformed("it has five parts: an encrypted token (JWE), not a signed one")
	case parts == 1:
		return malformed("it has one part, not three: the file holds something else, or a write in progress")
	case parts != 3:
		return malformed("it has %d parts, not three: the file holds something else, or a write in progress", parts)
	case empty:
		return malformed("its signature is missing: alg none, or a write in progress")
	}
	return nil
}

func isBase64URL(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// nameByte describes a byte that does not belong in a token, by its kind
// where its value might be a part of some other secret.
func nameByte(c byte) string {
	switch {
	case c == 0:
		return "NUL"
	case c == '\r':
		return "a carriage return (the file has Windows line endings)"
	case c == '\n':
		return "a line break (only one at the very end is tolerated)"
	case c == ' ', c == '\t', c == '\v', c == '\f':
		return "white space"
	case c < ' ', c == 0x7f:
		return "a control character"
	case c >= utf8.RuneSelf:
		return "not ASCII"
	}
	return "not of the base64url alphabet"
}

// strictClaims is what the parser decodes claims into: its methods satisfy
// the parser and stay empty, and UnmarshalJSON makes the token.
type strictClaims struct {
	jwt.RegisteredClaims
	token *Token
}

// UnmarshalJSON is called with syntactically valid JSON.
func (c *strictClaims) UnmarshalJSON(data []byte) (err error) {
	c.token, err = tokenOf(data)
	return err
}

// tokenShaped finds what may be a token's first two parts.
var tokenShaped = regexp.MustCompile(`ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)

// maxHeader is how much of a part is looked at for a header, in bytes of
// base64url: Kubernetes' have about ninety. A bound, since the text is not ours.
const maxHeader = 1024

// holdsToken reports whether a text that ought to be something else, such as a
// file's name, has a token in it. A name may well be shaped like one, so what
// may be its header is decoded.
func holdsToken(text string) bool {
	if !strings.Contains(text, "ey") || !strings.Contains(text, ".") {
		return false // most names, at no cost
	}
	for _, match := range tokenShaped.FindAllString(text, -1) {
		part, _, _ := strings.Cut(match, ".")
		for i := range part {
			if strings.HasPrefix(part[i:], "ey") && isHeader(part[i:min(len(part), i+maxHeader)]) {
				return true
			}
		}
	}
	return false
}

// isHeader reports whether part begins as the encoded header of a token.
func isHeader(part string) bool {
	decoded, _ := base64.RawURLEncoding.DecodeString(part) // as far as it goes
	return bytes.HasPrefix(decoded, []byte("{")) && bytes.Contains(decoded, []byte(`"alg"`))
}
