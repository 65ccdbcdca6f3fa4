package fleet

import "time"

// Load is what a Party met, second by second. It counts until its end, and
// ignores what comes later.
type Load struct {
	Asked  []uint32 // requests, also those that were not let in
	Logins []uint32 // those of them that are logins
	Useful []uint32 // answers that a client waited for, and that gave it a token
	Wasted []uint32 // requests that were served for nobody
	Failed []uint32 // whatever a client got in place of a useful answer

	without []int32 // changes of the number of pods without a valid token
}

func newLoad(length time.Duration) *Load {
	n := int(length / time.Second)
	return &Load{
		Asked: make([]uint32, n), Logins: make([]uint32, n), Useful: make([]uint32, n),
		Wasted: make([]uint32, n), Failed: make([]uint32, n), without: make([]int32, n),
	}
}

func (l *Load) length() time.Duration { return time.Duration(len(l.Asked)) * time.Second }

// Renewals are the requests that are no logins.
func (l *Load) Renewals() []uint32 {
	counts := make([]uint32, len(l.Asked))
	for i, n := range l.Asked {
		counts[i] = n - l.Logins[i]
	}
	return counts
}

func add[T int32 | uint32](counts []T, at time.Duration, n T) {
	if i := int(at / time.Second); i < len(counts) {
		counts[i] += n
	}
}

func (l *Load) asked(at time.Duration, k kind) {
	add(l.Asked, at, 1)
	if k == login {
		add(l.Logins, at, 1)
	}
}

func (l *Load) settled(at time.Duration, _ kind, o outcome) {
	switch o {
	case served:
		add(l.Useful, at, 1)
		return
	case late:
		add(l.Wasted, at, 1)
	}
	add(l.Failed, at, 1)
}

// gap notes a pod that had no valid token for a while.
func (l *Load) gap(s Span) {
	if s.From < s.To {
		add(l.without, s.From, 1)
		add(l.without, s.To, -1)
	}
}

// Without is the number of pods without a valid token, by the second.
func (l *Load) Without() []uint32 {
	counts, n := make([]uint32, len(l.without)), int32(0)
	for i, change := range l.without {
		n += change
		counts[i] = uint32(n)
	}
	return counts
}

// sums adds up counts in whole windows of so many seconds within the span.
func sums(counts []uint32, s Span, window int) []float64 {
	from, to := int(s.From/time.Second), min(int(s.To/time.Second), len(counts))
	var all []float64
	for ; from+window <= to; from += window {
		n := 0.0
		for _, c := range counts[from : from+window] {
			n += float64(c)
		}
		all = append(all, n)
	}
	return all
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

func mean(values []float64) float64 { return sum(values) / float64(max(1, len(values))) }

// most is the greatest of values, 0 if there are none.
func most(values []float64) (m float64) {
	for _, v := range values {
		m = max(m, v)
	}
	return m
}
