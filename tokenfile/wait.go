package tokenfile

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstWait = 50 * time.Millisecond
	longWait  = 2 * time.Second
)

// Wait returns a valid token as soon as there is one. It is for a program's
// start, when the volume may not be there yet or a clock is a little behind,
// and tries again after a pause that grows from a twentieth of a second to two
// seconds, with jitter.
//
// When ctx ends, its error wraps both ctx's and the reason why there was no
// valid token at last. A Source whose fields are wrong is told so at once.
func (s *Source) Wait(ctx context.Context) (*Token, error) {
	token := s.Token
	if ctx.Err() != nil {
		token = func(context.Context) (*Token, error) { return s.Reload(context.WithoutCancel(ctx)) } // for a reason to give
	}
	for pause := firstWait; ; pause = min(2*pause, longWait) {
		t, err := token(ctx)
		if err == nil || isConfigError(err) {
			return t, err
		}
		if ended := sleep(ctx, pause/2+rand.N(pause)); ended != nil {
			return nil, &Error{Path: s.Path, Err: &waitError{reason: cause(err), ended: ended}}
		}
	}
}

// cause takes an *Error's wrapping off, so that the path is said once.
func cause(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// sleep waits for d, or returns ctx's error should that end first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
