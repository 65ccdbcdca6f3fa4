package tokenfile

import (
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

// Stats is what a Source counted since its first use, for metrics and for the
// person who is paged.
type Stats struct {
	Reads     uint64 // times that the file was opened
	Rotations uint64 // times that its token had changed
	Failures  Failures

	LastRead     time.Time // last read that ended with a valid token
	LastRotation time.Time // when the last rotation was seen
	LastFailure  time.Time // last read that ended without a valid token
	LastError    error     // what that one failed with; stays after a recovery

	Expiry  time.Time // exp of the last good token, zero if there is none
	Stale   bool      // that token should have been replaced by now: see Kubernetes.WarnAfter
	Failing bool      // the last read ended without a valid token
	SubPath bool      // the file is a mount of its own, which no rotation reaches
	Polling bool      // a Watch loop runs without file notifications
}

// Failures counts reads that ended without a valid token, by their cause.
type Failures struct {
	Missing     uint64 // no file: fs.ErrNotExist
	Permission  uint64 // fs.ErrPermission
	Malformed   uint64 // ErrMalformed
	NoExpiry    uint64 // ErrNoExpiry
	Expired     uint64 // *ExpiredError
	NotYetValid uint64 // *NotYetValidError
	Audience    uint64 // *AudienceError
	Claim       uint64 // *ClaimError
	Lifetime    uint64 // *LifetimeError
	Other       uint64 // a directory in its place, an I/O error
}

// Total returns the sum of all causes.
func (f Failures) Total() uint64 {
	return f.Missing + f.Permission + f.Malformed + f.NoExpiry + f.Expired +
		f.NotYetValid + f.Audience + f.Claim + f.Lifetime + f.Other
}

// count returns where err is counted.
func (f *Failures) count(err error) *uint64 {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &f.Missing
	case errors.Is(err, fs.ErrPermission):
		return &f.Permission
	case errors.Is(err, ErrMalformed):
		return &f.Malformed
	case errors.Is(err, ErrNoExpiry):
		return &f.NoExpiry
	case as[*ExpiredError](err):
		return &f.Expired
	case as[*NotYetValidError](err):
		return &f.NotYetValid
	case as[*AudienceError](err):
		return &f.Audience
	case as[*ClaimError](err):
		return &f.Claim
	case as[*LifetimeError](err):
		return &f.Lifetime
	}
	return &f.Other
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// counters is what Stats is made from. What a good read touches is atomic; the
// rest is behind the mutex.
type counters struct {
	reads     atomic.Uint64
	lastRead  atomic.Int64 // Unix nanoseconds
	inspected atomic.Int64 // Unix nanoseconds
	failing   atomic.Bool
	frozen    atomic.Bool  // no rotation reaches the file
	mounted   atomic.Bool  // because it is a mount of its own
	polling   atomic.Int64 // Watch loops without file notifications

	untold atomic.Bool // there are records

	mu       sync.Mutex
	seen     Stats  // Rotations, Failures and the last times
	reason   string // of the last failure that was logged
	staleLog *Token // the token whose staleness was logged
	records  []record
}

// inspectionDue reports, once per inspectEvery, that a look at the file is to
// include its link count.
func (c *counters) inspectionDue(now time.Time) bool {
	last, n := c.inspected.Load(), now.UnixNano()
	return (n < last || n-last >= int64(inspectEvery)) && c.inspected.CompareAndSwap(last, n)
}

// Stats returns what was counted so far.
func (s *Source) Stats() Stats {
	c := &s.stats
	c.mu.Lock()
	stats := c.seen
	c.mu.Unlock()
	stats.Reads = c.reads.Load()
	if n := c.lastRead.Load(); n != 0 {
		stats.LastRead = time.Unix(0, n)
	}
	stats.Failing = c.failing.Load()
	stats.SubPath = c.frozen.Load()
	stats.Polling = c.polling.Load() > 0
	if snap := s.last.Load(); snap != nil {
		stats.Expiry = snap.token.Expiry()
		stats.Stale = snap.token.stale(time.Now())
	}
	return stats
}

// stale reports that the API server expected another token by now.
func (t *Token) stale(now time.Time) bool {
	warn := t.kubernetes.WarnAfter
	return !warn.IsZero() && now.After(warn)
}
