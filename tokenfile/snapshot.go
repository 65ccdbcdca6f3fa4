package tokenfile

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// minInterval is the shortest time between two scheduled looks at a file
	// that holds a good token, and the time between two looks at a bad one.
	minInterval = time.Second

	// inspectEvery is how often a file whose bytes did not change is asked
	// for its link count as well, which costs a system call.
	inspectEvery = time.Second
)

// parsed is one content of the file: immutable, shared by all who read it.
type parsed struct {
	content  string // the file's bytes, to which the next read is compared
	token    *Token
	modified time.Time // the file's modification time
	began    uint64    // the number of the read that found it
	until    time.Time // served before this: exp, less MinTTL
	from     time.Time // served from this on: nbf, less the allowance for skew
}

// serves reports whether the clock allows the token to be handed out.
func (p *parsed) serves(now time.Time) bool {
	return now.Before(p.until) && !now.Before(p.from)
}

// snapshot is what a Source publishes: a token, and until when it may be
// served without a look at the file (zero: never).
type snapshot struct {
	*parsed
	next  time.Time
	reads uint64 // how many reads had begun when it was published
}

// state is the part of a Source that changes.
type state struct {
	configured atomic.Bool  // the fields were found good
	watchers   atomic.Int64 // Watch loops that run
	stats      counters

	mu     sync.Mutex // guards publication and flight
	flight *flight
}

// flight is one read that several callers wait for.
type flight struct {
	done  chan struct{}
	token *Token
	err   error
}

// readShared reads the file for all callers that need it read now. Those who
// come while somebody reads get the last token, if it still serves, and wait
// for the outcome only if it does not.
func (s *Source) readShared(ctx context.Context) (*Token, error) {
	f, mine := s.join()
	if mine {
		defer s.tell()
		defer s.land(f)
		f.token, f.err = s.refresh()
		return f.token, f.err
	}
	if snap := s.last.Load(); snap != nil && snap.serves(time.Now()) {
		return snap.token, nil
	}
	select {
	case <-f.done:
		return f.token, f.err
	case <-ctx.Done():
		return nil, &Error{Path: s.Path, Err: ctx.Err()}
	}
}

// join returns the read in progress, or a new one that the caller must do.
func (s *Source) join() (f *flight, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil {
		return s.flight, false
	}
	s.flight = &flight{done: make(chan struct{}), err: &Error{Path: s.Path, Err: errAbandoned}}
	return s.flight, true
}

// land ends the read for those who wait, also should it panic.
func (s *Source) land(f *flight) {
	s.mu.Lock()
	s.flight = nil
	s.mu.Unlock()
	close(f.done)
}

// refresh reads the file and, should that fail, serves the last good token
// until its own expiry.
func (s *Source) refresh() (*Token, error) {
	p, err := s.look()
	if err == nil {
		s.succeeded(p)
		return p.token, nil
	}
	snap := s.postpone()
	err = s.failed(err, snap)
	if snap != nil {
		return snap.token, nil
	}
	return nil, err
}

// publish makes p what is served, unless a read that began later already
// published something else, or p is a bad successor of a good token. It
// returns p, or the equal content that is served already.
func (s *Source) publish(p *parsed) *parsed {
	p, replaced := s.swap(p)
	if replaced != nil {
		s.rotated(replaced, p)
	}
	return p
}

func (s *Source) swap(p *parsed) (canonical, replaced *parsed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	reads := s.stats.reads.Load()
	if cur := s.last.Load(); cur != nil {
		switch {
		case cur.content == p.content:
			p, reads = cur.parsed, cur.reads // one token, one pointer
		case cur.serves(now) && !p.serves(now):
			return p, nil
		case p.began <= cur.reads:
			// The two reads overlapped, and either may be the newer one: the
			// next call looks again.
			s.last.Store(&snapshot{parsed: cur.parsed, reads: cur.reads})
			return p, nil
		default:
			replaced = cur.parsed
		}
	}
	s.last.Store(&snapshot{parsed: p, next: s.nextLook(p, now), reads: reads})
	return p, replaced
}

// postpone lets the last token be served a little longer after a failed
// read, or returns nil if there is none that serves.
func (s *Source) postpone() *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	cur := s.last.Load()
	if cur == nil || !cur.serves(now) {
		return nil
	}
	next := *cur
	if !s.readsEveryCall() {
		next.next = now.Add(minInterval)
	}
	s.last.Store(&next)
	return &next
}

// fallback returns what Token serves although a read has failed, if anything.
func (s *Source) fallback() *snapshot {
	if cur := s.last.Load(); cur != nil && !s.readsEveryCall() && cur.serves(time.Now()) {
		return cur
	}
	return nil
}

// stopServing ends what a Watch loop promised: from now on Token looks by
// itself again.
func (s *Source) stopServing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers.Add(-1) > 0 {
		return
	}
	if cur := s.last.Load(); cur != nil {
		s.last.Store(&snapshot{parsed: cur.parsed, reads: cur.reads})
	}
}

// nextLook returns until when p may be served without a look at the file.
func (s *Source) nextLook(p *parsed, now time.Time) time.Time {
	switch {
	case s.watchers.Load() > 0:
		// Half as long again as the loop takes to look, so that Token waits
		// for a busy loop, but not for one that is stuck in its body.
		every := p.every(watchInterval, now)
		return now.Add(every + every/2)
	case s.MaxAge > 0:
		return now.Add(p.every(s.MaxAge, now))
	}
	return time.Time{}
}

// every returns how long after now to look at the file again: maxAge at
// most, a quarter of the remaining life, and not more often than once in
// minInterval.
func (p *parsed) every(maxAge time.Duration, now time.Time) time.Duration {
	deadline := p.token.deadline()
	if deadline.IsZero() {
		return maxAge
	}
	return min(maxAge, max(deadline.Sub(now)/4, minInterval))
}
