package fleet

import "time"

// The clients of others, modelled. All of them send what they send through
// Vault's client, and all wait for ten seconds after a login that failed.

const (
	afterFailure = 10 * time.Second
	everyTick    = 45 * time.Minute
)

// try makes a request as Vault's client does: up to three times within a
// minute where that may help.
func (p *pod) try(k kind) (o outcome, alive bool) {
	end := p.now + time.Minute
	for attempt := 1; ; attempt++ {
		o, alive = p.send(k, end-p.now)
		if !alive || attempt == 3 || o != full && o != down {
			return o, alive
		}
		pause := time.Duration(attempt) * p.uniform(time.Second, 1500*time.Millisecond)
		if !p.sleepUntil(min(end, p.now+pause)) {
			return o, false
		}
		if p.now >= end {
			return o, true
		}
	}
}

// enter logs in, however often that takes.
func (p *pod) enter() (alive bool) {
	for {
		o, alive := p.try(login)
		if !alive {
			return false
		}
		if o == served {
			p.grant()
			return true
		}
		if !p.sleep(afterFailure) {
			return false
		}
	}
}

// runReadOnce logs in anew when nine tenths of the lease have passed, and each
// time with the token that the file held at the start.
func runReadOnce(p *pod) {
	p.jwtEnd = p.life.From + tokenLife
	for p.enter() && p.sleep(leaseTTL*9/10) {
	}
}

// runTimer logs in anew every 45 minutes, with the token that the file holds.
func runTimer(p *pod) {
	for p.enter() {
		rounds := (p.now-p.life.From)/everyTick + 1
		if !p.sleepUntil(p.life.From + rounds*everyTick) {
			return
		}
	}
}

// runWatcher is the loop of Vault's documentation: log in, let a
// LifetimeWatcher renew until it ends, and begin again.
func runWatcher(p *pod) {
	for p.enter() && p.watch() {
	}
}

// watch models LifetimeWatcher.
func (p *pod) watch() (alive bool) {
	initial, ttl, prior := p.now, leaseTTL, leaseTTL
	grace := p.uniform(ttl/10, ttl/5)
	var retry *retries
	for dead := false; ; {
		remaining := initial + prior - p.now
		if !dead {
			o, alive := p.try(renewal)
			switch {
			case !alive:
				return false
			case o == denied:
				dead = true
				continue
			case o == served:
				retry, initial, ttl = nil, p.now, p.extend()
				remaining = ttl
			default:
				remaining = initial + ttl - p.now
				if retry == nil {
					retry = &retries{start: p.now, most: remaining, interval: 10 * time.Second}
				}
			}
		}
		var pause time.Duration
		if retry == nil {
			if remaining > prior {
				grace = p.uniform(remaining/10, remaining/5)
			}
			pause = remaining*2/3 + grace/3
		} else {
			pause = retry.next(p)
		}
		prior = remaining
		if remaining <= grace || remaining-pause <= grace {
			return true
		}
		if !p.sleep(pause) {
			return false
		}
	}
}

// retries is the watcher's back-off, whose word for "stop" is taken for no pause.
type retries struct{ start, most, interval time.Duration }

func (r *retries) next(p *pod) time.Duration {
	pause := p.uniform(r.interval/2, r.interval*3/2)
	r.interval = min(2*r.interval, 5*time.Minute)
	if p.now-r.start+pause > r.most {
		return 0
	}
	return pause
}
