package soak

import (
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
)

// Event is something that a person wants to know while it happens.
type Event struct {
	At   time.Time
	Kind Kind
	Text string // on one line
}

// Kind is what sort of event it is.
type Kind string

// The kinds.
const (
	Begun     Kind = "begun"
	Rotated   Kind = "rotated"
	LoggedIn  Kind = "logged in" // for the first time since a rotation
	Failing   Kind = "failing"   // the first of like failures
	Recovered Kind = "recovered"
	Overdue   Kind = "overdue" // the kubelet is late
)

// Status is how far a soak is.
type Status struct {
	Now       time.Time
	Logins    map[party.Outcome]int
	Rotations int       // seen
	Wanted    int       // rotations that end the soak; 0 if only the time does
	Next      time.Time // when the next rotation is due
	End       time.Time // when the soak ends, if the kubelet is on time
	Part      float64   // that is done, from 0 to 1
}
