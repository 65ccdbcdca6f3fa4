package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

// within is a report that keeps every budget, just so.
func within() *Report {
	r := &Report{}
	for _, procs := range []int{1, 2} {
		r.Rows = append(r.Rows,
			Row{Work: everyCall, Procs: procs, Ratio: 1.3, AllocsPerOp: 1, BytesPerOp: 64},
			Row{Work: maxAge, Procs: procs, Ratio: 2},
			Row{Work: watched, Procs: procs, Ratio: 2},
			Row{Work: rotated, Procs: procs, Ratio: 0.99},
			Row{Work: vaultOurLogin, Procs: procs, Ratio: 1.05},
			Row{Work: baoOurLogin, Procs: procs, Ratio: 1.05},
			Row{Work: vaultOurRead, Procs: procs, Ratio: 1.1},
			Row{Work: baoOurRead, Procs: procs, Ratio: 1.1},
			Row{Work: awsOurHot, Procs: procs, Ratio: 1},
		)
	}
	for _, work := range []string{awsOurLate, awsBothLate} {
		r.Refreshes = append(r.Refreshes, Refresh{Work: work, Callers: 10, Valid: true})
	}
	return r
}

func TestEachBudgetAtItsLimitAndBeyond(t *testing.T) {
	for name, c := range map[string]struct {
		work   string
		procs  int
		change func(*Row)
		missed int // how many budgets
	}{
		"at every limit":                 {everyCall, 1, func(*Row) {}, 0},
		"one allocation more":            {everyCall, 1, func(r *Row) { r.AllocsPerOp = 2 }, 1},
		"a larger allocation":            {everyCall, 1, func(r *Row) { r.BytesPerOp = 65 }, 1},
		"slower than the bare read":      {everyCall, 1, func(r *Row) { r.Ratio = 1.31 }, 1},
		"slower only in parallel":        {everyCall, 2, func(r *Row) { r.Ratio = 1.31 }, 1},
		"MaxAge allocates":               {maxAge, 1, func(r *Row) { r.AllocsPerOp = 1 }, 1},
		"MaxAge is slow":                 {maxAge, 1, func(r *Row) { r.Ratio = 2.01 }, 1},
		"Watch scales too little":        {watched, 1, func(r *Row) { r.Ratio = 1.79 }, 1},
		"Watch scales little enough":     {watched, 1, func(r *Row) { r.Ratio = 1.81 }, 0},
		"two procs not measured":         {maxAge, 2, func(r *Row) { r.Ratio = 0 }, 0},
		"a rotation as slow as by hand":  {rotated, 2, func(r *Row) { r.Ratio = 1 }, 1},
		"a login slower than the peer's": {vaultOurLogin, 1, func(r *Row) { r.Ratio = 1.06 }, 1},
		"a login to OpenBao is slower":   {baoOurLogin, 2, func(r *Row) { r.Ratio = 1.06 }, 1},
		"a session slows requests down":  {vaultOurRead, 1, func(r *Row) { r.Ratio = 1.11 }, 1},
		"a session for OpenBao does":     {baoOurRead, 2, func(r *Row) { r.Ratio = 1.11 }, 1},
		"slower than the SDK's cache":    {awsOurHot, 1, func(r *Row) { r.Ratio = 1.01 }, 1},
		"credentials allocate":           {awsOurHot, 1, func(r *Row) { r.AllocsPerOp = 1 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := within()
			for i := range r.Rows {
				if r.Rows[i].Work == c.work && r.Rows[i].Procs == c.procs {
					c.change(&r.Rows[i])
				}
			}
			r.Budgets = r.judge()
			missed := 0
			for _, v := range r.Budgets {
				if !v.Holds {
					missed++
				}
			}
			assert.Equal(t, c.missed, missed)
			assert.Equal(t, c.missed == 0, r.holds())
		})
	}
}

func TestBudgetOfThoseWhoCallDuringARefresh(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Refresh)
		holds  bool
		answer string
	}{
		"nobody waits":            {func(*Refresh) {}, true, "yes"},
		"one waits":               {func(r *Refresh) { r.Waited = 1 }, false, "NO"},
		"they wait for the first": {func(r *Refresh) { r.Waited, r.Valid = 10, false }, true, notMeasured},
	} {
		t.Run(name, func(t *testing.T) {
			r := within()
			c.change(&r.Refreshes[1])
			r.Budgets = r.judge()
			assert.Equal(t, c.holds, r.holds())
			assert.Equal(t, c.answer, r.Budgets[len(r.Budgets)-1].answer())
		})
	}
}

func TestQuickRunEndsWellHoweverSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for some seconds")
	}
	assert.NoError(t, command(t.Context(), []string{"-quick"}, io.Discard, io.Discard))
}
