package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// recovers asserts that a fleet is back soon, and that the server does useful
// work at its capacity all the while, and has peace afterwards.
func recovers(t *testing.T, s story, pods int, p *Party, within time.Duration) {
	t.Helper()
	r := s.result("", "", pods, false, p)
	t.Logf("%.0f pods of %d were without a token, the last until %s after the end; busiest minute %.1f of the capacity; %.3f requests of each pod were served for nobody",
		r.Without, pods, r.recovered(), r.BusiestMin/r.Capacity, r.Wasted)
	assert.GreaterOrEqual(t, r.RecoveryTime, 0.0, "all have a token again")
	assert.LessOrEqual(t, r.RecoveryTime, within.Seconds())
	assert.Less(t, r.Wasted, 0.05)
	minute := func(counts []uint32) []float64 { return sums(counts, Span{trouble.To, s.length}, 60) }
	asked, useful := minute(p.Load.Asked), minute(p.Load.Useful)
	for i := range int(within / time.Minute) {
		if asked[i] > 1.1*60*p.Capacity {
			assert.Greater(t, useful[i], 0.9*60*p.Capacity, "minute %d: a busy server does useful work", i)
		}
	}
	later := asked[int(within/time.Minute):]
	assert.Less(t, most(later), min(60*p.Capacity/2, goal*mean(later)*byChance(mean(later), len(later))), "no second wave")
}

func TestSessionsRecoverFromAnOutageOfTenMinutes(t *testing.T) {
	t.Run("1,000 pods", func(t *testing.T) {
		t.Parallel()
		pods := 1000
		if underRace {
			t.Skip("SKIPPED under the race detector: a thousand sessions take minutes there; those of the model's tests are fewer")
		}
		recovers(t, outage, pods, outage.real(t, pods, realPrograms["podtoken"]), 6*time.Minute)
	})
	t.Run("20,000 modelled pods", func(t *testing.T) {
		t.Parallel()
		pods := 20_000
		if testing.Short() || underRace {
			pods = 2000
		}
		recovers(t, outage, pods, outage.play(pods, clients[0], 1), 6*time.Minute)
	})
	t.Run("and there is no other wave when its tokens reach their max TTL", func(t *testing.T) {
		t.Parallel()
		const pods = 5000
		s := outage
		s.length = 30 * time.Hour
		p := s.play(pods, clients[0], 1)
		recovers(t, s, pods, p, 6*time.Minute)
		later := sums(p.Load.Asked, Span{trouble.To + 2*period, s.length}, 60)
		assert.LessOrEqual(t, most(later)/mean(later), max(goal, byChance(mean(later), len(later))))
	})
}

// Where a server lets requests wait for longer than its clients do, it may
// come to serve nothing but requests that were given up. The control asks three
// times as often, and never comes back.
func TestServerThatLetsRequestsWaitForTwoMinutes(t *testing.T) {
	const pods = 1000
	recovers(t, deepOutage, pods, deepOutage.play(pods, clients[0], 1), 6*time.Minute)
	control := deepOutage.result("", "", pods, false, deepOutage.play(pods, client{"", hasty.run}, 1))
	assert.Negative(t, control.RecoveryTime)
	assert.Greater(t, control.Wasted, 5.0)
	for _, c := range clients[1:3] {
		r := deepOutage.result("", "", pods, false, deepOutage.play(pods, c, 1))
		assert.GreaterOrEqual(t, r.RecoveryTime, 0.0, "%s recovers", c.name)
	}
}

func TestRollingRestart(t *testing.T) {
	pods := 20_000
	if testing.Short() || underRace {
		pods = 2000
	}
	p := restart.play(pods, clients[0], 1)
	minutes := sums(p.Load.Asked, Span{trouble.From, restart.length}, 60)
	t.Logf("busiest minute %.2f of the capacity", most(minutes)/60/p.Capacity)
	assert.Less(t, most(minutes[:10])/60, 1.1*p.Capacity, "the logins of the new pods and the renewals of the others fit")
	later := sums(p.Load.Asked, Span{trouble.To + 2*period, restart.length}, 60)
	t.Logf("two periods later: busiest minute %.2f of the mean", most(later)/mean(later))
	assert.LessOrEqual(t, most(later)/mean(later), max(goal, byChance(mean(later), len(later))))
	assert.LessOrEqual(t, most(sums(p.Load.Without(), Span{trouble.From, restart.length}, 1)), 0.02*float64(pods))
	assert.Less(t, sum(sums(p.Load.Wasted, Span{trouble.From, restart.length}, 1)), 0.01*float64(pods))
}
