package fleet

import "time"

// session models vaultauth.Session as NewSession makes it, with Run as the
// first that is called: its schedule, its pauses and how long it waits for an
// answer. What it leaves out does not occur here: refused renewals, look-ups,
// Retry-After.
type session struct {
	*pod
	schedule
	lease lease // none, if its ttl is zero
	do    kind
	at    time.Duration

	average  time.Duration // of the next pause between failed attempts
	patience time.Duration // how long an attempt waits for its answer, if the lease allows it
	alike    bool
	failed   bool // the last login
}

// schedule is what of a session the stories ask about.
type schedule struct {
	rarest time.Duration // what the average pause between failed attempts grows to
	wait   time.Duration // what the patience grows to, each time that it was not enough
}

const (
	firstWait = 30 * time.Second
	leastWait = 5 * time.Second
)

// asIs is the session's. Impatient never waits for more than a client does by
// default. Hasty asks more often too, and does not learn to wait, which is the
// end of a server that lets requests wait for longer than it does.
var (
	asIs      = schedule{rarest: 90 * time.Second, wait: 150 * time.Second}
	impatient = schedule{rarest: 90 * time.Second, wait: time.Minute}
	hasty     = schedule{rarest: 30 * time.Second, wait: firstWait}
)

// lease is what the pod knows of its token.
type lease struct{ start, ttl, full, born time.Duration }

func (l lease) none() bool         { return l.ttl == 0 }
func (l lease) end() time.Duration { return l.start + l.ttl }
func (l lease) capped() bool       { return l.ttl < l.full }

func (sc schedule) run(p *pod) {
	s := &session{pod: p, schedule: sc, at: p.now, alike: true}
	s.answered(0)
	for p.sleepUntil(s.at) && s.act() {
	}
}

func (s *session) act() bool {
	if s.do == renewal {
		return s.renew()
	}
	return s.login()
}

func (s *session) login() bool {
	start, before := s.now, s.lease
	o, alive := s.send(login, s.timeout())
	switch {
	case !alive:
		return false
	case o == served:
		s.alike = before.none() || s.failed
		s.grant()
		s.lease = lease{start: start, born: start, ttl: leaseTTL, full: leaseTTL}
		s.plan()
		return true
	}
	s.failed = true
	s.do, s.at = login, s.now+s.pause(o)
	if l := s.lease; !l.none() && !l.capped() && s.at < l.end() {
		s.do = renewal
	}
	return true
}

func (s *session) renew() bool {
	start := s.now
	o, alive := s.send(renewal, s.timeout())
	switch {
	case !alive:
		return false
	case o == served:
		s.lease.start, s.lease.ttl = start, s.extend()
		s.plan()
	case o == denied:
		s.lease, s.do, s.at = lease{}, login, s.now
	default:
		s.postpone(s.now + s.pause(o))
	}
	return true
}

func (s *session) postpone(at time.Duration) {
	s.do = renewal
	if last := s.lease.start + part(s.lease.ttl, 0.9); at >= last {
		s.do = login
		if s.now < last {
			at = last
		}
	}
	s.at = at
}

// plan follows an answer that gave a lease.
func (s *session) plan() {
	s.failed = false
	s.answered(s.now - s.lease.start)
	l := s.lease
	when, which := s.random.Float64(), s.random.Float64()
	if l.capped() {
		s.do, s.at = login, l.start+part(l.ttl, when/2)
		return
	}
	from := 0.45
	if s.alike && l.start == l.born {
		from = 0.2
	}
	s.do = renewal
	if s.alike && which < 1.0/6 {
		s.do = login
	}
	s.at = l.start + part(l.ttl-min(time.Second, l.ttl/4), from+float64(when*(0.85-from))) // converted, lest some processors round it otherwise
}

// answered forgets what only a server in trouble needs, but for how long it took.
func (s *session) answered(took time.Duration) {
	s.average, s.patience = time.Second, min(max(2*took, firstWait), s.wait)
}

func (s *session) timeout() time.Duration {
	if !s.lease.none() && s.now < s.lease.end() {
		return min(max((s.lease.end()-s.now)/4, leastWait), s.patience)
	}
	return s.patience
}

func (s *session) pause(o outcome) time.Duration {
	if o == late {
		s.patience = min(2*s.patience, s.wait)
	}
	d := max(s.uniform(0, 2*s.average), time.Second)
	s.average = min(2*s.average, s.rarest)
	return d
}

func part(d time.Duration, fraction float64) time.Duration {
	return time.Duration(float64(d) * fraction)
}
