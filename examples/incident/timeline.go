package main

import (
	"slices"
	"sync"
	"time"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A timeline is what has happened up to a moment. All times in it count from
// the mount of the first token.
type timeline struct {
	lifetime  time.Duration // of a token; stands for one hour
	length    time.Duration // of the whole demonstration
	now       time.Duration
	expiry    time.Duration // of the first token
	rotations []time.Duration
	lanes     []lane
	diagnosis string // what podtoken says of the default token
}

// A lane is one client's part.
type lane struct {
	name     string
	how      string // where it has its token from
	podtoken bool
	logins   []login
}

// A login is one attempt.
type login struct {
	at     time.Duration
	reason string // why it was refused, empty if it was not
	newer  bool   // with another token than the one accepted before
}

func (l login) accepted() bool { return l.reason == "" }

// count returns how many logins were accepted, how many were not, and how
// many tokens after its first the client took over.
func (l lane) count() (accepted, rejected, survived int) {
	for _, login := range l.logins {
		switch {
		case !login.accepted():
			rejected++
		case login.newer:
			survived++
			fallthrough
		default:
			accepted++
		}
	}
	return accepted, rejected, survived
}

// firstFailure returns the first login that was refused, if one was.
func (l lane) firstFailure() (login, bool) {
	i := slices.IndexFunc(l.logins, func(l login) bool { return !l.accepted() })
	if i < 0 {
		return login{}, false
	}
	return l.logins[i], true
}

// between returns the logins from one time to before another.
func (l lane) between(from, to time.Duration) []login {
	start, _ := slices.BinarySearchFunc(l.logins, from, byTime)
	end, _ := slices.BinarySearchFunc(l.logins, to, byTime)
	return l.logins[start:end]
}

func byTime(l login, at time.Duration) int { return int(l.at - at) }

// real returns which time on a real cluster, with tokens of one hour, t
// stands for.
func (t timeline) real(at time.Duration) time.Duration {
	return time.Duration(float64(at) * float64(time.Hour) / float64(t.lifetime))
}

// A recorder collects a timeline while it happens.
type recorder struct {
	start time.Time

	mu sync.Mutex
	timeline
}

// cast takes the clients as lanes.
func (r *recorder) cast(clients []client, diagnosis string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range clients {
		r.lanes = append(r.lanes, lane{name: c.name, how: c.how, podtoken: c.podtoken})
	}
	r.diagnosis = diagnosis
}

// login notes a login that was begun at that time, by the client of that lane.
func (r *recorder) login(lane int, at time.Time, l login) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.at = at.Sub(r.start)
	logins := &r.lanes[lane].logins
	*logins = append(*logins, l)
}

// mounted notes that a token is in the volume.
func (r *recorder) mounted(m tokenfiletest.Rotation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Number == 0 {
		r.expiry = m.Expiry.Sub(r.start)
		return
	}
	r.rotations = append(r.rotations, m.At.Sub(r.start))
}

// snapshot returns what has happened so far. It shares memory with what is to
// come, which is only ever appended.
func (r *recorder) snapshot() timeline {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.timeline
	t.lanes = slices.Clone(t.lanes)
	t.now = min(time.Since(r.start), t.length)
	return t
}
