package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
	"github.com/podtoken/podtoken/tokenfile"
)

// event is what --watch saw. Its JSON has one line and is stable; a time that is
// not known is left out.
type event struct {
	Time     time.Time      `json:"time"`
	Event    string         `json:"event"`
	Token    string         `json:"token"` // path of the file
	Audience []string       `json:"audience,omitempty"`
	Expiry   time.Time      `json:"expiry,omitzero"`
	Due      time.Time      `json:"rotationDue,omitzero"`
	Previous time.Time      `json:"previousExpiry,omitzero"`
	Left     doctor.Seconds `json:"leftSeconds,omitzero"` // that the previous token had; negative: nobody could log in for so long
	Error    string         `json:"error,omitempty"`

	never bool // nothing replaces the token
}

// The events.
const (
	eventHolds     = "holds" // the token that is there at first
	eventRotated   = "rotated"
	eventFailed    = "failed"
	eventRecovered = "recovered"
	eventOverdue   = "overdue"
)

// eventPrinter prints one line for each.
type eventPrinter struct {
	*person
	json bool
}

func newEventPrinter(output string, sys system) eventPrinter {
	return eventPrinter{&person{w: sys.stdout, stderr: sys.stderr, colours: sys.colours}, output == "json"}
}

func (p eventPrinter) print(e event) {
	if p.json {
		if line, err := json.Marshal(e); err == nil { // of these types it never fails
			p.printf("%s\n", line)
		}
		return
	}
	codes := map[string]string{eventRotated: green, eventRecovered: green, eventFailed: red, eventOverdue: red, eventHolds: cyan}
	p.printf("%s %s %s: %s\n", clock(e.Time), p.colour(codes[e.Event], e.Event), e.Token, e.text())
}

// text is the event for a person.
func (e event) text() string {
	switch e.Event {
	case eventFailed, eventOverdue:
		return e.Error
	case eventRotated:
		gap := "the one before had " + doctor.Rough(time.Duration(e.Left)) + " left"
		if e.Left < 0 {
			gap = "the one before had expired " + doctor.Rough(-time.Duration(e.Left)) + " ago"
		}
		return fmt.Sprintf("expires %s, before %s; %s; %s", clock(e.Expiry), clock(e.Previous), gap, e.nextText())
	}
	return fmt.Sprintf("for %s, expires %s; %s", cmp.Or(strings.Join(e.Audience, ", "), "no audience"), clock(e.Expiry), e.nextText())
}

func (e event) nextText() string {
	switch {
	case e.never:
		return "it will not be rotated"
	case e.Due.IsZero():
		return "when it is rotated is not known"
	case e.Due.Before(e.Time):
		return fmt.Sprintf("its rotation was due at %s, %s ago", clock(e.Due), doctor.Rough(e.Time.Sub(e.Due)))
	}
	return fmt.Sprintf("next rotation at %s, in %s", clock(e.Due), doctor.Rough(e.Due.Sub(e.Time)))
}

// clock is a time as a person compares it with logs.
func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// eventText is an error without the path, which the event has.
func eventText(err error) string {
	text := err.Error()
	if located := (*tokenfile.Error)(nil); errors.As(err, &located) && located.Err != nil {
		if at := strings.Index(text, located.Err.Error()); at > 0 {
			return text[at:]
		}
	}
	return text
}
