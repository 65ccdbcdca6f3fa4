package main

import (
	"fmt"
	"slices"
)

// Report is the outcome of a run.
type Report struct {
	Environment
	Rows      []Row
	Refreshes []Refresh
	Growths   []Growth
	Rotations []Rotations
	Watchers  []Watchers
	Objects   []Object
	Programs  []Program
	Budgets   []Verdict
	Skipped   []string // what was left out, and why
}

// Row is one line of the table. A figure is zero if it could not be measured
// since the processors were busy with something else.
type Row struct {
	Work  string
	Base  string
	Procs int

	NsPerOp   float64 // median over the rounds
	Quartiles [2]float64
	Ratio     float64 // to Base, median over the rounds
	Limit     string
	OfLimit   float64 // to Limit, median over the rounds
	Gain      float64 // how much more work is done than at 1 proc, median over the rounds

	AllocsPerOp int64
	BytesPerOp  int64
}

// rows condenses each series.
func rows(all []*series) []Row {
	var rows []Row
	for _, s := range all {
		procs := len(s.lanes)
		base, limit, one := find(all, s.Base, procs), find(all, s.Limit, procs), find(all, s.Name, 1)
		rows = append(rows, Row{
			Work: s.Name, Base: s.Base, Procs: procs,
			NsPerOp:     quantile(s.nanos, 0.5),
			Quartiles:   [2]float64{quantile(s.nanos, 0.25), quantile(s.nanos, 0.75)},
			Ratio:       ratio(s.nanos, base.nanos),
			Limit:       s.Limit,
			OfLimit:     ratio(s.nanos, limit.nanos),
			Gain:        ratio(one.nanos, s.nanos),
			AllocsPerOp: s.allocs.Allocs,
			BytesPerOp:  s.allocs.Bytes,
		})
	}
	return rows
}

// find returns a series that a test says is there.
func find(all []*series, name string, procs int) *series {
	return all[slices.IndexFunc(all, func(s *series) bool { return s.Name == name && len(s.lanes) == procs })]
}

// fewest is how many rounds make a ratio.
const fewest = 9

// ratio is the median of nanos to base, round by round where both were
// measured, and zero if there are too few such rounds.
func ratio(nanos, base []float64) float64 {
	var r []float64
	for i := range nanos {
		if nanos[i] > 0 && base[i] > 0 {
			r = append(r, nanos[i]/base[i])
		}
	}
	if len(r) < fewest {
		return 0
	}
	return quantile(r, 0.5)
}

// quantile returns the value below which the share q of those that were
// measured lies, zero if none was.
func quantile(values []float64, q float64) float64 {
	sorted := slices.DeleteFunc(slices.Sorted(slices.Values(values)), func(v float64) bool { return v == 0 })
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}

// row finds a line of the table.
func (r *Report) row(work string, procs int) Row {
	return r.Rows[slices.IndexFunc(r.Rows, func(row Row) bool { return row.Work == work && row.Procs == procs })]
}

// complete reports what a report lacks that budgets, charts and tables ask for.
func (r *Report) complete() error {
	for _, c := range cases {
		for _, procs := range []int{1, 2} {
			if !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Work == c.Name && row.Procs == procs }) {
				return fmt.Errorf("no row %q at %d procs", c.Name, procs)
			}
		}
	}
	for _, g := range r.Growths {
		if len(g.Points) == 0 {
			return fmt.Errorf("no point of %q", g.Title)
		}
	}
	for _, p := range r.Programs {
		if !slices.ContainsFunc(r.Programs, func(base Program) bool { return base.Name == p.Base }) {
			return fmt.Errorf("no program %q, which %q is compared with", p.Base, p.Name)
		}
	}
	return nil
}
