package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// times turns counts by the second into a time for each that was counted.
func times(counts []uint32) (all []float64) {
	for second, n := range counts {
		for range n {
			all = append(all, float64(second))
		}
	}
	return all
}

// distance is the statistic of Kolmogorov and Smirnov: how far the shares of
// two sets of requests that were made by then are apart, at most.
func distance(a, b []uint32) float64 { return stat.KolmogorovSmirnov(times(a), nil, times(b), nil) }

// alike asserts that real code and its model made as many requests, at the
// same times, with the same success.
func alike(t *testing.T, real, model *Load) {
	t.Helper()
	whole := Span{0, real.length()}
	for name, counts := range map[string][2][]uint32{
		"requests":       {real.Asked, model.Asked},
		"logins":         {real.Logins, model.Logins},
		"useful answers": {real.Useful, model.Useful},
	} {
		r, m := sum(sums(counts[0], whole, 1)), sum(sums(counts[1], whole, 1))
		require.NotZero(t, r, name)
		d := distance(counts[0], counts[1])
		t.Logf("%s: %.0f and %.0f, %.3f apart", name, r, m, d)
		assert.InEpsilon(t, r, m, 0.12, name)
		assert.Less(t, d, 0.06, name)
	}
	// The start has most of the requests; what is drawn first shows after it.
	first := Span{10 * time.Minute, 100 * time.Minute}
	d := distance(real.within(first), model.within(first))
	t.Logf("requests of the first periods: %.3f apart", d)
	assert.Less(t, d, 0.1, "requests of the first periods")
}

// within are the requests of a span.
func (l *Load) within(s Span) []uint32 {
	return l.Asked[s.From/time.Second : s.To/time.Second]
}

// A model stands for the real code only while both do the same. When this
// fails, the real code has another schedule now, and the model needs it too.
func TestModelsDoAsTheRealCode(t *testing.T) {
	for _, c := range []struct {
		name   string
		client client
		story  story
		pods   int
	}{
		{"sessions that start together", clients[0], steady.lasting(6 * time.Hour), 300},
		{"sessions past their max TTL", clients[0], steady.lasting(30 * time.Hour), 150},
		{"sessions in an outage", clients[0], outage, 300},
		{"sessions after an outage of an hour, before a queue of two minutes", clients[0], outage.down(time.Hour).queueing(deep).lasting(280 * time.Minute), 300},
		{"sessions in a rolling restart", clients[0], restart, 300},
		{"watchers that start together", clients[1], steady.lasting(5 * time.Hour), 200},
		{"watchers in an outage", clients[1], outage, 400},
		{"timers in an outage", clients[2], outage.lasting(200 * time.Minute), 100},
		{"timers in a rolling restart", clients[2], restart.lasting(4 * time.Hour), 100},
		{"tokens that were read once", clients[3], steady.lasting(2 * time.Hour), 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			if underRace && c.client.name != clients[1].name { // whose retries in an outage differ much from pod to pod
				c.pods /= 2
			}
			t.Parallel()
			alike(t, c.story.real(t, c.pods, realPrograms[c.client.name]).Load, c.story.play(c.pods, c.client, 1).Load)
		})
	}
}

func TestModelsOfCredentialsDoAsTheRealCode(t *testing.T) {
	for life, name := range map[time.Duration]string{stsLife: "an hour", agentLife: "six hours"} {
		for who, r := range map[string]refresher{"podtoken": provider(life), "the SDK's cache": cache(life)} {
			t.Run(fmt.Sprintf("%s, %s", who, name), func(t *testing.T) {
				t.Parallel()
				s, pods := steadyAWS.lasting(4*life), int(150*time.Hour/life)
				real := s.real(t, pods, keeper(life, who == "podtoken")).Load
				model := s.play(pods, client{who, r.run}, 1).Load
				d := distance(real.Asked, model.Asked)
				t.Logf("%.0f and %.0f, %.3f apart", sum(sums(real.Asked, Span{0, s.length}, 1)), sum(sums(model.Asked, Span{0, s.length}, 1)), d)
				assert.Less(t, d, 0.1) // they were 0.05 apart at most
				if first := (Span{time.Minute, life}); who == "podtoken" && life == stsLife {
					d = distance(real.within(first), model.within(first))
					t.Logf("the first refreshes: %.3f apart", d)
					assert.Less(t, d, 0.3, "the first refreshes, of which there are few")
				}
			})
		}
	}
}

func TestSameSeedIsTheSameRun(t *testing.T) {
	s := outage.lasting(4 * time.Hour)
	first, again, other := s.play(200, clients[0], 7), s.play(200, clients[0], 7), s.play(200, clients[0], 8)
	assert.Equal(t, first.Load, again.Load)
	assert.NotEqual(t, first.Load, other.Load)
}
