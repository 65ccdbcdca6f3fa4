package fleet

import (
	"iter"
	"math/rand/v2"
	"time"
)

// model plays the programs of many pods on one clock. It is as a test bubble
// would be, and hundreds of times as fast: a pod that sleeps is an entry in a
// queue. The same seed gives the same run.
type model struct {
	party *Party
	now   time.Duration
	queue queue
	seed  uint64
	pods  uint64
	stops []func()
	first *rand.Rand // for when pods start
}

func newModel(p *Party, seed uint64) *model {
	return &model{party: p, seed: seed, first: rand.New(rand.NewPCG(seed, 1<<63))}
}

func (m *model) uniform(from, to time.Duration) time.Duration { return between(m.first, from, to) }

func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Float64()*float64(to-from))
}

// program is what a pod runs. It ends when one of the pod's methods says that
// the pod has ended.
type program func(*pod)

// pod is what a program has of the world.
type pod struct {
	*model
	life   Span
	random *rand.Rand
	yield  func(time.Duration) bool
	valid  time.Duration // until when its token is
	born   time.Duration // when it was had
	jwtEnd time.Duration // when what it logs in with expires; 0: it reads the file
}

// start lets a pod run p.
func (m *model) start(life Span, p program) {
	one := &pod{model: m, life: life, random: rand.New(rand.NewPCG(m.seed, m.pods)), valid: life.From}
	m.pods++
	next, stop := iter.Pull(func(yield func(time.Duration) bool) {
		one.yield = yield
		p(one)
	})
	m.stops = append(m.stops, stop)
	m.queue.push(event{at: life.From, number: m.pods, next: next})
}

// run lets all pods run until the end of what the load counts.
func (m *model) run() {
	for length := m.party.Load.length(); len(m.queue) > 0 && m.queue[0].at < length; {
		e := m.queue.pop()
		m.now = e.at
		if at, ok := e.next(); ok {
			e.at = at
			m.queue.push(e)
		}
	}
	for _, stop := range m.stops {
		stop()
	}
}

// sleep returns false when the pod has ended.
func (p *pod) sleep(d time.Duration) bool { return p.sleepUntil(p.now + d) }

func (p *pod) sleepUntil(at time.Duration) bool {
	at = max(at, p.now)
	if at >= p.life.To || !p.yield(at) {
		if p.valid < p.life.To {
			p.party.gap(Span{p.valid, p.life.To})
			p.valid = p.life.To
		}
		return false
	}
	return true
}

// send makes one request, and waits for the answer for as long as patience.
func (p *pod) send(k kind, patience time.Duration) (o outcome, alive bool) {
	f := p.party.ask(p.now, k)
	o = f.outcome
	if limit := p.now + patience; f.at > limit {
		f.at = limit
		if o == served {
			o = late
		}
	}
	if o == served && !p.accepted(k, f.at) {
		o = denied
	}
	alive = p.sleepUntil(f.at)
	p.party.settle(f.at, k, o)
	return o, alive
}

// accepted says whether the server finds valid what the pod sent.
func (p *pod) accepted(k kind, at time.Duration) bool {
	if k == renewal {
		return at < p.valid
	}
	return p.jwtEnd == 0 || at < p.jwtEnd
}

// grant gives the pod a new token of the server's.
func (p *pod) grant() {
	p.hold(p.now + leaseTTL)
	p.born = p.now
}

// extend extends the token, as far as its max TTL allows, and returns the ttl.
func (p *pod) extend() time.Duration {
	ttl := min(leaseTTL, (p.born + leaseMax - p.now).Truncate(time.Second))
	p.hold(p.now + ttl)
	return ttl
}

// hold notes that the pod has a token until then.
func (p *pod) hold(until time.Duration) {
	p.party.gap(Span{p.valid, p.now})
	p.valid = until
}

// uniform is a duration between the two.
func (p *pod) uniform(from, to time.Duration) time.Duration {
	return between(p.random, from, to)
}

// event is when a pod goes on. Those at the same time go on in the order in
// which they were started.
type event struct {
	at     time.Duration
	number uint64
	next   func() (time.Duration, bool)
}

func (e event) before(other event) bool {
	return e.at < other.at || e.at == other.at && e.number < other.number
}

// queue is a binary heap: that of the standard library costs twice the time.
type queue []event

func (q *queue) push(e event) {
	h := append(*q, e)
	*q = h
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *queue) pop() event {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h[last] = event{}
	h = h[:last]
	*q = h
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < last && h[child].before(h[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
