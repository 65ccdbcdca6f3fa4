package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

const (
	// startPrecision is that of the container's start.
	startPrecision = 2 * time.Second

	// clockPrecision is that of iat, which has whole seconds.
	clockPrecision = time.Second
)

// lookAtTokens describes each and says what is wrong with it.
func (e *examination) lookAtTokens() {
	if e.noStart != nil && len(e.tokens) > 0 {
		e.find(ruleNoStart, nil, errorText(e.Root, e.noStart))
	}
	for _, c := range e.tokens {
		e.report.Tokens = append(e.report.Tokens, e.describe(c))
		if c.err != nil {
			e.checkError(c)
		}
		if c.issuer != "" || c.err == nil {
			e.checkLife(c)
			e.checkAudience(c)
		}
	}
}

func (e *examination) describe(c *candidate) Token {
	t := Token{
		Path: bounded(c.Path, maxName), MountPoint: bounded(c.MountPoint, maxName), Variable: c.variable, Default: c.isDefault(),
		Audience: boundedList(c.audience), Issuer: bounded(c.issuer, maxName), Subject: bounded(c.subject, maxName),
		IssuedAt: utc(c.issued), Expiry: utc(c.expiry),
		Lifetime: Seconds(c.lifetime()), Rotated: Seconds(c.asked()),
		Extended: c.isExtended(), Legacy: c.isLegacy(),
		Rotation: e.rotation(c), Modified: utc(c.Modified),
		Mode: fmt.Sprintf("%04o", c.Mode.Perm()), UID: c.UID, GID: c.GID,
		Readable: c.readable(), SubPath: c.SubPath, file: &c.Path,
	}
	if !c.issued.IsZero() {
		t.Age = Seconds(e.now.Sub(c.issued))
	}
	if declared, ok := e.declared(c); ok {
		t.Declared = Seconds(declared)
	}
	if t.Rotation != RotationNever {
		t.RotationAt = utc(c.rotationDue())
	}
	if c.err != nil {
		t.Error = errorText(e.Root, c.err)
	}
	return t
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Second)
}

func (c *candidate) isLegacy() bool { return c.err == nil && c.expiry.IsZero() }

func (e *examination) rotation(c *candidate) Rotation {
	switch {
	case c.SubPath, c.isLegacy():
		return RotationNever
	case e.started.IsZero(), c.Modified.IsZero():
		return RotationUnknown
	case !e.afterStart(c.Modified):
		return RotationAwaited
	case !c.issued.IsZero() && !e.afterStart(c.issued):
		return RotationAwaited // something else in the volume changed, and all of it was written anew
	}
	return RotationSeen
}

func (e *examination) afterStart(t time.Time) bool { return t.After(e.started.Add(startPrecision)) }

// declared is the lifetime that somebody says the token should have.
func (e *examination) declared(c *candidate) (time.Duration, bool) {
	if e.Declared != nil {
		if lifetime, ok := e.Declared(c.Path); ok {
			return lifetime, true
		}
	}
	return e.Lifetime, e.Lifetime > 0 && !c.isDefault() && !c.isAWS()
}

// checkError reports why a token cannot be read or used.
func (e *examination) checkError(c *candidate) {
	var (
		expired *tokenfile.ExpiredError
		early   *tokenfile.NotYetValidError
		rule    = ruleNoToken
	)
	switch {
	case errors.Is(c.err, fs.ErrNotExist):
		rule = ruleMissing
	case errors.Is(c.err, fs.ErrPermission):
		rule = ruleUnreadable
	case errors.As(c.err, &expired):
		rule = ruleExpired
	case errors.As(c.err, &early):
		rule = ruleNotYet
	}
	e.find(rule, c, e.cause(c.err))
}

// cause is an error's text without the path, which the finding has.
func (e *examination) cause(err error) string {
	text := errorText(e.Root, err)
	if located := (*tokenfile.Error)(nil); errors.As(err, &located) && located.Err != nil {
		if at := strings.Index(text, errorText(e.Root, located.Err)); at > 0 {
			return text[at:]
		}
	}
	return text
}

// checkLife reports what is wrong with a token's lifetime and its rotations.
func (e *examination) checkLife(c *candidate) {
	due := c.rotationDue()
	switch {
	case c.isLegacy():
		e.find(ruleLegacy, c, "the token has no expiry"+ofSecret(c.secret))
		return
	case c.SubPath:
		e.find(ruleSubPath, c, "the file is mounted by itself, so it keeps the token that it had when the container started"+until(c.expiry))
	case c.err == nil && !due.IsZero() && e.now.After(due.Add(KubeletPeriod)):
		e.find(ruleOverdue, c, fmt.Sprintf("the kubelet should have replaced the token at %s, %s ago; it expires in %s, at %s",
			stamp(due), Rough(e.now.Sub(due)), Rough(c.expiry.Sub(e.now)), stamp(c.expiry)))
	}
	if ahead := c.issued.Sub(e.now); c.err == nil && ahead > clockPrecision {
		e.find(ruleClock, c, fmt.Sprintf("the token was issued %s ahead of this host's clock, at %s", Rough(ahead), stamp(c.issued)))
	}
	e.checkLifetime(c)
}

func ofSecret(name string) string {
	if name == "" {
		return ""
	}
	return ": it is that of the Secret " + bounded(name, maxName)
}

func until(expiry time.Time) string {
	if expiry.IsZero() {
		return ""
	}
	return ", until it expires at " + stamp(expiry)
}

// checkLifetime compares it with what was declared, and with what is usual.
func (e *examination) checkLifetime(c *candidate) {
	lifetime := c.lifetime()
	declared, isDeclared := e.declared(c)
	matches := isDeclared && (c.asked()-declared).Abs() <= clockPrecision
	switch {
	case c.isDefault() && (c.isExtended() || lifetime > day) && c.isForAPIServer(e.defaults):
		e.find(ruleExtended, c, e.extended(c)+"; it is for the API server only")
	case c.isExtended(), lifetime > day && !matches:
		e.find(ruleInherited, c, e.extended(c))
	case isDeclared && !matches && lifetime > 0:
		e.find(ruleLifetime, c, fmt.Sprintf("the token lives for %s, declared were %s", Rough(c.asked()), Rough(declared)))
	case lifetime > day:
		e.find(ruleLong, c, fmt.Sprintf("the token lives for %s", Rough(lifetime)))
	}
}

func (e *examination) extended(c *candidate) string {
	text := fmt.Sprintf("the token lives for %s", Rough(c.lifetime()))
	if c.isExtended() {
		text += fmt.Sprintf(", though %s was asked for and the kubelet rotates by that", Rough(c.asked()))
	}
	return text
}

// checkAudience reports a token that is not where its audience belongs.
func (e *examination) checkAudience(c *candidate) {
	switch isForAPIServer := c.isForAPIServer(e.defaults); {
	case c.isLegacy(): // whose missing audience is the least of it
	case c.isDefault() && !looksLikeURL(c.audience) && !c.isOfAdmission():
		e.find(ruleDefaultPath, c, "the token is for "+quoted(c.audience)+", and not for the API server")
	case !c.isDefault() && isForAPIServer && !e.isExpected(c):
		e.find(ruleAPIServer, c, "the token is for the API server: its audience is "+quoted(c.audience))
	}
}

// looksLikeURL is all that can be asked of a token at the default path: each
// platform has a name of its own for its API server, but it is a URL.
func looksLikeURL(audience []string) bool {
	return slices.ContainsFunc(audience, func(a string) bool { return strings.Contains(a, "://") })
}

// isOfAdmission knows the token that admission adds to every pod by the lifetime
// that it asks for. kOps calls its API server kubernetes.svc.default.
func (c *candidate) isOfAdmission() bool { return c.asked() == 3607*time.Second }

func quoted(audience []string) string {
	return `"` + strings.Join(boundedList(audience), `", "`) + `"`
}

// isExpected says that somebody asked for this very token.
func (e *examination) isExpected(c *candidate) bool {
	return slices.ContainsFunc(e.Expect, func(want Expectation) bool { return e.satisfies(c, want) })
}

// missing reports an expected token that is not there, and what is.
func (e *examination) missing(want Expectation) {
	var audiences []string
	for _, c := range e.tokens {
		if want.Path == "" || e.same(c, want.Path) {
			audiences = append(audiences, c.audience...)
		}
	}
	message := fmt.Sprintf("no token is for %q", bounded(want.Audience, maxName))
	if want.Path != "" {
		message = fmt.Sprintf("the token is not for %q", bounded(want.Audience, maxName))
	}
	if len(audiences) > 0 {
		message += "; found were tokens for " + quoted(audiences)
	}
	f := e.find(ruleAudience, nil, message)
	f.Token = bounded(want.Path, maxName)
	f.Mend = strings.Replace(f.Mend, "AUDIENCE", fmt.Sprintf("%q", bounded(want.Audience, maxName)), 1)
}
