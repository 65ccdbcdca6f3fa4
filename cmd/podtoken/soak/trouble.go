package soak

import (
	"strconv"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
)

// Trouble is a time in which logins failed alike, one after the other.
type Trouble struct {
	Outcome party.Outcome `json:"outcome"`
	From    time.Time     `json:"from"` // when the first of them ended
	To      time.Time     `json:"to"`   // when the last of them ended
	Logins  int           `json:"logins"`
	Error   string        `json:"error"` // of the first
}

// keptTroubles is how many of each outcome a verdict lists.
const keptTroubles = 20

// troubles are kept by outcome: an outage that comes and goes must not push a
// rejection out.
type troubles struct {
	kept    map[party.Outcome][]*Trouble
	count   map[party.Outcome]int
	current *Trouble // nil while logins succeed
}

func newTroubles() troubles {
	return troubles{kept: map[party.Outcome][]*Trouble{}, count: map[party.Outcome]int{}}
}

// add notes a failed login, and says whether it is the first of its kind.
func (t *troubles) add(outcome party.Outcome, at time.Time, err error) bool {
	if t.current != nil && t.current.Outcome == outcome {
		t.current.To = at
		t.current.Logins++
		return false
	}
	t.current = &Trouble{Outcome: outcome, From: at, To: at, Logins: 1, Error: oneLine(err)}
	t.count[outcome]++
	kept := t.kept[outcome]
	if len(kept) == keptTroubles {
		kept = append(kept[:1], kept[2:]...) // the first one tells most
	}
	t.kept[outcome] = append(kept, t.current)
	return true
}

// over notes a login that succeeded, and returns the trouble that it ended.
func (t *troubles) over() *Trouble {
	ended := t.current
	t.current = nil
	return ended
}

func (t *troubles) of(outcome party.Outcome) []*Trouble { return t.kept[outcome] }

// list is all that were kept, those of an outcome together.
func (t *troubles) list() []Trouble {
	list := []Trouble{}
	for _, outcome := range []party.Outcome{party.Refused, party.NoAnswer, party.NotSent} {
		for _, trouble := range t.kept[outcome] {
			list = append(list, *trouble)
		}
	}
	return list
}

const longestText = 1200 // bytes of an error that are shown

// oneLine is an error's text on one bounded line. The errors of this project
// are so by themselves.
func oneLine(err error) string {
	text := err.Error()
	if len(text) > longestText {
		return strconv.QuoteToASCII(text[:longestText]) + "..."
	}
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return strconv.Quote(text)
		}
	}
	return text
}
