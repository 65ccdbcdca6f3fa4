package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// claims are what a token says, whether it can be used or not.
type claims struct {
	issuer, subject string
	audience        []string
	issued, expiry  time.Time
	warnAfter       time.Time // see tokenfile.Kubernetes
	secret          string    // name of the Secret of a legacy token
}

// readClaims reads a token file. The error is a *tokenfile.Error, beside which
// the claims of an expired token and of one that is not yet valid are known.
func readClaims(file string) (claims, error) {
	source := &tokenfile.Source{Path: file, Audience: tokenfile.AnyAudience, AllowNoExpiry: true}
	token, err := source.Reload(context.Background()) // a local file: nothing interrupts it
	if err != nil {
		return claimsOfUnfit(file, err), err
	}
	k := token.Kubernetes()
	return claims{
		issuer: token.Issuer(), subject: token.Subject(), audience: token.Audience(),
		issued: token.IssuedAt(), expiry: token.Expiry(), warnAfter: k.WarnAfter, secret: k.Secret,
	}, nil
}

// claimsOfUnfit asks for what a token cannot have: a Source hands out no token
// that has expired, but refuses its claims first, and its errors quote them.
func claimsOfUnfit(file string, unfit error) (c claims) {
	var expired *tokenfile.ExpiredError
	var early *tokenfile.NotYetValidError
	if !errors.As(unfit, &expired) && !errors.As(unfit, &early) {
		return c
	}
	refusal := func(change func(*tokenfile.Source)) error {
		source := &tokenfile.Source{Path: file, Audience: tokenfile.AnyAudience}
		change(source)
		_, err := source.Reload(context.Background())
		return err
	}
	var audience *tokenfile.AudienceError
	if errors.As(refusal(func(s *tokenfile.Source) { s.Audience = "nobody's" }), &audience) {
		c.audience = audience.Got
	}
	var claim *tokenfile.ClaimError
	if errors.As(refusal(func(s *tokenfile.Source) { s.Issuer = "nobody" }), &claim) {
		c.issuer = claim.Got
	}
	if errors.As(refusal(func(s *tokenfile.Source) { s.Subject = "nobody" }), &claim) {
		c.subject = claim.Got
	}
	var lifetime *tokenfile.LifetimeError
	known := errors.As(refusal(func(s *tokenfile.Source) { s.MaxLifetime = 1 }), &lifetime)
	switch {
	case expired != nil:
		c.expiry = expired.Expiry
		if known {
			c.issued = c.expiry.Add(-lifetime.Lifetime)
		}
	case known:
		c.issued = early.NotBefore
		c.expiry = c.issued.Add(lifetime.Lifetime)
	}
	return c
}

const day = 24 * time.Hour

// lifetime is exp less iat, zero if it is not known.
func (c claims) lifetime() time.Duration {
	if c.issued.IsZero() || c.expiry.IsZero() {
		return 0
	}
	return c.expiry.Sub(c.issued)
}

// asked is the lifetime that the kubelet asked for and rotates by.
func (c claims) asked() time.Duration {
	if !c.isExtended() {
		return c.lifetime()
	}
	return c.warnAfter.Sub(c.issued)
}

// isExtended says that the API server made the lifetime longer than what was
// asked for.
func (c claims) isExtended() bool { return !c.issued.IsZero() && c.warnAfter.After(c.issued) }

// rotationDue is RotationDue.
func (c claims) rotationDue() time.Time {
	asked := c.asked()
	if asked <= 0 {
		return time.Time{}
	}
	return c.issued.Add(min(asked/5*4, day))
}

// isForAPIServer says whether the token is the API server's own. Its audience
// is the issuer, or, where the platform has an issuer of its own, the name that
// the API server has in every cluster, or what the default token has here.
func (c claims) isForAPIServer(defaults []string) bool {
	return slices.ContainsFunc(c.audience, func(audience string) bool {
		return audience == c.issuer && audience != "" ||
			strings.HasPrefix(strings.TrimPrefix(audience, "https://"), "kubernetes.default.svc") ||
			slices.Contains(defaults, audience)
	})
}
