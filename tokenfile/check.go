package tokenfile

import (
	"slices"
	"time"
)

// skewAllowance is how far nbf and iat may lie ahead: the token reaches the
// file within seconds of its issue, on a node whose clock is not the API
// server's.
const skewAllowance = 10 * time.Second

// never ends the window of a token without exp.
var never = time.Unix(maxSeconds, 0)

// checkClaims reports the first claim that is not as the Source's fields want
// it. What it accepts stays accepted: it does not look at the clock.
func (s *Source) checkClaims(t *Token) error {
	switch {
	case t.expiry.IsZero() && !s.AllowNoExpiry:
		return &noExpiryError{audience: s.Audience}
	case s.Audience != AnyAudience && !slices.Contains(t.audience, s.Audience):
		return &AudienceError{Want: s.Audience, Got: t.Audience(), isDefault: t.issuer != "" && slices.Contains(t.audience, t.issuer)}
	case s.Issuer != "" && t.issuer != s.Issuer:
		return &ClaimError{Claim: "iss", Want: s.Issuer, Got: t.issuer}
	case s.Subject != "" && t.subject != s.Subject:
		return &ClaimError{Claim: "sub", Want: s.Subject, Got: t.subject}
	}
	return s.checkLifetime(t)
}

// checkLifetime takes the time that is left for the lifetime of a token that
// does not say when it was issued.
func (s *Source) checkLifetime(t *Token) error {
	if s.MaxLifetime == 0 || t.expiry.IsZero() {
		return nil
	}
	start := t.start()
	if start.IsZero() {
		start = time.Now()
	}
	if lifetime := t.expiry.Sub(start); lifetime > s.MaxLifetime {
		return &LifetimeError{Lifetime: lifetime, Max: s.MaxLifetime}
	}
	return nil
}

// window returns from when to before when a token may be handed out.
func (s *Source) window(t *Token) (from, until time.Time) {
	if begin := t.begin(); !begin.IsZero() {
		from = begin.Add(-skewAllowance)
	}
	if t.expiry.IsZero() {
		return from, never
	}
	until = t.expiry
	if s.MinTTL > 0 {
		until = until.Add(1 - s.MinTTL) // exactly MinTTL left is enough
	}
	return from, until
}

// begin is when a relying party starts to accept the token.
func (t *Token) begin() time.Time {
	if t.issuedAt.After(t.notBefore) {
		return t.issuedAt
	}
	return t.notBefore
}

// checkClock reports whether now lies outside of p's window. modified is the
// file's time, which a rewrite of the same bytes moves on.
func (s *Source) checkClock(p *parsed, modified, now time.Time) error {
	switch {
	case p.serves(now):
		return nil
	case now.Before(p.from):
		return &NotYetValidError{NotBefore: p.token.begin(), Now: now}
	}
	return &ExpiredError{
		Expiry: p.token.expiry, Now: now, Modified: modified,
		MinTTL: s.MinTTL, frozen: s.stats.frozen.Load(), due: p.token.rotationDue(),
	}
}
