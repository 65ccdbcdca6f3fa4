package soak

import (
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// The kubelet's rule: a token is replaced when four fifths of its life have
// passed, or when it is a day old, as seen at looks that are up to 90 s apart.
const (
	oldest   = 24 * time.Hour
	look     = 90 * time.Second
	meanLook = 75 * time.Second
)

// injected is the lifetime that the API server's admission asks for when a
// pod's spec declares no token.
const injected = 3607 * time.Second

// lifetime is a token's, as far as its claims tell.
type lifetime struct {
	from     time.Time     // iat; when it was seen, if the token does not say
	span     time.Duration // as the kubelet counts it
	extended bool          // to a year, by the API server
	whole    time.Duration // exp less iat; 0 if the token does not say
}

func lifetimeOf(token *tokenfile.Token, now time.Time) lifetime {
	life := lifetime{from: token.IssuedAt()}
	end := token.Expiry()
	if life.from.IsZero() {
		life.from = now
	} else {
		life.whole = end.Sub(life.from)
	}
	if warn := token.Kubernetes().WarnAfter; !warn.IsZero() {
		end, life.extended = warn, true
	}
	life.span = end.Sub(life.from)
	return life
}

// step is how long after it was issued a token's rotation is due.
func (l lifetime) step() time.Duration { return min(l.span*4/5, oldest) }

// due is when the kubelet replaces the token, at the earliest but for seconds.
func (l lifetime) due() time.Time { return l.from.Add(l.step()) }

// late is when the rotation is overdue, whatever the kubelet's jitter.
func (l lifetime) late() time.Time { return l.due().Add(l.scaled(look)) }

// scaled shortens a time of the kubelet's for a token that lives for less than
// a real one can, as in a demonstration.
func (l lifetime) scaled(d time.Duration) time.Duration {
	const shortest = 10 * time.Minute
	if l.span >= shortest {
		return d
	}
	return time.Duration(float64(d) * float64(l.span) / float64(shortest))
}

// end is when the token should have been replaced at the very latest.
func (l lifetime) end() time.Time { return l.from.Add(l.span) }

// plan says when so many more rotations will have been, if the kubelet is on
// time.
func (l lifetime) plan(now time.Time, rotations int) time.Time {
	pause := l.scaled(meanLook)
	next := l.due().Add(pause)
	if next.Before(now) {
		next = now.Add(pause)
	}
	return next.Add(time.Duration(rotations-1) * (l.step() + pause))
}
