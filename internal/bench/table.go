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
		head[i], rule[i] = c, strings.Repeat("-", max(3, len(c)))
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

// section is a part of the report for people.
type section struct {
	heading string
	text    string // how to read it
	there   func(r *Report) bool
	table   func(r *Report, w io.Writer) error
}

var sections = []section{
	{"Budgets", "What the design promises, against this run.",
		func(r *Report) bool { return len(r.Budgets) > 0 }, (*Report).budgetTable},
	{"One call", "Medians over the rounds. A ratio is the median of the ratios round by round; \"limit\" is the ratio to the least that the system charges.",
		func(r *Report) bool { return len(r.Rows) > 0 }, (*Report).rowTable},
	{"Callers while a refresh of AWS credentials hangs", "The credentials from before are still valid.",
		func(r *Report) bool { return len(r.Refreshes) > 0 }, (*Report).refreshTable},
	{"How cost grows", "Nanoseconds for which an op keeps the whole program busy, and the ratio to the limit of its group.",
		func(r *Report) bool { return len(r.Growths) > 0 }, (*Report).growthTables},
	{"One file that rotates often", "Each line was measured once: milliseconds of processor time are noise, and 0 is what is lost in that of making the rotations.",
		func(r *Report) bool { return len(r.Rotations) > 0 }, (*Report).rotationTable},
	{"Many watched files", "All files rotate at once. Each line was measured once: its processor time is rough.",
		func(r *Report) bool { return len(r.Watchers) > 0 }, (*Report).watcherTable},
	{"Memory and goroutines of one object", "After it was used once, and while nothing happens.",
		func(r *Report) bool { return len(r.Objects) > 0 }, (*Report).objectTable},
	{"Size of a program, and modules linked", "Each program uses one package, as its source in internal/bench/program shows; podtoken's own modules count too.",
		func(r *Report) bool { return len(r.Programs) > 0 }, (*Report).programTable},
}

// markdown writes the report for people.
func (r *Report) markdown(w io.Writer) error {
	fmt.Fprintf(w, "%s\n", r.Environment)
	for _, s := range sections {
		if !s.there(r) {
			continue
		}
		fmt.Fprintf(w, "\n### %s\n\n", s.heading)
		if s.text != "" {
			fmt.Fprintf(w, "%s\n\n", s.text)
		}
		if err := s.table(r, w); err != nil {
			return err
		}
	}
	for _, what := range r.Skipped {
		fmt.Fprintf(w, "\nSKIPPED: %s\n", what)
	}
	return nil
}

func (r *Report) growthTables(w io.Writer) error {
	for i, g := range r.Growths {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:\n\n", g.Title)
		if err := g.table(w); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) rowTable(w io.Writer) error {
	t := newTable(w, "work", "procs", "ns/op", "spread", "allocs/op", "B/op", "ratio", "to", "limit", "gain")
	for _, row := range r.Rows {
		base, gain := row.Base, ""
		if base == row.Work {
			base = "itself"
		}
		if row.Procs > 1 {
			gain = times(row.Gain)
		}
		t.row(row.Work, row.Procs, nanos(row.NsPerOp), nanos(row.Quartiles[0])+"–"+nanos(row.Quartiles[1]),
			row.AllocsPerOp, row.BytesPerOp, times(row.Ratio), base, times(row.OfLimit), gain)
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
