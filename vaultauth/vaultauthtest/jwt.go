package vaultauthtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// leeway is what both auth methods allow clocks to differ by.
const leeway = time.Minute

// identifyJWT does what an auth method of type jwt does with a login, in its
// order.
func (s *Server) identifyJWT(a *attempt) (*identity, *answer) {
	m, role := a.method, a.role
	bad := func(format string, args ...any) (*identity, *answer) {
		return nil, refusal(http.StatusBadRequest, fmt.Sprintf(format, args...))
	}
	switch {
	case a.name == "":
		return bad("missing role")
	case role == nil:
		return bad("role %q could not be found", a.name)
	case a.jwt == "":
		return bad("missing token")
	}
	claims, err := s.verify(a.jwt, m.KeysUnreachable)
	if err != nil {
		return bad("error validating token: error verifying token signature: %v", err)
	}
	if err := claims.check(m.BoundIssuer, role.BoundSubject, role.BoundAudiences, true); err != nil {
		return bad("error validating token: %v", err)
	}
	if len(role.BoundAudiences) == 0 && len(claims.audience()) > 0 {
		return bad("audience claim found in JWT but no audiences bound to the role")
	}
	subject := claims.text("sub")
	if claims["sub"] == nil {
		return bad(`claim "sub" not found in token`)
	}
	if err := claims.bound(role.BoundClaims); err != nil {
		return bad("error validating claims: %v", err)
	}
	return &identity{alias: subject, display: subject, metadata: map[string]string{"role": a.name}}, nil
}

// claims are a JWT's, as encoding/json decodes them.
type claims map[string]any

// check asserts what is expected of the registered claims, in the servers'
// order. What is empty is not expected. If strict, one of the times must be
// there.
func (c claims) check(issuer, subject string, audiences []string, strict bool) error {
	if err := c.checkTypes(); err != nil {
		return err
	}
	switch {
	case issuer != "" && c.text("iss") != issuer:
		return errors.New("invalid issuer (iss) claim")
	case subject != "" && c.text("sub") != subject:
		return errors.New("invalid subject (sub) claim")
	case len(audiences) > 0 && !overlap(audiences, c.audience()):
		return errors.New("invalid audience (aud) claim: audience claim does not match any expected audience")
	}
	return c.checkTimes(strict)
}

// checkTypes asserts that the registered claims are of the right type, in the
// words of the servers' decoder.
func (c claims) checkTypes() error {
	for _, name := range []string{"iss", "sub"} {
		if _, ok := c[name].(string); !ok && c[name] != nil {
			return fmt.Errorf("json: cannot unmarshal %s into Go struct field Claims.%s of type string", jsonType(c[name]), name)
		}
	}
	switch c["aud"].(type) {
	case nil, string, []any:
	default:
		return errors.New("go-jose/go-jose/jwt: expected string or array value to unmarshal to Audience")
	}
	for _, name := range []string{"exp", "iat", "nbf"} {
		if _, ok := c[name].(float64); !ok && c[name] != nil {
			return errors.New("go-jose/go-jose/jwt: expected number value to unmarshal NumericDate")
		}
	}
	return nil
}

func jsonType(v any) string {
	switch v.(type) {
	case float64:
		return "number"
	case bool:
		return "bool"
	case []any:
		return "array"
	}
	return "object"
}

// checkTimes asserts that now is within the token's life, with a minute of
// leeway. A token that tells nothing of its life is refused if strict.
func (c claims) checkTimes(strict bool) error {
	issued, expiry, notBefore := c.time("iat"), c.time("exp"), c.time("nbf")
	if issued == 0 && expiry == 0 && notBefore == 0 {
		if strict {
			return errors.New("no issued at (iat), not before (nbf), or expiration time (exp) claims in token")
		}
		return nil
	}
	const life = 150 // seconds, of a token that does not say
	if expiry == 0 {
		expiry = max(issued, notBefore) + life
	}
	if notBefore == 0 {
		notBefore = issued
	}
	if notBefore == 0 {
		notBefore = expiry - life
	}
	now := time.Now()
	switch {
	case now.Add(leeway).Before(time.Unix(notBefore, 0)):
		return errors.New("invalid not before (nbf) claim: token not yet valid")
	case now.Add(-leeway).After(time.Unix(expiry, 0)):
		return errors.New("invalid expiration time (exp) claim: token is expired")
	case now.Add(leeway).Before(time.Unix(issued, 0)):
		return errors.New("invalid issued at (iat) claim: token issued in the future")
	}
	return nil
}

func (c claims) text(name string) string {
	text, _ := c[name].(string)
	return text
}

func (c claims) time(name string) int64 {
	number, _ := c[name].(float64)
	return int64(number)
}

// audience reads both ways to write aud.
func (c claims) audience() []string {
	switch aud := c["aud"].(type) {
	case string:
		if aud != "" {
			return []string{aud}
		}
	case []any:
		var list []string
		for _, a := range aud {
			if text, ok := a.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return nil
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(text string) bool { return slices.Contains(b, text) })
}

// bound asserts that each bound claim has one of its values.
func (c claims) bound(want map[string]any) error {
	for claim, values := range want {
		got := c.get(claim)
		if got == nil {
			return fmt.Errorf("claim %q is missing", claim)
		}
		have, ok := list(got)
		if !ok {
			return fmt.Errorf("received claim is not a string, bool, int or list: %v", got)
		}
		allowed, ok := list(values)
		if !ok {
			return fmt.Errorf("bound claim is not a string, bool, int or list: %v", values)
		}
		if !slices.ContainsFunc(allowed, func(v any) bool { return slices.Contains(have, v) }) {
			return fmt.Errorf("claim %q does not match any associated bound claim values", claim)
		}
	}
	return nil
}

// get returns a claim by its name or by a JSON pointer.
func (c claims) get(name string) any {
	if !strings.HasPrefix(name, "/") {
		return c[name]
	}
	var value any = map[string]any(c)
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for segment := range strings.SplitSeq(name[1:], "/") {
		switch v := value.(type) {
		case map[string]any:
			value = v[unescape.Replace(segment)]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// list makes values comparable: numbers become texts of their own type, as
// the servers compare them.
func list(v any) ([]any, bool) {
	switch v := v.(type) {
	case string, bool:
		return []any{v}, true
	case int:
		return []any{json.Number(strconv.Itoa(v))}, true
	case float64:
		return []any{json.Number(strconv.Itoa(int(v)))}, true
	case []string:
		values := make([]any, len(v))
		for i := range v {
			values[i] = v[i]
		}
		return values, true
	case []any:
		var values []any
		for _, item := range v {
			if single, ok := list(item); ok && len(single) == 1 {
				values = append(values, single[0])
			}
		}
		return values, true
	}
	return nil, false
}
