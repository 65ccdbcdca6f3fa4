package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hasty measures everything, and nothing well.
var hasty = plan{Rounds: fewest, Slice: 100 * time.Microsecond, Allocs: 2, Procs: []int{1, 2}}

func TestReportHasEveryRowAndNoToken(t *testing.T) {
	place := newTestPlace(t)
	all, err := hasty.measure(t.Context(), cases, place)
	require.NoError(t, err)
	r := &Report{Environment: hasty.environment(place), Rows: rows(all)}
	r.Refreshes = []Refresh{{Work: awsOurLate, Callers: 8, Waited: 1, Valid: true, Longest: 2e6}, {Work: awsBothLate, Callers: 8}}
	r.Budgets = r.judge()
	require.Len(t, r.Rows, 2*len(cases))
	for _, row := range r.Rows {
		if row.Procs == 1 { // two goroutines need not meet
			assert.Positive(t, row.NsPerOp, row.Work)
			assert.Positive(t, row.Ratio, row.Work)
		}
	}

	var text, data bytes.Buffer
	require.NoError(t, r.markdown(&text))
	encoded, err := r.json()
	require.NoError(t, err)
	data.Write(encoded)
	for _, c := range cases {
		assert.Len(t, lines(text.String(), c.Name, "1"), 1, c.Name)
		assert.Len(t, lines(text.String(), c.Name, "2"), 1, c.Name)
	}
	assert.Len(t, lines(text.String(), awsOurLate, "8", "1", "0s", "0s", "2ms"), 1)
	assert.Len(t, lines(text.String(), awsBothLate, "8", notMeasured), 1)
	for _, token := range place.tokens {
		assert.False(t, strings.Contains(text.String()+data.String(), token[:20]), "a token is printed")
	}
	var again Report
	require.NoError(t, json.Unmarshal(data.Bytes(), &again))
	assert.Equal(t, *r, again)
}

// lines returns the lines of a Markdown table that start with these cells.
func lines(text string, cells ...string) (found []string) {
	for line := range strings.Lines(text) {
		got := strings.Split(line, "|")
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		if len(got) > len(cells) && slices.Equal(got[1:1+len(cells)], cells) {
			found = append(found, line)
		}
	}
	return found
}

func TestRowsArePairedRoundByRound(t *testing.T) {
	base := &series{bench: bench1("base", "base"), nanos: slices.Repeat([]float64{10, 100, 20}, 3)}
	ours := &series{bench: bench1("ours", "base"), nanos: slices.Repeat([]float64{15, 150, 40}, 3)}
	got := rows([]*series{base, ours})
	assert.Equal(t, 1.0, got[0].Ratio)
	assert.Equal(t, 1.5, got[1].Ratio, "the slow round slowed both")
	assert.Equal(t, 40.0, got[1].NsPerOp)
}

func TestLimitIsAnotherRowThanTheBase(t *testing.T) {
	limit := &series{bench: bench1("limit", "limit"), nanos: slices.Repeat([]float64{5}, fewest)}
	base := &series{bench: bench1("base", "base"), nanos: slices.Repeat([]float64{10}, fewest)}
	ours := &series{bench: bench1("ours", "base"), nanos: slices.Repeat([]float64{20}, fewest)}
	ours.Limit = "limit"
	got := rows([]*series{limit, base, ours})[2]
	assert.Equal(t, 2.0, got.Ratio)
	assert.Equal(t, 4.0, got.OfLimit)
	assert.Equal(t, "limit", got.Limit)
}

func TestRatioNeedsRounds(t *testing.T) {
	two, one := slices.Repeat([]float64{2}, fewest), slices.Repeat([]float64{1}, fewest)
	assert.Equal(t, 2.0, ratio(two, one))
	one[3] = 0
	assert.Zero(t, ratio(two, one), "a round in which the base was not measured")
}

func TestRatioIsTheMedianOfUnequalRounds(t *testing.T) {
	nanos := []float64{1, 2, 3, 4, 50, 600, 700, 800, 900}
	assert.Equal(t, 50.0, ratio(nanos, slices.Repeat([]float64{1}, fewest)))
}

func TestGainIsHowMuchMoreWorkIsDone(t *testing.T) {
	one := &series{bench: bench1("ours", "ours"), nanos: slices.Repeat([]float64{30}, fewest)}
	two := &series{bench: bench1("ours", "ours"), nanos: slices.Repeat([]float64{20}, fewest)}
	two.lanes = make([]lane, 2)
	assert.Equal(t, 1.5, rows([]*series{one, two})[1].Gain)
}

func TestSpreadIsTheMiddleHalf(t *testing.T) {
	s := &series{bench: bench1("ours", "ours"), nanos: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}}
	assert.Equal(t, [2]float64{3, 7}, rows([]*series{s})[0].Quartiles)
}

func bench1(name, base string) *bench {
	return &bench{Case: Case{Name: name, Base: base, Limit: base}, lanes: make([]lane, 1)}
}

func TestQuantile(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		q      float64
		want   float64
	}{
		"median of three":         {[]float64{3, 1, 2}, 0.5, 2},
		"median of four":          {[]float64{4, 1, 2, 3}, 0.5, 2.5},
		"lower quartile of three": {[]float64{3, 1, 2}, 0.25, 1.5},
		"of none":                 {nil, 0.5, 0},
		"not measured, left out":  {[]float64{0, 2, 0}, 0.25, 2},
		"of one":                  {[]float64{7}, 0.75, 7},
		"the greatest":            {[]float64{1, 2}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, quantile(c.values, c.q)) })
	}
}
