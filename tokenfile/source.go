package tokenfile

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// AnyAudience, as Source.Audience, accepts a token for whatever audience.
//
// It is the explicit way not to pin one. A program that sets it learns of a
// token meant for somebody else from the relying party's refusal only.
const AnyAudience = "*"

// Source hands out the service-account token that a projected file holds now.
//
// Most callers want Token, at every request, and nothing else: it opens and
// reads the file each time, which costs a few microseconds, and so is never
// behind the kubelet. MaxAge makes it look less often; Watch tells of each
// rotation as it happens.
//
// Path and Audience are required, and the zero value of every other field is
// a good choice. Fields are set before first use and not changed after.
//
// A Source is safe for concurrent use by any number of goroutines. It must
// not be copied after first use. It owns no goroutine and no open file, so
// there is nothing to close.
type Source struct {
	// Path is the token file, such as
	// /var/run/secrets/tokens/openbao/token. Required.
	Path string

	// Audience is the relying party that the token must be meant for: one of
	// its aud claims equals it. Required; see AnyAudience.
	Audience string

	// Issuer, if set, must equal the iss claim.
	Issuer string

	// Subject, if set, must equal the sub claim, which Kubernetes writes as
	// system:serviceaccount:NAMESPACE:NAME.
	Subject string

	// MaxAge is how long a token is served after the file was last read. If
	// zero, every call of Token reads the file; five minutes is a good choice
	// for a program that asks very often.
	//
	// It is capped by a quarter of the life that the token had left when it
	// was read, because the kubelet may replace a token of ten minutes as
	// late as half a minute before it dies.
	MaxAge time.Duration

	// MinTTL refuses a token that has less than this left to live, to make
	// room for clock skew and for long calls. If zero, a token is refused
	// from the instant of its exp claim on. The kubelet replaces a token when
	// a fifth of its life is left, and up to 90 seconds later: more than that
	// (30 seconds of ten minutes, 630 seconds of an hour) cannot be had.
	MinTTL time.Duration

	// MaxLifetime, if set, refuses a token whose whole lifetime, exp less
	// iat, is longer: a sign that it was inherited from the platform and not
	// declared in the pod. Of a token without iat it is what is left.
	MaxLifetime time.Duration

	// AllowNoExpiry accepts a token without an exp claim, which is what a
	// legacy service-account Secret holds. MaxLifetime does not apply to it.
	AllowNoExpiry bool

	// NoNotify makes Watch look at the file at intervals only, without file
	// notifications. Watch does so by itself where they are not to be had;
	// set it under testing/synctest, where a goroutine that waits for the
	// kernel would stop the bubble's clock.
	NoNotify bool

	// Logger is told of rotations, failures and recoveries, never of a
	// token's text. If nil, Source is silent.
	Logger *slog.Logger

	last atomic.Pointer[snapshot] // what was read last and may be served
	state
}

// Token returns the token that the file holds now, validated.
//
// Every failure is an *Error, and the file's own state, the claims and the
// clock each have a type of their own behind it. A failure is returned at
// once when every call reads the file. With MaxAge, or while a Watch loop
// runs, the last good token is served until its own expiry instead.
//
// ctx ends the wait for another caller's read, where there is one; a read in
// progress is not interrupted.
func (s *Source) Token(ctx context.Context) (*Token, error) {
	now := time.Now()
	if snap := s.last.Load(); snap != nil && now.Before(snap.next) && snap.serves(now) {
		return snap.token, nil
	}
	return s.read(ctx)
}

// Reload reads the file now, whatever MaxAge or a Watch loop would serve, and
// returns what it found. It is for the caller whose token was just refused,
// to see whether there is a newer one before it gives up.
func (s *Source) Reload(ctx context.Context) (*Token, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return s.lookAndServe()
}

// read is Token beyond what the snapshot can answer.
func (s *Source) read(ctx context.Context) (*Token, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if s.readsEveryCall() {
		return s.lookAndServe()
	}
	return s.readShared(ctx)
}

// readsEveryCall reports that neither MaxAge nor a Watch loop is at work.
func (s *Source) readsEveryCall() bool {
	return s.MaxAge == 0 && s.watchers.Load() == 0
}

// lookAndServe reads the file and reports what it finds. Token may still serve
// an older one if this fails.
func (s *Source) lookAndServe() (*Token, error) {
	defer s.tell()
	p, err := s.look()
	if err != nil {
		return nil, s.failed(err, s.fallback())
	}
	s.succeeded(p)
	return p.token, nil
}

// usable reports why this call cannot even try: the fields, or ctx.
func (s *Source) usable(ctx context.Context) error {
	if err := s.misconfigured(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &Error{Path: s.Path, Err: err}
	}
	return nil
}

// misconfigured reports the first field that makes the Source useless. Fields
// do not change after first use, so good ones are looked at once.
func (s *Source) misconfigured() error {
	if s.configured.Load() {
		return nil
	}
	path := s.Path
	var why string
	switch {
	case path == "":
		why = "Source.Path is not set: name the projected token file"
	case holdsToken(path):
		path = "(a token)" // the one path that must never be printed
		why = "Source.Path holds a token where the name of its file belongs"
	case s.Audience == "":
		why = "Source.Audience is not set: name the relying party the token is for, or tokenfile.AnyAudience"
	case s.MaxAge < 0:
		why = "Source.MaxAge is negative"
	case s.MinTTL < 0:
		why = "Source.MinTTL is negative"
	case s.MaxLifetime < 0:
		why = "Source.MaxLifetime is negative"
	default:
		s.configured.Store(true)
		return nil
	}
	return &Error{Path: path, Err: &configError{why}}
}

// configError is a fault of the program, which no wait and no retry heals.
type configError struct{ why string }

func (e *configError) Error() string { return e.why }

func isConfigError(err error) bool {
	var c *configError
	return errors.As(err, &c)
}
