package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// step is a part of a run, which adds to the report.
type step struct {
	name string
	do   func(p plan, ctx context.Context, r *Report, place *place) error
}

// steps are in the report's order, but for the one that needs more of its
// surroundings than others, and so fails now or not at all.
var steps = []step{
	{"sizes of programs", plan.programs},
	{"reads, logins, requests and credentials", plan.rows},
	{"callers while a refresh hangs", plan.refreshes},
	{"many goroutines", plan.goroutines},
	{"ever longer tokens", plan.tokenSizes},
	{"ever more sources", plan.sources},
	{"ever more rotations", plan.rotations},
	{"many watched files", plan.watchers},
	{"memory and goroutines", plan.memory},
}

// run measures and judges, and tells how far it is. It leaves nothing behind,
// and gives up soon when ctx ends.
func run(ctx context.Context, p plan, progress io.Writer) (*Report, error) {
	place, err := newPlace()
	if err != nil {
		return nil, err
	}
	defer place.close()
	r, began := &Report{Environment: p.environment(place)}, time.Now()
	for i, s := range steps {
		fmt.Fprintf(progress, "bench: %4.0f s: %d of %d: %s\n", time.Since(began).Seconds(), i+1, len(steps), s.name)
		err := s.do(p, ctx, r, place)
		if ctx.Err() != nil {
			err = context.Cause(ctx) // whatever came of the step
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Fprintf(progress, "bench: %4.0f s: done\n", time.Since(began).Seconds())
	r.Budgets = r.judge()
	return r, nil
}

// rows measures the main table.
func (p plan) rows(ctx context.Context, r *Report, place *place) error {
	all, err := p.measure(ctx, cases, place)
	if err != nil {
		return err
	}
	r.Rows = rows(all)
	return nil
}

// skip notes what a run leaves out.
func (r *Report) skip(format string, args ...any) {
	r.Skipped = append(r.Skipped, fmt.Sprintf(format, args...))
}
