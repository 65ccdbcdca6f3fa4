package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// table writes a Markdown table whose columns are aligned for people too.
type table struct{ *tabwriter.Writer }

func newTable(w io.Writer, columns ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)}
	rule := make([]any, len(columns))
	head := make([]any, len(columns))
	for i, c := range columns {
		head[i], rule[i] = c, strings.Repeat("-", len(c))
	}
	t.row(head...)
	t.row(rule...)
	return t
}

// row writes one line; tabwriter keeps the first error for Flush.
func (t table) row(cells ...any) {
	for _, c := range cells {
		fmt.Fprintf(t, "| %v\t", c)
	}
	fmt.Fprintln(t, "|")
}

// markdown writes the report for people.
func (r *Report) markdown(w io.Writer) error {
	fmt.Fprintf(w, "%s %s/%s, %d CPUs; a token of %d bytes in %s; %d rounds of %s.\n\n",
		r.Go, r.OS, r.Arch, r.CPUs, r.TokenBytes, r.Volume, r.Rounds, r.Slice)
	if err := r.rowTable(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := r.refreshTable(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return r.budgetTable(w)
}

func (r *Report) rowTable(w io.Writer) error {
	t := newTable(w, "work", "procs", "ns/op", "spread", "allocs/op", "B/op", "ratio", "to", "gain")
	for _, row := range r.Rows {
		base, gain := row.Base, ""
		if base == row.Work {
			base = "itself"
		}
		if row.Procs > 1 {
			gain = times(row.Gain)
		}
		t.row(row.Work, row.Procs, nanos(row.NsPerOp), nanos(row.Quartiles[0])+"–"+nanos(row.Quartiles[1]),
			row.AllocsPerOp, row.BytesPerOp, times(row.Ratio), base, gain)
	}
	return t.Flush()
}

func (r *Report) refreshTable(w io.Writer) error {
	t := newTable(w, "while a refresh hangs", "callers", "who wait for it", "median", "99 %", "longest")
	for _, late := range r.Refreshes {
		waited := fmt.Sprint(late.Waited)
		if !late.Valid {
			waited = notMeasured
		}
		t.row(late.Work, late.Callers, waited, wait(late.Median), wait(late.P99), wait(late.Longest))
	}
	return t.Flush()
}

func (r *Report) budgetTable(w io.Writer) error {
	t := newTable(w, "budget of", "limit", "measured", "holds")
	for _, v := range r.Budgets {
		t.row(v.Work, v.Limit, v.Measured, v.answer())
	}
	return t.Flush()
}

// answer is the last word on a budget.
func (v Verdict) answer() string {
	switch {
	case v.Measured == notMeasured:
		return notMeasured
	case v.Holds:
		return "yes"
	}
	return "NO"
}

// notMeasured stands where the processors were too busy with something else.
const notMeasured = "?"

// nanos writes three digits of a short time, and all of a long one.
func nanos(ns float64) string {
	switch {
	case ns == 0:
		return notMeasured
	case ns < 100:
		return fmt.Sprintf("%.1f", ns)
	}
	return fmt.Sprintf("%.0f", ns)
}

// times writes a ratio.
func times(ratio float64) string {
	if ratio == 0 {
		return notMeasured
	}
	return fmt.Sprintf("%.2f ×", ratio)
}

// wait writes how long somebody waited, which may be anything.
func wait(ns float64) string {
	d := time.Duration(ns)
	switch {
	case d < 10*time.Microsecond:
		return d.String()
	case d < 10*time.Millisecond:
		return d.Round(time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
