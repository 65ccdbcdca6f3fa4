package vaultauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

const (
	lookEvery    = 2 * time.Second // at the token file, while its token is what keeps a login from succeeding
	youngest     = time.Minute     // a token that dies before this age is no sign that logging in helps
	revokeWithin = 5 * time.Second // at the end of Run

	// How long a request waits for its answer: for the first time, at the
	// longest after others that got none, and at the least while a lease runs
	// out. The longest is more than the minute and a half for which OpenBao and
	// Vault let a request wait; see docs/fleet.md.
	firstWait, longestWait, leastWait = 30 * time.Second, 150 * time.Second, 5 * time.Second
)

var errRunning = errors.New("vaultauth: Session.Run is already running" + wrongFields)

// Run keeps the session logged in until ctx ends, and returns ctx's error. It
// logs in first if Login was not called. It starts no goroutine that outlives
// it, never gives up, and makes at most one request a second on average,
// whatever the server answers.
//
// When ctx has ended the token is taken from Client, so end Run after
// everything that uses the client.
func (s *Session) Run(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	if !s.enter() {
		return errRunning
	}
	defer s.end(ctx)
	r := &run{Session: s, alike: true, soon: newPauses(soon), dark: newPauses(dark), slow: newPauses(slow), died: newPauses(died)}
	r.answered(0)
	r.adopt()
	if r.do == login && s.Splay > 0 {
		r.next(login, time.Now().Add(part(s.Splay, s.uniform())))
	}
	for r.wait(ctx) {
		if r.do == renew {
			r.renew(ctx)
		} else {
			r.login(ctx)
		}
	}
	return ctx.Err()
}

func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return false
	}
	s.running, s.waiting = true, s.Splay > 0 && s.current.Load() == nil
	return true
}

// end takes the token away, and revokes it if that was asked for.
func (s *Session) end(ctx context.Context) {
	s.mu.Lock()
	l := s.current.Swap(nil)
	s.running = false
	s.stats.next("", time.Time{})
	s.settle()
	s.mu.Unlock()
	if l == nil {
		return
	}
	if s.RevokeAtEnd {
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), revokeWithin)
		defer cancel()
		if _, err := s.bare.send(bound, s.loginClient(), http.MethodPut, "auth/token/revoke-self", l.token, nil); err != nil {
			s.log(slog.LevelWarn, "the token was not revoked and lives until its lease ends", "error", causeText(err))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.former.has(s.Client.Token()) {
		s.Client.ClearToken()
	}
}

// run is what a Run knows: the next action and the pauses before it.
type run struct {
	*Session
	do action
	at time.Time

	soon, dark, slow, died *pauses
	patience               time.Duration // how long a request waits for its answer

	alike  bool             // see lease.plan
	reborn bool             // the current token replaced a dead one
	reason Reason           // of the last failed login
	tried  *tokenfile.Token // that it sent, nil if there was none to send
}

// next sets what to do when.
func (r *run) next(do action, at time.Time) {
	r.do, r.at = do, at
	r.mu.Lock()
	r.stats.next(do, at)
	r.mu.Unlock()
}

// adopt plans for the current lease, whoever had it.
func (r *run) adopt() {
	r.reason, r.tried = "", nil
	l := r.current.Load()
	if l == nil {
		r.next(login, time.Now())
		return
	}
	r.next(l.plan(r.alike && !r.KeepToken, r.uniform(), r.uniform()))
}

// wait returns true when it is time to act, and false when ctx has ended.
func (r *run) wait(ctx context.Context) bool {
	for ctx.Err() == nil {
		if !time.Now().Before(r.at) { // before any look-up
			return true
		}
		timer := time.NewTimer(time.Until(r.at))
		var look <-chan time.Time
		if r.do == login && r.reason.aboutToken() {
			look = time.After(lookEvery)
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
			return true
		case <-r.changed:
			r.adopt()
		case <-r.doubted:
			r.examine(ctx)
		case <-look:
			if r.anotherToken(ctx) {
				timer.Stop()
				return true
			}
		}
		timer.Stop()
	}
	return false
}

// anotherToken says whether the file holds a valid token other than the one
// that did not get in.
func (r *run) anotherToken(ctx context.Context) bool {
	m, ok := r.Method.(*Method)
	if !ok || m.Source == nil {
		return false
	}
	token, err := m.Source.Token(ctx)
	return err == nil && (r.tried == nil || token.Raw() != r.tried.Raw())
}

// bound bounds one request.
func (r *run) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(ctx, patient{}, true), r.timeout())
}

// timeout is for how long, so that a request that hangs does not take the rest
// of the lease with it.
func (r *run) timeout() time.Duration {
	if l := r.current.Load(); l != nil && time.Now().Before(l.end()) {
		return min(max(time.Until(l.end())/4, leastWait), r.patience)
	}
	return r.patience
}

// login makes one attempt.
func (r *run) login(ctx context.Context) {
	if r.allow(ctx) != nil {
		return
	}
	before := r.current.Load()
	if r.begin(ctx) != nil {
		return
	}
	defer r.done()
	if r.current.Load() != before { // Login was faster
		r.adopt()
		return
	}
	bound, cancel := r.bound(ctx)
	defer cancel()
	start := time.Now()
	var a answer
	var token *tokenfile.Token
	var err error
	if m, ok := r.Method.(*Method); ok {
		var failed *LoginError
		if a, token, failed = m.attempt(bound, r.loginClient()); failed != nil {
			err = failed
		}
	} else {
		a, err = r.loginOther(bound)
	}
	if err == nil {
		r.alike = before == nil || r.reason != "" // out of need, and not at a moment that was drawn
		if before != nil {
			r.endure() // it lived until its planned end
		}
		r.answered(time.Since(start))
		r.dark.reset()
		r.slow.reset()
		r.loggedIn(a, start, r.why(before))
		r.adopt()
		return
	}
	if ctx.Err() != nil {
		return
	}
	r.tried, r.reason = token, r.failed(ctx, login, err)
	r.mu.Lock()
	r.waiting = true
	r.settle()
	r.mu.Unlock()
	do, at := login, time.Now().Add(r.pause(r.reason, err, a.retryAfter))
	if l := r.current.Load(); l != nil && l.renewable && !l.capped() && at.Before(l.end()) {
		do = renew // what keeps a login from succeeding may not matter to a renewal
	}
	r.next(do, at)
}

// why tells the log what a login was for.
func (r *run) why(before *lease) string {
	switch {
	case r.reason != "":
		return "after failures"
	case before == nil && r.reborn:
		return "the token was dead"
	case before == nil:
		return "the start"
	case before.capped():
		return "the max TTL is near"
	case !before.renewable:
		return "the token cannot be renewed"
	}
	return "to part from others of the same age"
}

// pause is how long to wait after an attempt that failed with err. A server
// with more to do than it can would for ever serve those who have given up, so
// whoever got no answer waits for longer the next time.
func (r *run) pause(reason Reason, err error, retryAfter time.Duration) time.Duration {
	if isLate(err) {
		r.patience = min(2*r.patience, longestWait)
	}
	pauses := r.slow
	switch {
	case reason.passesSoon():
		pauses = r.soon
	case reason == PermissionDenied:
		pauses = r.dark
	}
	return pauses.after(retryAfter)
}

// renew makes one attempt to extend the lease.
func (r *run) renew(ctx context.Context) {
	l := r.current.Load()
	if l == nil {
		r.adopt()
		return
	}
	if r.allow(ctx) != nil {
		return
	}
	bound, cancel := r.bound(ctx)
	defer cancel()
	start := time.Now()
	a, err := r.bare.send(bound, r.loginClient(), http.MethodPut, "auth/token/renew-self", l.token, map[string]int{"increment": 0})
	if err == nil && (checkAuth(a.secret) != nil || a.secret.Auth.ClientToken != l.token) {
		err = errBadAnswer
	}
	if err == nil {
		r.renewed(l, l.renewed(a.secret.Auth, start))
		return
	}
	if ctx.Err() != nil {
		return
	}
	if r.current.Load() != l { // Login was faster
		r.adopt()
		return
	}
	reason := r.failed(ctx, renew, err)
	now := time.Now()
	switch {
	case isDead(err):
		r.bury(l)
	case isRefusal(err):
		if !r.current.CompareAndSwap(l, l.unrenewable()) { // Login was faster
			r.adopt()
			return
		}
		r.next(login, l.planRefused(now, r.uniform()))
	default:
		r.postpone(l, now.Add(r.pause(reason, err, a.retryAfter)), now.Add(a.retryAfter))
	}
}

// postpone a renewal that failed: to at, but where the server allows it early
// enough for a login before the lease ends.
func (r *run) postpone(l *lease, at, earliest time.Time) {
	do, last := renew, l.start.Add(part(l.ttl, lastRenewal))
	if !at.Before(last) {
		do = login
		if now := time.Now(); now.Before(last) {
			at = latestOf(last, earliest)
		}
	}
	r.next(do, at)
}

func latestOf(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// answered forgets what only a server in trouble needs. How long it took to
// answer is remembered: next time it may take as long again.
func (r *run) answered(took time.Duration) {
	r.soon.reset()
	first := firstWait
	if own := r.Client.ClientTimeout(); own > 0 {
		first = min(first, own)
	}
	r.patience = min(max(2*took, first), longestWait)
}

func (r *run) renewed(old, l *lease) {
	r.answered(time.Since(l.start))
	r.endure()
	r.mu.Lock()
	if r.current.CompareAndSwap(old, l) {
		r.stats.renewed(l)
		r.succeeded()
	}
	r.mu.Unlock()
	r.log(slog.LevelDebug, "renewed", "lease", l.ttl.String(), "last", l.capped())
	r.adopt()
}

// endure notes that the current token did not die at once.
func (r *run) endure() {
	r.reborn = false
	r.died.reset()
}

// bury gives up a token that the server does not know any more. The next
// login comes at once, unless the token came from such a login and did not
// live for long.
func (r *run) bury(l *lease) {
	if !r.current.CompareAndSwap(l, nil) { // Login was faster
		r.adopt()
		return
	}
	var pause time.Duration
	if r.reborn && time.Since(l.born) < youngest {
		pause = r.died.next()
	}
	r.reborn = true
	r.mu.Lock()
	r.stats.Deaths++
	if r.waiting = pause > 0; r.waiting {
		r.settle()
	}
	r.mu.Unlock()
	r.log(slog.LevelWarn, "the token is dead before its lease ended: revoked, used up, or unknown to a server that was restored"+deadToken,
		"age", time.Since(l.born).Round(time.Second).String(), "login in", pause.Round(time.Second).String())
	r.next(login, time.Now().Add(pause))
}
