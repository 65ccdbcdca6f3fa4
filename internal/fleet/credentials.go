package fleet

import "time"

// refresher models a program that uses AWS credentials all the time, so that
// they are fetched as soon as whoever caches them wants that.
type refresher struct {
	life  time.Duration // of the credentials
	least time.Duration // which are fetched anew when they have no less than this left,
	most  time.Duration // and no more than this
	early bool          // but the first ones at any time of their life
}

func (r refresher) run(p *pod) {
	for early := r.early; ; {
		o, alive := p.send(login, time.Minute)
		if !alive {
			return
		}
		wait := afterFailure
		if o == served {
			p.hold(p.now + r.life)
			wait = r.life - p.uniform(r.least, r.most)
			if early {
				early, wait = false, p.uniform(time.Minute, wait)
			}
		}
		if !p.sleep(wait) {
			return
		}
	}
}

const (
	stsLife   = time.Hour     // of what STS gives if it is not asked for more
	agentLife = 6 * time.Hour // of what the agent gives
)

// provider is when awspodid.Provider fetches STS's credentials: the first ones
// are refreshed at any time of their life.
func provider(life time.Duration) refresher {
	r := window(life)
	r.early = true
	return r
}

// window is when it fetches the agent's, which would give the same again: always
// in the first half of the SDK's advisory window.
func window(life time.Duration) refresher {
	width := time.Hour
	if life <= 90*time.Minute {
		width = 15 * time.Minute
	}
	return refresher{life: life, least: width / 2, most: width}
}

// cache is when the SDK's does: at the end of STS's credentials, and five
// minutes before that of the agent's.
func cache(life time.Duration) refresher {
	return refresher{life: life, least: windowOf(life), most: windowOf(life)}
}

func windowOf(life time.Duration) time.Duration {
	if life == agentLife {
		return 5 * time.Minute
	}
	return 0
}
