package awspodidtest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	stsVersion = "2011-06-15"
	operation  = "AssumeRoleWithWebIdentity"

	notJWT    = "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)"
	notSigned = "The web identity token that was passed could not be validated by AWS"
	forbidden = "Not authorized to perform sts:" + operation
	tooLong   = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."

	// Two spaces, as the service writes it.
	noKey = "Couldn't retrieve verification key from your identity provider,  please reference " +
		operation + " documentation for requirements"
)

// answer is the service.
func (s *STS) answer(c *call) (*answer, error) {
	if refusal := checkAction(c.form); refusal != nil {
		return refusal, nil
	}
	wanted, refusal := parameters(c.form)
	if refusal != nil {
		return refusal, nil
	}
	return s.assume(c, wanted), nil
}

// recallAssumption reads the parameters of the query protocol and notes them.
func recallAssumption(c *call) {
	c.form = c.URL.Query()
	if c.Method == http.MethodPost {
		c.form, _ = url.ParseQuery(string(c.body)) // what cannot be parsed is missing
	}
	c.note.RoleARN = redact(c.form.Get("RoleArn"))
	c.note.RoleSessionName = redact(c.form.Get("RoleSessionName"))
	c.note.DurationSeconds = redact(c.form.Get("DurationSeconds"))
	c.present(c.form.Get("WebIdentityToken"))
}

func checkAction(form url.Values) *answer {
	version := form.Get("Version")
	if version == "" {
		version = "NO_VERSION_SPECIFIED"
	}
	switch action := form.Get("Action"); {
	case action == "":
		return stsError(http.StatusBadRequest, "MissingAction", "Missing Action")
	case action != operation || version != stsVersion:
		return stsError(http.StatusBadRequest, "InvalidAction",
			fmt.Sprintf("Could not find operation %s for version %s", redact(action), redact(version)))
	}
	return nil
}

// assume lets a token assume a role, or not.
func (s *STS) assume(c *call, wanted *assumption) *answer {
	if refusal := checkClaims(c); refusal != nil {
		return refusal
	}
	token := c.claims
	audience, refusal := s.registered(token)
	if refusal != nil {
		return refusal
	}
	if refusal := s.verify(c.token, token, audience); refusal != nil {
		return refusal
	}
	secrets := newSecrets()
	expiry, refusal := s.grant(wanted, token, secrets)
	if refusal != nil {
		return refusal
	}
	return assumed(wanted, token, audience, secrets, expiry)
}

// grant asks the role's trust policy, and enters the credentials if that lets
// the token in.
func (s *STS) grant(wanted *assumption, token *claims, fresh secrets) (time.Time, *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	trust, found := s.roles[wanted.role]
	provider := trust.Provider
	if provider == "" {
		provider = issuerURL(s.issuer)
	}
	switch {
	case !found || provider != token.Issuer || !trust.trusts(token):
		return time.Time{}, stsError(http.StatusForbidden, "AccessDenied", forbidden)
	case wanted.duration > trust.maxSession():
		return time.Time{}, invalid(tooLong)
	}
	return s.ledger.enter(fresh, wanted.role, wanted.duration), nil
}

// checkClaims asserts that a token is one, and has what every OpenID Connect
// token has.
func checkClaims(c *call) *answer {
	token := c.claims
	if c.err != nil || strings.ContainsAny(c.token, "\r\n") { // which Go's base64 skips
		return untrusted(notJWT)
	}
	for _, claim := range []struct {
		name    string
		missing bool
	}{
		{"iss", token.Issuer == ""},
		{"sub", token.Subject == ""},
		{"aud", len(token.Audience) == 0},
		{"exp", token.ExpiresAt == nil},
		{"iat", token.IssuedAt == nil},
	} {
		if claim.missing {
			return untrusted("Missing a required claim: " + claim.name)
		}
	}
	return nil
}

// registered asserts that the account knows a token's issuer, and for one of
// the token's audiences, which it returns.
func (s *STS) registered(token *claims) (string, *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clients, found := s.providers[token.Issuer]
	if !found {
		return "", untrusted("No OpenIDConnect provider found in your account for " + redact(token.Issuer))
	}
	for _, audience := range token.Audience {
		if slices.Contains(clients, audience) {
			return audience, nil
		}
	}
	return "", untrusted("Incorrect token audience")
}

// verify checks expiry and signature.
func (s *STS) verify(text string, token *claims, audience string) *answer {
	if now := time.Now(); !now.Before(token.ExpiresAt.Time) {
		return stsError(http.StatusBadRequest, "ExpiredTokenException", fmt.Sprintf(
			"Token expired: current date/time %d must be before the expiration date/time %d",
			now.Unix(), token.ExpiresAt.Unix()))
	}
	_, err := s.issuer.Verify(text, audience)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrTokenUnverifiable):
		return untrusted(noKey)
	}
	return untrusted(notSigned)
}

func invalid(message string) *answer {
	return stsError(http.StatusBadRequest, "ValidationError", message)
}

func untrusted(message string) *answer {
	return stsError(http.StatusBadRequest, "InvalidIdentityToken", message)
}
