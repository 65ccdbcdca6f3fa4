package awspodid

import "time"

// Stats is what a provider did.
type Stats struct {
	Fetches  uint64 // of credentials, that succeeded
	Failures uint64 // fetches that failed in all their attempts

	LastFetch   time.Time
	LastFailure time.Time
	LastError   error // nil once a fetch has succeeded again

	Expiry  time.Time // when the credentials end; zero if there are none
	Refresh time.Time // when they are refreshed at the earliest, if someone asks
}

// Stats returns the counters and times so far.
func (p *Provider) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.stats
	st.LastError = p.failed.err
	if h := p.current.Load(); h != nil {
		st.Expiry, st.Refresh = h.expiry, h.refresh
		if p.next.After(st.Refresh) {
			st.Refresh = p.next
		}
	}
	return st
}
