package vaultauth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/vault/api"
)

// Do calls call with the session's client. If that fails with a 403 because
// the token is dead - revoked, used up, or lost by the server - Do waits for
// one new login, which all callers share, and calls call once more. A token
// that lives was refused for what it may not do: then the error is call's.
//
// It needs Run to be running, and does not wait if Run is pausing after a
// failure. A session from NewSession does the same within its transport, for
// every client that has it; Do is for those that do not.
func (s *Session) Do(ctx context.Context, call func(*api.Client) error) error {
	used := s.await(ctx)
	err := call(s.Client)
	var refused *api.ResponseError
	if used == "" || !errors.As(err, &refused) || refused.StatusCode != http.StatusForbidden ||
		!s.revive(ctx, used, strings.Join(refused.Errors, "\n")) {
		return err
	}
	return call(s.Client)
}

// token is the current one, or "".
func (s *Session) token() string {
	if l := s.current.Load(); l != nil {
		return l.token
	}
	return ""
}

// await is the current token. Between the end of one and the login after it,
// it waits for that login, and returns "" if it is not to come soon.
func (s *Session) await(ctx context.Context) string {
	for {
		if token := s.token(); token != "" {
			return token
		}
		s.mu.Lock()
		if s.token() != "" {
			s.mu.Unlock()
			continue
		}
		if !s.running || s.busy() {
			s.mu.Unlock()
			return ""
		}
		settled := s.settled
		s.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
			return ""
		}
	}
}

// busy says that Run will not log in soon: it pauses, or someone is in OnLogin.
// s.mu is held.
func (s *Session) busy() bool { return s.waiting || s.telling > 0 }

// revive is told that a request with used got a 403 of that text. It returns
// true when there is another token to try with, at once or after Run has had
// one.
func (s *Session) revive(ctx context.Context, used, text string) bool {
	s.mu.Lock()
	if now := s.token(); now != "" && now != used {
		s.mu.Unlock()
		return true
	}
	// One look-up in a while tells for all requests of the while, unless the
	// server has said already which of the two it is.
	known := isDeadText(text) && !s.doubtful
	if !s.running || s.busy() || deniedByPolicy(text) || !known && time.Since(s.lookedUp) < floor {
		s.mu.Unlock()
		return false
	}
	s.suspect, s.surely = s.former.sum(used), known
	settled := s.settled
	s.mu.Unlock()
	signal(s.doubted)
	select {
	case <-settled:
	case <-ctx.Done():
	}
	now := s.token()
	return now != "" && now != used
}

// settle wakes those who wait in revive. s.mu is held.
func (s *Session) settle() {
	close(s.settled)
	s.settled = make(chan struct{})
}

// lookUpTime bounds a look-up: renewals wait for it.
const lookUpTime = 5 * time.Second

// examine looks up the token that got a 403: if it is dead, a login follows.
func (r *run) examine(ctx context.Context) {
	l := r.current.Load()
	r.mu.Lock()
	if l == nil || r.former.sum(l.token) != r.suspect || r.waiting {
		if l != nil || r.waiting { // else a login is due, which settles it
			r.settle()
		}
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	if r.allow(ctx) != nil {
		return
	}
	bound, cancel := context.WithTimeout(ctx, lookUpTime)
	defer cancel()
	_, err := r.bare.send(bound, r.loginClient(), http.MethodGet, "auth/token/lookup-self", l.token, nil)
	if isDead(err) {
		r.bury(l)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.LookUps++
	// Whatever else the answer was, another one will not be had in a moment.
	r.lookedUp = time.Now()
	// A text that was untrue of this token is not believed again.
	r.doubtful = r.doubtful || r.surely
	r.settle()
}
