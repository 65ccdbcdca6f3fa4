package soak

import (
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
)

// Verdict is what a soak showed. Its JSON has the same fields; times are in
// RFC 3339, and those that are not known are left out.
type Verdict struct {
	Passed  bool   `json:"passed"` // every point that can be seen held
	Party   string `json:"party"`
	Path    string `json:"path"`    // of the token file
	Subject string `json:"subject"` // sub of the token

	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended"`
	Ending Ending    `json:"ending"`
	Next   time.Time `json:"next"` // when the next rotation is due

	Logins    map[party.Outcome]int `json:"logins"` // by outcome
	Rotated   int                   `json:"rotated"`
	Rotations []Rotation            `json:"rotations"` // the last 100
	Troubles  []Trouble             `json:"troubles"`  // the last 20 of each outcome, and the first

	Points []Point `json:"points"`
	ByHand []Step  `json:"byHand"` // what remains to be done by a person

	timeline timeline
}

// Ending is why a soak ended.
type Ending string

// The endings.
const (
	Rotations     Ending = "rotations"                    // as many as were asked for
	TimeIsUp      Ending = "time"                         // that was asked for
	Interrupted   Ending = "interrupted"                  // the verdict so far
	FirstRejected Ending = "the first login was rejected" // so that the rest would be
	Stuck         Ending = "no new token"                 // and the old one has been dead for minutes
)

func (r *run) verdict() Verdict {
	r.passed(r.ended)
	v := Verdict{
		Party: r.name(), Path: r.Party.Path(), Subject: bounded(r.token.Subject()),
		Began: r.began, Ended: r.ended, Ending: r.ending, Next: r.life.due(),
		Logins: r.logins, Rotated: r.rotations.seen, Rotations: r.rotations.list(), Troubles: r.troubles.list(),
		Points: r.points(), timeline: *r.timeline,
	}
	v.Passed = v.count(Failed) == 0 && v.count(NotYet) == 0
	v.ByHand = r.byHand(v.Points)
	return v
}

// count is how many points are in a state.
func (v Verdict) count(state State) int {
	n := 0
	for _, p := range v.Points {
		if p.State == state {
			n++
		}
	}
	return n
}
