package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// ErrNeverRotated says that the token file is mounted by itself.
var ErrNeverRotated = errors.New("the token is never rotated: the file is mounted by itself (subPath), and keeps the token that it had when the container started; " +
	"mount the volume's directory, without subPath")

// SetupError says why a soak could not begin: no rotation would have helped.
// Its cause is of package tokenfile, of the party's, or ErrNeverRotated.
type SetupError struct{ Err error }

func (e *SetupError) Unwrap() error { return e.Err }

func (e *SetupError) Error() string {
	if e.Err == nil {
		return "the soak could not begin"
	}
	return "the soak could not begin: " + e.Err.Error()
}

// mostRotations is how many of a daily token a time.Duration holds.
const mostRotations = 100_000

// check says which field makes no sense.
func (s *Soak) check() error {
	var wrong string
	switch {
	case s.Party == nil:
		wrong = "there is no relying party to log in to"
	case s.Every < 0, s.Timeout < 0, s.For < 0, s.Declared < 0:
		wrong = "a negative time"
	case s.Rotations < 0, s.Rotations == 1:
		wrong = fmt.Sprintf("%d rotations: at least two are needed, since a program that reads the token once survives the first one", s.Rotations)
	case s.Rotations > mostRotations:
		wrong = fmt.Sprintf("%d rotations: at most %d can be waited for", s.Rotations, mostRotations)
	default:
		return nil
	}
	return &SetupError{errors.New(wrong)}
}

// firstToken refuses at once what would fail after hours.
func (s *Soak) firstToken(ctx context.Context) (*tokenfile.Token, error) {
	source := s.source()
	token, err := source.Token(ctx)
	switch {
	case err != nil:
		return nil, &SetupError{err}
	case token.Expiry().IsZero():
		return nil, &SetupError{&tokenfile.Error{Path: source.Path, Err: tokenfile.ErrNoExpiry}}
	case s.SubPath, source.Stats().SubPath:
		return nil, &SetupError{&tokenfile.Error{Path: source.Path, Err: ErrNeverRotated}}
	}
	if step := lifetimeOf(token, time.Now()).step(); s.Every > step {
		return nil, &SetupError{fmt.Errorf("a login every %v is too seldom: the token is replaced each %v, and there must be one in between", s.Every, step)}
	}
	return token, nil
}
