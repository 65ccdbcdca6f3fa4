package fleet

import (
	"sync"
	"time"
)

// Party is a relying party: a server with a queue. Times are since the start of
// the run. Its fields are set before first use and not changed after, and its
// methods are safe for concurrent use.
type Party struct {
	Capacity float64       // requests a second
	Room     time.Duration // how long what waits may take; who finds more is told 503
	Outage   Span          // when connections are refused
	Load     *Load         // what is counted

	mu   sync.Mutex
	busy time.Duration // when all that was let in will have been served
}

// Span is a time from its start until its end, which is not part of it.
type Span struct{ From, To time.Duration }

func (s Span) has(at time.Duration) bool { return s.From <= at && at < s.To }

// onTheWay is what a request takes beside its service.
const onTheWay = 5 * time.Millisecond

// kind is what a request asks for.
type kind uint8

const (
	login kind = iota
	renewal
)

// outcome is what a client gets for a request.
type outcome uint8

const (
	served outcome = iota
	full           // 503
	down           // no connection, or one that was cut
	late           // the client gave up; the server serves it all the same
	denied         // 403, for a token that has expired
)

// fate is what will become of a request unless the client gives up. A queue
// that is first come, first served knows it at once.
type fate struct {
	at      time.Duration // when the client gets to know it
	outcome outcome
}

// ask lets a request in at now, or does not.
func (p *Party) ask(now time.Duration, k kind) fate {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Load.asked(now, k)
	switch {
	case p.Outage.has(now):
		return fate{now + onTheWay, down}
	case p.busy-now > p.Room:
		return fate{now + onTheWay, full}
	}
	p.busy = max(p.busy, now) + time.Duration(float64(time.Second)/p.Capacity)
	at := p.busy + onTheWay
	if now < p.Outage.From && p.Outage.From <= at {
		p.busy = p.Outage.From // cut, with all that waits behind it
		return fate{p.Outage.From, down}
	}
	return fate{at, served}
}

// settle counts what a request came to.
func (p *Party) settle(at time.Duration, k kind, o outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Load.settled(at, k, o)
}

// gap counts a pod that had no valid token for a while.
func (p *Party) gap(s Span) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Load.gap(s)
}
