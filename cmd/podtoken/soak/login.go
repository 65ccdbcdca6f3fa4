package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
)

// login is one that has ended.
type login struct {
	began, ended time.Time
	outcome      party.Outcome
	err          error
}

// logIn logs in once and hands over how that ended, unless nobody wants to
// know any more.
func (s *Soak) logIn(ctx context.Context, ended chan<- login) {
	l := login{began: time.Now()}
	l.err = s.attempt(ctx)
	l.ended, l.outcome = time.Now(), party.Judge(l.err)
	if l.outcome == party.Interrupted && ctx.Err() == nil {
		l.outcome = party.NoAnswer // nobody here did
	}
	select {
	case ended <- l:
	case <-ctx.Done():
	}
}

var errPanicked = errors.New("the login panicked")

// attempt bounds a login. A party that panics must not take the verdict with
// it, and what it says then may hold anything.
func (s *Soak) attempt(ctx context.Context) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout(), fmt.Errorf("no answer within %v", s.timeout()))
	defer cancel()
	return s.Party.Login(ctx)
}
