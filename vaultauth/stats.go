package vaultauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/hashicorp/vault/api"
)

// Stats is what a session did, and what it will do next.
type Stats struct {
	Logins   uint64
	Renewals uint64
	LookUps  uint64 // after a 403, that found the token alive
	Deaths   uint64 // tokens that died before their lease ended
	Failures map[Reason]uint64

	LoggedIn  time.Time     // the last login; zero if there was none
	Lease     time.Duration // as last given
	Expiry    time.Time     // the end of it, by this host's clock
	Renewable bool          // as far as is known

	Next   string    // "login" or "renew"; empty while Run is not running
	NextAt time.Time // the earliest time for it

	LastFailure time.Time
	LastError   error // nil once an attempt has succeeded again
}

func (st *Stats) loggedIn(l *lease) {
	st.Logins++
	st.LoggedIn = l.born
}

func (st *Stats) renewed(*lease) { st.Renewals++ }

func (st *Stats) next(do action, at time.Time) { st.Next, st.NextAt = string(do), at }

// Stats returns a copy of the counters and times so far.
func (s *Session) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Failures = maps.Clone(st.Failures)
	st.LastError = s.last
	if l := s.current.Load(); l != nil {
		st.Lease, st.Expiry, st.Renewable = l.ttl, l.end(), l.renewable
	}
	return st
}

// renewError is a failed renewal.
type renewError struct {
	reason Reason
	err    error
}

func (e *renewError) Error() string {
	return "vaultauth: renewal: " + causeText(e.err) + see(e.reason, e.err)
}
func (e *renewError) Unwrap() error { return e.err }

// failed remembers a failure, and logs it if it is not the one that was logged
// last.
func (s *Session) failed(ctx context.Context, do action, err error) Reason {
	reason := reasonOf(ctx, err)
	var refused *LoginError
	switch {
	case errors.As(err, &refused):
		reason = refused.Reason
	case do == renew && isDead(err):
		reason = TokenDead
	case do == renew && isRefusal(err):
		reason = NotRenewable
	}
	if do == renew {
		err = &renewError{reason, err}
	}
	var status int
	if answered := (*api.ResponseError)(nil); errors.As(err, &answered) {
		status = answered.StatusCode
	}
	key := fmt.Sprint(reason, status)

	s.mu.Lock()
	if s.stats.Failures == nil {
		s.stats.Failures = make(map[Reason]uint64)
	}
	s.stats.Failures[reason]++
	s.stats.LastFailure, s.last = time.Now(), err
	key = string(do) + key
	isNew := !s.told[key]
	if s.told == nil {
		s.told = make(map[string]bool)
	}
	s.told[key] = true
	s.mu.Unlock()
	if isNew {
		s.log(slog.LevelWarn, string(do)+" failed", "reason", string(reason), "error", err.Error())
	}
	return reason
}

// succeeded forgets the last failure. s.mu is held.
func (s *Session) succeeded() { s.last, s.told = nil, nil }

func (s *Session) log(level slog.Level, text string, args ...any) {
	if s.Logger != nil {
		s.Logger.Log(context.Background(), level, "vaultauth: "+text, args...)
	}
}
