package tokenfile

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"
)

// succeeded notes a read that ended with a valid token.
func (s *Source) succeeded(p *parsed) {
	now := time.Now()
	s.stats.lastRead.Store(now.UnixNano())
	if s.stats.failing.Load() && s.stats.recover() {
		s.log(slog.LevelInfo, "token file is good again", slog.Time("expiry", p.token.expiry))
	}
	if p.token.stale(now) && s.stats.noteStale(p.token) {
		s.log(slog.LevelWarn, "token is stale: it should have been replaced; its expiry was extended by the API server, and the kubelet is late"+see(tokenStale),
			slog.Time("warnafter", p.token.kubernetes.WarnAfter), slog.Time("expiry", p.token.expiry))
	}
}

// failed notes a read that ended without a valid token, wraps its error for
// the caller, and logs it if it is a new one. snap is what is served instead,
// if anything is.
func (s *Source) failed(err error, snap *snapshot) error {
	wrapped := &Error{Path: s.Path, Err: err}
	reason := reasonOf(err)
	if snap == nil {
		reason += " and nothing to serve"
	}
	if !s.stats.fail(wrapped, reason, time.Now()) {
		return wrapped
	}
	told := slog.Any("error", &Error{Err: err}) // the record has the path beside it
	if snap == nil {
		s.log(slog.LevelError, "no valid token", told)
	} else {
		s.log(slog.LevelWarn, "token file is bad; the last good token is served until it expires",
			told, slog.Time("expiry", snap.token.expiry))
	}
	return wrapped
}

// rotated notes that the file holds another token than before.
func (s *Source) rotated(from, to *parsed) {
	now := time.Now()
	s.stats.mu.Lock()
	s.stats.seen.Rotations++
	s.stats.seen.LastRotation = now
	s.stats.mu.Unlock()
	attrs := []slog.Attr{slog.Time("old_expiry", from.token.expiry), slog.Time("expiry", to.token.expiry)}
	if due := from.token.rotationDue(); !due.IsZero() {
		attrs = append(attrs, slog.Duration("late", now.Sub(due))) // negative: earlier than at 80 % of its life
	}
	s.log(slog.LevelInfo, "token rotated", attrs...)
}

// inspected notes what the file says of itself beside its bytes.
func (s *Source) inspected(f file) {
	if f.mounted {
		s.stats.mounted.Store(true)
	}
	frozen := f.unlinked || s.stats.mounted.Load()
	if s.stats.frozen.Swap(frozen) != frozen && frozen {
		s.log(slog.LevelWarn, "token will not be rotated: "+frozenHint+see(tokenFrozen), slog.Bool("link_count_zero", f.unlinked))
	}
}

// polls notes that a Watch loop does without file notifications from now on,
// or, if why is nil, that it need not any more.
func (s *Source) polls(why error) {
	switch {
	case why == nil && s.stats.polling.Add(-1) == 0:
		s.log(slog.LevelInfo, "file notifications work again")
	case why != nil && s.stats.polling.Add(1) == 1:
		s.log(slog.LevelWarn, "no file notifications; looking at the token file at intervals instead"+see(noNotifications),
			slog.Any("error", why), slog.Duration("every", pollInterval))
	}
}

// record is a log record that waits for tell.
type record struct {
	level slog.Level
	msg   string
	attrs []slog.Attr
}

// log keeps a record for tell: a handler may be slow, or may want a token from
// this very Source, and must not be called while others wait for the read.
func (s *Source) log(level slog.Level, msg string, attrs ...slog.Attr) {
	if s.Logger == nil {
		return
	}
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	s.stats.records = append(s.stats.records, record{level, msg, append(attrs, slog.String("path", s.Path))})
	s.stats.untold.Store(true)
}

// tell hands the records kept so far to the Logger.
func (s *Source) tell() {
	if !s.stats.untold.Load() {
		return // nearly always, and without a lock
	}
	s.stats.mu.Lock()
	records := s.stats.records
	s.stats.records = nil
	s.stats.untold.Store(false)
	s.stats.mu.Unlock()
	for _, r := range records {
		s.Logger.LogAttrs(context.Background(), r.level, r.msg, r.attrs...)
	}
}

// recover ends a run of failures and reports whether this call ended it.
func (c *counters) recover() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason = ""
	return c.failing.Swap(false)
}

// fail counts a failure and reports whether its reason is a new one.
func (c *counters) fail(err *Error, reason string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	*c.seen.Failures.count(err)++
	c.seen.LastFailure, c.seen.LastError = now, err
	c.failing.Store(true)
	changed := reason != c.reason
	c.reason = reason
	return changed
}

// noteStale reports whether t's staleness is news.
func (c *counters) noteStale(t *Token) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := c.staleLog != t
	c.staleLog = t
	return news
}

// reasonOf is err's text without what the clock alone changes in it.
func reasonOf(err error) string {
	var expired *ExpiredError
	var early *NotYetValidError
	switch {
	case errors.As(err, &expired):
		return "expired " + strconv.FormatInt(expired.Expiry.UnixNano(), 10)
	case as[*LifetimeError](err):
		return "lifetime"
	case errors.As(err, &early):
		return "not before " + strconv.FormatInt(early.NotBefore.UnixNano(), 10)
	}
	return err.Error()
}
