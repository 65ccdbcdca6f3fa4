package soak

import "time"

// Rotation is one token that was replaced by another.
type Rotation struct {
	Seen     time.Time `json:"seen"`              // when the new token was seen
	Expired  time.Time `json:"expired,omitzero"`  // when the token before it ends, or ended
	LoggedIn time.Time `json:"loggedIn,omitzero"` // when the first login succeeded that began after; zero if none has

	before bool // a login succeeded with the token before it
	tried  bool // a login that began after it has ended
}

// crossed says that logins succeeded on both sides.
func (r *Rotation) crossed() bool { return r.before && !r.LoggedIn.IsZero() }

// keptRotations is how many a verdict lists.
const keptRotations = 100

// rotations counts all and keeps the last ones.
type rotations struct {
	seen, crossed int
	skipped       int  // were followed by the next one before a login was tried
	first         bool // a login was tried with the token before all of them
	untried       int  // 1 if none was: the rotation that came then cannot be crossed
	last          []*Rotation
	missed        []time.Time   // of those without a login until the next one, the last ones
	missedCount   int           // all of those
	gap           time.Duration // the longest from a rotation to the next login
}

// current is the last one, nil if there was none.
func (r *rotations) current() *Rotation {
	if len(r.last) == 0 {
		return nil
	}
	return r.last[len(r.last)-1]
}

func (r *rotations) add(next *Rotation) {
	switch before := r.current(); {
	case before == nil && !r.first:
		r.untried = 1
	case before == nil || !before.LoggedIn.IsZero():
	case !before.tried:
		r.skipped++
		next.before = before.before // the last token that was tried
	default:
		r.missedCount++
		r.missed = keep(r.missed, before.Seen)
	}
	r.seen++
	if len(r.last) == keptRotations {
		r.last = append(r.last[:0], r.last[1:]...)
	}
	r.last = append(r.last, next)
}

// counted are those that a login could tell from the one before. A kubelet that
// is restarted replaces a token at any time, maybe twice between two logins or
// before the first.
func (r *rotations) counted() int { return r.seen - r.skipped - r.untried }

// tried notes a login that has ended, however, and began at began.
func (r *rotations) tried(began time.Time) {
	rotation := r.current()
	switch {
	case rotation == nil:
		r.first = true
	case !began.Before(rotation.Seen):
		rotation.tried = true
	}
}

// loggedIn notes a login that succeeded at now and began at began. It says
// whether that is the first one since a rotation.
func (r *rotations) loggedIn(began, now time.Time) bool {
	rotation := r.current()
	if rotation == nil || !rotation.LoggedIn.IsZero() || began.Before(rotation.Seen) {
		return false
	}
	rotation.LoggedIn = now
	r.gap = max(r.gap, now.Sub(rotation.Seen))
	if rotation.crossed() {
		r.crossed++
	}
	return true
}

// waiting says that the last rotation has had no login yet.
func (r *rotations) waiting() bool { return r.seen > 0 && r.current().LoggedIn.IsZero() }

// list is a copy without what is not to be published.
func (r *rotations) list() []Rotation {
	list := make([]Rotation, 0, len(r.last))
	for _, rotation := range r.last {
		list = append(list, *rotation)
	}
	return list
}

// keptTimes is how many times a point lists.
const keptTimes = 8

// keep appends, and forgets the first one when there are enough.
func keep(times []time.Time, t time.Time) []time.Time {
	if len(times) == keptTimes {
		times = append(times[:0], times[1:]...)
	}
	return append(times, t)
}
