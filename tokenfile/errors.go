package tokenfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Error is every failure of a Source: the file's name, and what is wrong with
// it. Its text says what was found and what to change, ends with the address of
// the runbook's section about it, and never holds a byte of a token.
//
// A missing file satisfies errors.Is(err, fs.ErrNotExist), an unreadable one
// fs.ErrPermission, and what is no regular file fs.ErrInvalid.
type Error struct {
	Path string // Source.Path
	Err  error  // the cause, one of the types below or of package io/fs
}

func (e *Error) Error() string {
	text := "tokenfile: "
	if e.Path != "" {
		text += printable(e.Path) + ": "
	}
	if e.Err == nil {
		return text + "unknown failure" + see(fileNotRead)
	}
	return text + e.Err.Error() + see(sectionOf(e.Err))
}

func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrMalformed is the cause when the file does not hold exactly one JSON
	// Web Token: empty, torn, too large, with bytes beside the token, or with
	// claims that two readers could take differently.
	ErrMalformed = errors.New("malformed token")

	// ErrNoExpiry is the cause when the token has no exp claim, which is what
	// a legacy service-account Secret holds. See Source.AllowNoExpiry.
	ErrNoExpiry = errors.New("token has no expiry")
)

// errAbandoned is what waiting callers get if the one that read panicked.
var errAbandoned = errors.New("the reading goroutine did not finish")

// ExpiredError is the cause when a token's exp claim has passed, or leaves
// less than MinTTL.
type ExpiredError struct {
	Expiry   time.Time     // exp
	Now      time.Time     // this host's clock
	Modified time.Time     // the file's modification time: before Expiry, so the kubelet has not replaced it since
	MinTTL   time.Duration // Source.MinTTL

	frozen bool      // the file is a mount of its own
	due    time.Time // when the kubelet replaces it, zero if that is not known
}

func (e *ExpiredError) Error() string {
	var b strings.Builder
	if left := e.Expiry.Sub(e.Now); left > 0 {
		fmt.Fprintf(&b, "token expires in %s, at %s, which is less than MinTTL %s", round(left), stamp(e.Expiry), e.MinTTL)
	} else {
		fmt.Fprintf(&b, "token expired %s ago, at %s", round(-left), stamp(e.Expiry))
	}
	if !e.Modified.IsZero() {
		fmt.Fprintf(&b, "; the file was last written at %s", stamp(e.Modified))
		if age := e.Now.Sub(e.Modified); age > 0 {
			fmt.Fprintf(&b, " (%s ago)", round(age))
		}
	}
	return b.String() + "; " + e.mend()
}

// mend says what to do.
func (e *ExpiredError) mend() string {
	switch e.section() {
	case tokenFrozen:
		return frozenHint
	case tokenMinTTL:
		return fmt.Sprintf("the kubelet replaces it after %s, at its next look, which it takes every 60 to 90 seconds: "+
			"set MinTTL to less than a fifth of the token's lifetime less 90 seconds, or a longer serviceAccountToken.expirationSeconds", stamp(e.due))
	case tokenWrittenLate:
		return "what writes the file wrote a token that had expired: look there, and at the clock"
	}
	return "the kubelet did not replace it: look for failing TokenRequests in the kubelet's log, " +
		"for a pod that is terminating, and for a clock that is wrong; recreate the pod if its node is healthy"
}

// kubeletPeriod is how late the kubelet may be: it looks every 60 to 90 seconds.
const kubeletPeriod = 100 * time.Second

// NotYetValidError is the cause when a token's nbf claim, or its iat claim if
// that is later, lies further ahead than ten seconds of clock skew explain.
type NotYetValidError struct {
	NotBefore time.Time // the later of nbf and iat
	Now       time.Time // this host's clock
}

func (e *NotYetValidError) Error() string {
	return fmt.Sprintf("token is not valid before %s, which is %s ahead of this host's clock (%s); "+
		"compare the clocks of this node and of the control plane: the one that is wrong needs time synchronisation",
		stamp(e.NotBefore), round(e.NotBefore.Sub(e.Now)), stamp(e.Now))
}

// AudienceError is the cause when none of a token's aud claims is the one
// wanted.
type AudienceError struct {
	Want string   // Source.Audience
	Got  []string // aud, empty if the token has none

	isDefault bool // Got holds the token's own issuer, and so the API server
}

func (e *AudienceError) Error() string {
	text := fmt.Sprintf("token's audience is %s, want %s; ", quoteAll(e.Got), quote(e.Want))
	switch {
	case len(e.Got) == 0:
		return text + "a token without an audience is a legacy Secret token, or not from Kubernetes: " + e.declare() +
			"; to go on with it for now, set Source.Audience to tokenfile.AnyAudience"
	case e.isDefault, slices.ContainsFunc(e.Got, isKnownAPIServer):
		return text + "this is the default token, which is meant for the API server: " + e.declare()
	}
	return text + "set serviceAccountToken.audience of the projected volume to the audience wanted, or correct Source.Audience"
}

// declare shows the volume to declare, in a form to paste into a manifest.
func (e *AudienceError) declare() string {
	audience := e.Want
	if audience == "" {
		audience = "AUDIENCE"
	}
	return "declare a projected volume of your own, mount it and read its file: " + projection(audience)
}

// ClaimError is the cause when a token's issuer or subject is not the one
// wanted.
type ClaimError struct {
	Claim string // iss or sub
	Want  string // Source.Issuer or Source.Subject
	Got   string // empty if the token lacks the claim
}

func (e *ClaimError) Error() string {
	text := fmt.Sprintf("token's %s is %s, want %s; ", e.Claim, quote(e.Got), quote(e.Want))
	if e.section() == tokenSubject {
		return text + "set serviceAccountName in the pod's spec to the account wanted, or correct Source.Subject"
	}
	return text + "the token was issued by another cluster, or the API server's --service-account-issuer changed: correct Source.Issuer"
}

// LifetimeError is the cause when a token lives longer than MaxLifetime.
type LifetimeError struct {
	Lifetime time.Duration // exp less iat; what is left of it, if the token does not say when it was issued
	Max      time.Duration // Source.MaxLifetime
}

func (e *LifetimeError) Error() string {
	text := fmt.Sprintf("token's lifetime is %s, more than MaxLifetime %s; ", round(e.Lifetime), e.Max)
	if e.Lifetime > 360*24*time.Hour {
		text += "it was inherited and not declared, as the default token's is, which the API server extends to a year; "
	}
	if e.Max < minLifetime {
		return text + "Kubernetes grants no less than ten minutes: raise MaxLifetime"
	}
	return text + fmt.Sprintf("set serviceAccountToken.expirationSeconds of a projected volume of your own to %d or less, or raise MaxLifetime",
		int64(e.Max/time.Second))
}

// minLifetime is the shortest that TokenRequest grants.
const minLifetime = 10 * time.Minute

// malformedError says in what way a token is malformed.
type malformedError struct{ why string }

func malformed(format string, args ...any) error {
	return &malformedError{fmt.Sprintf(format, args...)}
}

func (e *malformedError) Error() string   { return ErrMalformed.Error() + ": " + e.why }
func (e *malformedError) Is(t error) bool { return t == ErrMalformed }

// noExpiryError adds to ErrNoExpiry what to do about it.
type noExpiryError struct{ audience string }

func (e *noExpiryError) Error() string {
	return ErrNoExpiry.Error() + " (exp claim): it is a legacy service-account Secret token, which is never rotated; " +
		"declare a projected volume and read its file: " + projection(e.audience) + "; or set Source.AllowNoExpiry"
}

func (e *noExpiryError) Is(t error) bool { return t == ErrNoExpiry }

// waitError is what Wait gives up with: the last reason, and why it stopped.
type waitError struct {
	reason error // an *Error's cause
	ended  error // ctx's
}

func (e *waitError) Error() string {
	return fmt.Sprintf("%v (gave up waiting for a valid token: %v)", e.reason, e.ended)
}

func (e *waitError) Unwrap() []error { return []error{e.reason, e.ended} }
