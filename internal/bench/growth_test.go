package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
)

func TestTokensAreAlmostAsLongAsWanted(t *testing.T) {
	for _, size := range thorough.TokenSizes {
		tokens, err := issueOf(size)
		require.NoError(t, err)
		for _, token := range tokens {
			assert.LessOrEqual(t, len(token), size)
			assert.Greater(t, len(token), size-16)
		}
		assert.False(t, tokens[0] == tokens[1], "a rotation would change nothing")
	}
	_, err := issueOf(100)
	assert.ErrorContains(t, err, "too short")
}

// The longest is the longest that is accepted: else growth ends too early.
func TestLongestTokenIsAtTheLimit(t *testing.T) {
	place := newTestPlace(t)
	for size, good := range map[int]bool{64 << 10: true, 64<<10 + 100: false} {
		tokens, err := issueOf(size)
		require.NoError(t, err)
		place.tokens = tokens
		v, err := place.volume()
		require.NoError(t, err)
		_, err = (&tokenfile.Source{Path: v.path(), Audience: audience}).Token(t.Context())
		assert.Equal(t, good, err == nil)
	}
}

func TestCostIsMeasuredAtEachSize(t *testing.T) {
	place := newTestPlace(t)
	usual := place.tokens
	p := hasty
	p.TokenSizes, p.Sources = []int{2 << 10, 4 << 10}, []int{1, 3}
	p.Goroutines, p.CrowdRounds = []int{1, 20}, fewest
	r := &Report{}
	require.NoError(t, p.tokenSizes(t.Context(), r, place))
	require.NoError(t, p.sources(t.Context(), r, place))
	require.NoError(t, p.goroutines(t.Context(), r, place))
	assert.True(t, usual == place.tokens, "what comes after must have the usual token")
	require.Len(t, r.Growths, 2+len(crowds))
	for _, g := range r.Growths {
		require.Len(t, g.Points, 2, g.Title)
		assert.Less(t, g.Points[0].Size, g.Points[1].Size, g.Title)
		for _, point := range g.Points {
			for _, row := range point.Rows {
				assert.Positive(t, row.NsPerOp, "%s, %s", g.Title, row.Work)
				assert.Positive(t, row.OfLimit, "%s, %s", g.Title, row.Work)
			}
		}
	}
}

func TestRoundTakesEachInTurn(t *testing.T) {
	place := newTestPlace(t)
	volumes, err := place.volumes(3)
	require.NoError(t, err)
	used := map[*volume]int{}
	setup := round(volumes, func(v *volume) (func() error, error) {
		return func() error { used[v]++; return nil }, nil
	})
	s, err := setup(volumes[0])
	require.NoError(t, err)
	require.NoError(t, s.worker().op(6))
	for _, v := range volumes {
		assert.Equal(t, 1+2, used[v], "once before, and a third of six")
	}
}

func TestCrowdDoesTheWorkOfEachOfItsGoroutines(t *testing.T) {
	place := newTestPlace(t)
	for _, group := range crowds {
		for _, c := range group.cases() {
			gathered, err := c.gather(place, 5)
			require.NoError(t, err)
			before := gathered.volume.token()
			if gathered.subject.reads != nil && c.Reads && c.Name != maxAgeOver { // whose callers share a read
				reads := gathered.subject.reads()
				_, err = gathered.burst()
				require.NoError(t, err)
				assert.Equal(t, uint64(5*gathered.ops), gathered.subject.reads()-reads, c.Name)
			} else {
				_, err = gathered.burst()
				require.NoError(t, err)
			}
			assert.Equal(t, c.Rotated, before != gathered.volume.token(), c.Name)
			gathered.close()
		}
	}
}

func TestCrowdHasWorkEnoughToBeTimed(t *testing.T) {
	for _, n := range thorough.Goroutines {
		for _, c := range []Case{{Rotated: true, Reads: true}, {Reads: true}, {}} {
			g := &crowd{Case: c, workers: make([]worker, n), ops: c.each(n)}
			assert.GreaterOrEqual(t, g.bursts()*g.ops*n, 100)
			if c.Rotated {
				assert.Equal(t, 1, g.ops, "the second would not be just after the rotation")
			}
		}
	}
}

func TestLimitOfACrowdIsItsFirst(t *testing.T) {
	place := newTestPlace(t)
	for _, group := range crowds {
		cases := group.cases()
		for _, c := range cases {
			assert.Equal(t, cases[0].Name, c.Limit, c.Name)
		}
	}
	p := plan{CrowdRounds: fewest}
	rows, err := p.crowd(t.Context(), named(loadNow, maxAge), 2, place)
	require.NoError(t, err)
	assert.Equal(t, 1.0, rows[0].OfLimit)
	assert.Equal(t, loadNow, rows[1].Limit)
	assert.Equal(t, 2, rows[1].Procs)
}

func TestRotationsKeepTheirRate(t *testing.T) {
	place := newTestPlace(t)
	v, err := place.volume()
	require.NoError(t, err)
	before := v.token()
	began := time.Now()
	_, err = plan{Rate: 50 * time.Millisecond}.rotateFor(t.Context(), v, 60) // three times
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
	assert.False(t, before == v.token(), "an odd number of rotations")
}
