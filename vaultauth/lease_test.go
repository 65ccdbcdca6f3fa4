package vaultauth

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
)

func given(seconds int, renewable bool) answer {
	return answer{secret: &api.Secret{Auth: &api.SecretAuth{ClientToken: "t", LeaseDuration: seconds, Renewable: renewable}}}
}

func TestPlanOfALease(t *testing.T) {
	now := time.Now()
	renewable := newLease(given(3600, true), now)
	for name, c := range map[string]struct {
		lease    *lease
		do       action
		from, to time.Duration
	}{
		"after a login":                {renewable, renew, 26 * time.Minute, 51 * time.Minute},
		"after a renewal":              {renewable.renewed(given(3600, true).secret.Auth, now.Add(time.Minute)), renew, 26 * time.Minute, 52 * time.Minute},
		"near the max TTL":             {renewable.renewed(given(600, true).secret.Auth, now.Add(time.Minute)), login, time.Minute, 6 * time.Minute},
		"not renewable":                {newLease(given(3600, false), now), login, 26 * time.Minute, 51 * time.Minute},
		"a renewal was the last one":   {renewable.renewed(given(3600, false).secret.Auth, now.Add(time.Minute)), login, 27 * time.Minute, 52 * time.Minute},
		"a number of uses":             {newLease(answer{secret: given(3600, true).secret, numUses: 3}, now), login, 26 * time.Minute, 51 * time.Minute},
		"no lease":                     {newLease(given(0, true), now), login, 26 * time.Minute, 51 * time.Minute},
		"a hundred years":              {newLease(given(1<<31-1, true), now), renew, 164 * 24 * time.Hour, 312 * 24 * time.Hour},
		"more after a change of terms": {newLease(given(60, true), now).renewed(given(3600, true).secret.Auth, now), renew, 26 * time.Minute, 52 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			for range 1000 {
				do, at := c.lease.plan(false, rand.Float64(), 0)
				assert.Equal(t, c.do, do)
				assert.GreaterOrEqual(t, at.Sub(now), c.from)
				assert.LessOrEqual(t, at.Sub(now), c.to)
				assert.True(t, at.Before(c.lease.end()))
			}
		})
	}
}

// Pods that start in the same second must not stay together: from the third
// period on no twentieth of a period has 1.5 times its share of the requests,
// not even around the max TTL. LifetimeWatcher spreads 300 that start together
// over one second of an hour.
func TestFleetThatStartsTogetherSpreads(t *testing.T) {
	const pods, periods, perPeriod = 20000, 50, 20
	zero := time.Unix(0, 0)
	period := 39 * time.Minute // what 65 % of an hour is
	for name, terms := range map[string]struct {
		renewable bool
		max       time.Duration
	}{
		"renewable for ever": {true, 240 * time.Hour}, "not renewable": {false, 0}, "with a max TTL as long as the TTL": {true, time.Hour},
		"with a max TTL of three hours": {true, 3 * time.Hour}, "with a max TTL of a day": {true, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			var requests [periods * perPeriod]int
			for range pods {
				at, alike := zero, true
				l := newLease(given(3600, terms.renewable), at)
				for at.Sub(zero) < periods*period {
					var do action
					do, at = l.plan(alike, random.Float64(), random.Float64())
					if i := int(at.Sub(zero) * perPeriod / period); i < len(requests) {
						requests[i]++
					}
					if do == login {
						l, alike = newLease(given(3600, terms.renewable), at), false
						continue
					}
					ttl := min(time.Hour, l.born.Add(terms.max).Sub(at))
					l = l.renewed(given(int(ttl/time.Second), true).secret.Auth, at)
				}
			}
			total, most := 0, 0
			for _, n := range requests[2*perPeriod:] {
				total += n
				most = max(most, n)
			}
			mean := float64(total) / float64(len(requests)-2*perPeriod)
			t.Logf("at most %.2f of the mean", float64(most)/mean)
			assert.Less(t, float64(most)/mean, 1.5)
			assert.Less(t, float64(requests[0])/mean, 0.1, "nothing comes right after a login")
		})
	}
}

func TestPausesGrowToTheirBoundAndNeverVanish(t *testing.T) {
	for _, p := range []pace{soon, slow, died} {
		pauses := newPauses(p)
		var sum time.Duration
		for range 2000 {
			pause := pauses.next()
			assert.GreaterOrEqual(t, pause, floor)
			assert.LessOrEqual(t, pause, 2*p.most+1)
			sum += pause
		}
		assert.InDelta(t, float64(p.most), float64(sum/2000), float64(p.most)/10)
		pauses.reset()
		assert.LessOrEqual(t, pauses.next(), max(2*p.first+1, floor))
	}
}

func TestFormerTokensAreBounded(t *testing.T) {
	var f formerTokens
	assert.False(t, f.has("a"))
	f.add("a")
	f.add("a")
	assert.True(t, f.has("a"))
	for i := range maxFormer {
		f.add(string(rune(0x10000 + i)))
	}
	assert.False(t, f.has("a"), "the oldest goes")
	assert.Len(t, f.set, maxFormer)
	assert.Len(t, f.ring, maxFormer)
}
