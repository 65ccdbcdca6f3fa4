package fleet

import "time"

// What the stories share.
const (
	leaseTTL  = time.Hour
	leaseMax  = 24 * time.Hour
	tokenLife = time.Hour        // of the pod's token, which is replaced in time
	period    = 39 * time.Minute // of a session's renewals: 0.65 of a lease on average
	margin    = 5                // the server's capacity, in multiples of the sessions' mean load

	shallow = 10 * time.Second // what a server lets wait that knows its limits
	deep    = 2 * time.Minute  // and one that does not

	twoDays = 48 * time.Hour
)

// Trouble is at a time when most kinds of clients are about to log in: the
// timers at the third hour, half of the watchers at the start.
var trouble = Span{171 * time.Minute, 181 * time.Minute}

// capacity is how many requests a second the server of so many pods serves.
func capacity(pods int) float64 { return max(1, margin*float64(pods)/period.Seconds()) }

// meanLoad is the requests a second that these pods need, if they are spread evenly.
func meanLoad(pods int) float64 { return float64(pods) / period.Seconds() }

// client is a kind of programs.
type client struct {
	name  string
	model program
}

var clients = []client{
	{"podtoken", asIs.run},
	{"LifetimeWatcher", runWatcher},
	{"a timer of 45 minutes", runTimer},
	{"the token read once", runReadOnce},
}

// never is later than all that is played.
const never = time.Duration(1 << 60)

// story is what happens.
type story struct {
	length  time.Duration
	room    time.Duration
	ample   bool    // the server has all the capacity that anybody can want
	times   float64 // its capacity in multiples of the even load, if not margin
	outage  Span
	start   time.Duration // in which the pods start; if zero, a second
	restart Span          // in which the pods are replaced, one after the other
}

var (
	steady  = story{length: twoDays, room: shallow}
	outage  = story{length: 5 * time.Hour, room: shallow, outage: trouble}
	restart = story{length: 5 * time.Hour, room: shallow, restart: trouble}

	// The pods do not start together, since that alone would be the end of
	// such a server.
	deepOutage = story{length: 5 * time.Hour, room: deep, outage: trouble, start: period}

	// AWS's STS has no limit here: what is asked of it is the matter.
	steadyAWS = story{length: twoDays, room: time.Hour, ample: true}
)

// party is the server of a story.
func (s story) party(pods int) *Party {
	p := &Party{Capacity: capacity(pods), Room: s.room, Outage: s.outage, Load: newLoad(s.length)}
	switch {
	case s.ample:
		p.Capacity = 1e6
	case s.times > 0:
		p.Capacity = s.times * meanLoad(pods)
	}
	return p
}

// lives are when the pods of a story start and end: all in the first second,
// and after a restart as many again.
func (s story) lives(pods int, uniform func(from, to time.Duration) time.Duration) []Span {
	lives := make([]Span, pods, 2*pods)
	for i := range lives {
		lives[i] = Span{uniform(0, max(s.start, time.Second)), never}
		if width := s.restart.To - s.restart.From; width > 0 {
			at := s.restart.From + width*time.Duration(i)/time.Duration(pods)
			lives[i].To = at
			lives = append(lives, Span{at, never})
		}
	}
	return lives
}

// down is the story with an outage of d; if that is zero, with none, and then
// all pods start in the same second. It is played for five hours after it.
func (s story) down(d time.Duration) story {
	if s.outage, s.start = (Span{trouble.From, trouble.From + d}), period; d == 0 {
		s.outage, s.start = Span{}, 0
	}
	s.length = trouble.From + d + 5*time.Hour
	return s
}

// queueing is the story with a server that lets requests wait for so long.
func (s story) queueing(room time.Duration) story {
	s.room = room
	return s
}

// with is the story with a server of so many times the even load.
func (s story) with(times float64) story {
	s.times = times
	return s
}

// lasting is the story up to a time.
func (s story) lasting(d time.Duration) story {
	s.length = min(s.length, d)
	return s
}

// play plays a story with models.
func (s story) play(pods int, c client, seed uint64) *Party {
	p := s.party(pods)
	m := newModel(p, seed)
	for _, life := range s.lives(pods, m.uniform) {
		m.start(life, c.model)
	}
	m.run()
	return p
}
