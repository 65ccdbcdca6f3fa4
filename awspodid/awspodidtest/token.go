package awspodidtest

import (
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// claims are those of a token's claims that matter here. The signature is
// nobody's business yet.
type claims struct{ jwt.RegisteredClaims }

// parse reads a token as the real agent does, with the same library, so that
// the errors are the same too.
func parse(token string) (*claims, error) {
	c := new(claims)
	_, _, err := jwt.NewParser().ParseUnverified(token, c)
	return c, err
}

// present parses the token of a request and notes what may be known of it.
func (c *call) present(token string) {
	c.token, c.note.HadToken = token, token != ""
	c.claims, c.err = parse(token)
	if c.err != nil {
		return
	}
	c.note.Subject, c.note.TokenID = redact(c.claims.Subject), redact(c.claims.ID)
	if c.claims.ExpiresAt != nil {
		c.note.Expiry = c.claims.ExpiresAt.Time
	}
}

// serviceAccount returns whose token it is.
func (c *claims) serviceAccount() account {
	parts := strings.Split(c.Subject, ":")
	if len(parts) != 4 || parts[0] != "system" || parts[1] != "serviceaccount" {
		return account{}
	}
	return account{parts[2], parts[3]}
}

// account is a service account.
type account struct{ namespace, name string }
