package main

import (
	"fmt"
	"slices"
)

// budget is one thing that the design promises of a row.
type budget struct {
	Work    string
	Limit   string
	measure func(r *Report) (measured string, holds bool)
}

// budgets are in the design's order. That of a session's requests is not the
// design's: at a tenth of the cheapest request there is, nobody has to think of it.
var budgets = []budget{
	{everyCall, "at most 1 allocation of 64 bytes", allocates(everyCall, 1, 64)},
	{everyCall, "at most 1.3 × " + bareRead, costs(everyCall, atMost(1.3))},
	{maxAge, "0 allocations", allocates(maxAge, 0, 0)},
	{maxAge, "at most 2 × " + loadNow, costs(maxAge, atMost(2))},
	{maxAge, "scales with cores", scales(maxAge)},
	{watched, "0 allocations", allocates(watched, 0, 0)},
	{watched, "at most 2 × " + loadNow, costs(watched, atMost(2))},
	{watched, "scales with cores", scales(watched)},
	{rotated, "faster than os.ReadFile + ParseUnverified + validation", costs(rotated, below(1))},
	{vaultOurLogin, "within 5 % of " + vaultPeerLogin, costs(vaultOurLogin, atMost(1.05))},
	{baoOurLogin, "within 5 % of " + baoPeerLogin, costs(baoOurLogin, atMost(1.05))},
	{vaultOurRead, "at most 1.1 × " + vaultPeerRead, costs(vaultOurRead, atMost(1.1))},
	{baoOurRead, "at most 1.1 × " + baoPeerRead, costs(baoOurRead, atMost(1.1))},
	{awsOurHot, "no slower than " + awsPeerHot, costs(awsOurHot, atMost(1))},
	{awsOurHot, "0 allocations", allocates(awsOurHot, 0, 0)},
	{awsOurLate, "no caller waits while credentials are valid", nobodyWaits(awsOurLate)},
	{awsBothLate, "no caller waits while credentials are valid", nobodyWaits(awsBothLate)},
}

// Verdict is a budget against what was measured.
type Verdict struct {
	Work, Limit, Measured string
	Holds                 bool // or could not be measured
}

// judge compares what was measured with every budget.
func (r *Report) judge() []Verdict {
	var verdicts []Verdict
	for _, b := range budgets {
		measured, holds := b.measure(r)
		verdicts = append(verdicts, Verdict{Work: b.Work, Limit: b.Limit, Measured: measured, Holds: holds})
	}
	return verdicts
}

// holds reports whether all budgets do.
func (r *Report) holds() bool {
	return !slices.ContainsFunc(r.Budgets, func(v Verdict) bool { return !v.Holds })
}

func atMost(limit float64) func(float64) bool { return func(x float64) bool { return x <= limit } }
func below(limit float64) func(float64) bool  { return func(x float64) bool { return x < limit } }

// allocates is a budget of allocations, which are counted at one proc.
func allocates(work string, allocs, bytes int64) func(*Report) (string, bool) {
	return func(r *Report) (string, bool) {
		row := r.row(work, 1)
		measured := fmt.Sprintf("%d of %d bytes", row.AllocsPerOp, row.BytesPerOp)
		return measured, row.AllocsPerOp <= allocs && row.BytesPerOp <= bytes
	}
}

// costs is a budget of the ratio to the base, which must hold at each number
// of procs.
func costs(work string, good func(float64) bool) func(*Report) (string, bool) {
	return func(r *Report) (string, bool) {
		one, two := r.row(work, 1), r.row(work, 2)
		measured := fmt.Sprintf("%s, at 2 procs %s", times(one.Ratio), times(two.Ratio))
		return measured, good(one.Ratio) && good(two.Ratio)
	}
}

// scales is the budget of what a second proc adds. The base shares nothing
// between goroutines, so what it gains is what the machine had to give: 2 × if
// both processors were free. The work must gain nine tenths of that.
func scales(work string) func(*Report) (string, bool) {
	return func(r *Report) (string, bool) {
		one, two := r.row(work, 1), r.row(work, 2)
		if two.Ratio == 0 {
			return notMeasured, true
		}
		share := one.Ratio / two.Ratio
		return fmt.Sprintf("2 procs do %s the work of 1, %.0f %% of what the base gains", times(two.Gain), 100*share), share >= 0.9
	}
}

// nobodyWaits is the budget of those who call while a refresh hangs. By count,
// not by time: the refresh does not end before the callers have come back.
func nobodyWaits(work string) func(*Report) (string, bool) {
	return func(r *Report) (string, bool) {
		i := slices.IndexFunc(r.Refreshes, func(late Refresh) bool { return late.Work == work })
		if i < 0 || !r.Refreshes[i].Valid {
			return notMeasured, true
		}
		late := r.Refreshes[i]
		return fmt.Sprintf("%d of %d wait", late.Waited, late.Callers), late.Waited == 0
	}
}
