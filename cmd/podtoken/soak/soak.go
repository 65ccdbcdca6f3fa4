package soak

import (
	"context"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/tokenfile"
)

// Soak is a series of logins over the rotations of a token. Party is required;
// what else is zero has a good default, or makes a point that could not be seen.
//
// The fields are set before Run and not changed after.
type Soak struct {
	Party party.Party

	// Source watches the party's token file. If nil, one with the party's path
	// and audience.
	Source *tokenfile.Source

	// Every is the time between the beginnings of two logins. If zero, there
	// are 360 in a token's life, at least 10 s apart. A login that takes longer
	// delays the next one.
	Every time.Duration

	// Timeout bounds one login. If zero, 30 s.
	Timeout time.Duration

	// For and Rotations end the soak, whichever comes first. Of rotations a
	// verdict needs at least two, which is what is done if both are zero.
	For       time.Duration
	Rotations int

	// Declared is the lifetime that the pod's spec asks for, if it is known.
	Declared time.Duration

	// Started is when the container did, if that is known.
	Started time.Time

	// SubPath says that the file is known to be mounted by itself. The soak
	// also finds out by itself, as far as the system tells.
	SubPath bool

	// Secrets, if set, returns the names of the namespace's Secrets that hold
	// a token without an expiry. Its error is why they could not be looked for.
	// It is called at the start and each hour, and must return when ctx ends.
	Secrets func(ctx context.Context, namespace string) ([]string, error)

	// OnEvent, if set, is told of what a person wants to know while it
	// happens: rotations, the first of like failures, recoveries.
	OnEvent func(Event)

	// OnStatus, if set, is told once a second how far the soak is. Both are
	// called from within Run, and delay it.
	OnStatus func(Status)
}

const (
	leastRotations = 2 // that show something
	defaultTimeout = 30 * time.Second
	shortestEvery  = 10 * time.Second
	loginsInALife  = 360

	// secretsEvery is how often Secrets are looked for.
	secretsEvery = time.Hour

	// grace is how long the end of a soak waits for a login that is under way.
	grace = time.Second

	// patience is how long a soak waits for what should have come by then: a
	// login after the last rotation, a new token after the old one died.
	patience = 5 * time.Minute
)

// Run soaks until there is a verdict: after the rotations or the time that were
// asked for, when ctx ends, or when nothing more is to be learnt because the
// first login was rejected or the kubelet replaces an expired token no more. It
// returns within a second of the end of ctx.
//
// It fails at once, with a *SetupError, if what it finds at the start cannot
// pass, however long it ran.
func (s *Soak) Run(ctx context.Context) (Verdict, error) {
	if err := s.check(); err != nil {
		return Verdict{}, err
	}
	token, err := s.firstToken(ctx)
	if err != nil {
		return Verdict{}, err
	}
	r := newRun(s, token)
	if err := r.loop(ctx); err != nil {
		return Verdict{}, err
	}
	return r.verdict(), nil
}

func (s *Soak) source() *tokenfile.Source {
	if s.Source != nil {
		return s.Source
	}
	audience := s.Party.Audience()
	if audience == "" {
		audience = tokenfile.AnyAudience
	}
	return &tokenfile.Source{Path: s.Party.Path(), Audience: audience}
}

// wanted is how many rotations end the soak, 0 if none do.
func (s *Soak) wanted() int {
	if s.Rotations == 0 && s.For == 0 {
		return leastRotations
	}
	return s.Rotations
}

func (s *Soak) timeout() time.Duration {
	if s.Timeout == 0 {
		return defaultTimeout
	}
	return s.Timeout
}

func (s *Soak) every(life lifetime) time.Duration {
	if s.Every > 0 {
		return s.Every
	}
	return max(shortestEvery, (life.span / loginsInALife).Round(time.Second))
}
