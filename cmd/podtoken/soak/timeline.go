package soak

import (
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
)

// cells is how many a timeline has at most: what a picture has room for.
const cells = 120

// cell is what happened in a stretch of time.
type cell struct {
	logins    [4]int // by outcome
	rotations int
	expiries  int
}

// lanes are the outcomes that a timeline tells apart.
var lanes = [...]party.Outcome{party.Accepted, party.Refused, party.NoAnswer, party.NotSent}

func lane(outcome party.Outcome) int {
	for i, o := range lanes {
		if o == outcome {
			return i
		}
	}
	return len(lanes) - 1
}

// timeline counts what happened by time. It holds any length in the same
// memory: when it is full, each two cells become one.
type timeline struct {
	from  time.Time
	width time.Duration // of a cell
	cells []cell
}

func newTimeline(from time.Time, width time.Duration) *timeline {
	return &timeline{from: from, width: max(width, time.Millisecond)}
}

// at returns the cell of a time, the first one for what was before.
func (t *timeline) at(when time.Time) *cell {
	i := t.index(when)
	for i >= cells {
		t.merge()
		i = t.index(when)
	}
	for len(t.cells) <= i {
		t.cells = append(t.cells, cell{})
	}
	return &t.cells[i]
}

func (t *timeline) index(when time.Time) int {
	return int(max(0, when.Sub(t.from)/t.width))
}

func (t *timeline) merge() {
	for i := range t.cells {
		if i%2 == 0 {
			t.cells[i/2] = t.cells[i]
		} else {
			t.cells[i/2].add(t.cells[i])
		}
	}
	t.cells = t.cells[:(len(t.cells)+1)/2]
	t.width *= 2
}

func (c *cell) add(other cell) {
	for i, n := range other.logins {
		c.logins[i] += n
	}
	c.rotations += other.rotations
	c.expiries += other.expiries
}
