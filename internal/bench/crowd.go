package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// crowd is a Case with one subject and one file for any number of goroutines.
type crowd struct {
	Case
	volume  *volume
	subject *subject
	workers []worker
	ops     int // of each goroutine, each time
}

// crowds are the three groups of reads, each with its limit first.
var crowds = []struct {
	title string
	cases func() []Case
}{
	{"Goroutines that read an unchanged file", func() []Case { return named(bareRead, everyCall, readFile) }},
	{"Goroutines that come just after a rotation", func() []Case {
		// Those who call while a Watch loop runs get the snapshot, and the loop
		// reads some milliseconds later.
		beside := Case{Name: "Token, Watch, rotated", Base: parseRead, Limit: bareRotated, Rotated: true, setup: ours(beside)}
		return append(named(bareRotated, rotated, maxAgeOver, parseRead, clientGoOver, oauth2Over), beside)
	}},
	{"Goroutines that ask for a token from memory", func() []Case { return named(loadNow, maxAge, watched, clientGoHot, oauth2Hot) }},
}

const withGoroutines = "goroutines"

// goroutines measures each group at each number of goroutines.
func (p plan) goroutines(ctx context.Context, r *Report, place *place) error {
	for _, group := range crowds {
		g := Growth{With: withGoroutines, Title: group.title}
		for _, n := range p.Goroutines {
			rows, err := p.crowd(ctx, group.cases(), n, place)
			if err != nil {
				return err
			}
			g.Points = append(g.Points, Point{n, rows})
		}
		r.Growths = append(r.Growths, g)
	}
	return nil
}

// crowd measures cases, whose limit is the first, with n goroutines.
func (p plan) crowd(ctx context.Context, cases []Case, n int, place *place) ([]Row, error) {
	all := make([]*series, len(cases))
	open := make([]*crowd, len(cases))
	for i, c := range cases {
		gathered, err := c.gather(place, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		defer gathered.close()
		open[i], all[i] = gathered, &series{bench: &bench{Case: c}}
	}
	for round := range p.CrowdRounds + 1 {
		for i := range open {
			if round%2 == 1 {
				i = len(open) - 1 - i
			}
			nanos, err := open[i].run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", open[i].Name, err)
			}
			if round > 0 { // the first warms up
				all[i].nanos = append(all[i].nanos, nanos)
			}
		}
	}
	return crowdRows(all, n), nil
}

// gather sets up c for n goroutines.
func (c Case) gather(p *place, n int) (*crowd, error) {
	v, err := p.volume()
	if err != nil {
		return nil, err
	}
	s, err := c.setup(v)
	if err != nil {
		return nil, err
	}
	gathered := &crowd{Case: c, volume: v, subject: s, ops: c.each(n)}
	for range n {
		gathered.workers = append(gathered.workers, s.worker())
	}
	return gathered, nil
}

// each is how often each of n goroutines does the work in a round: once after
// a rotation, and else often enough that their start is a small part of it.
func (c Case) each(n int) int {
	switch {
	case c.Rotated:
		return 1
	case c.Reads:
		return max(2, 500/n)
	}
	return max(100, 50_000/n)
}

func (c *crowd) close() {
	if c.subject.close != nil {
		c.subject.close()
	}
}

// run has some bursts and returns the mean time of an op in nanoseconds.
func (c *crowd) run(ctx context.Context) (nanos float64, err error) {
	var sum time.Duration
	bursts := c.bursts()
	for range bursts {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		took, err := c.burst()
		if err != nil {
			return 0, err
		}
		sum += took
	}
	return float64(sum) / float64(bursts*c.ops*len(c.workers)), nil
}

// bursts is how often a round needs the goroutines: so often that there are
// ops enough to be timed.
func (c *crowd) bursts() int { return max(1, 100/(c.ops*len(c.workers))) }

// burst lets all goroutines start at once, and returns the time until the last
// is done.
func (c *crowd) burst() (took time.Duration, err error) {
	if c.Rotated {
		if err := c.volume.rotate(); err != nil {
			return 0, err
		}
	}
	errs := make([]error, len(c.workers))
	start := make(chan struct{})
	var ready, done sync.WaitGroup
	ready.Add(len(c.workers))
	for i, worker := range c.workers {
		done.Go(func() {
			ready.Done()
			<-start
			errs[i] = worker.op(c.ops)
		})
	}
	ready.Wait()
	began := time.Now()
	close(start)
	done.Wait()
	return time.Since(began), errors.Join(errs...)
}

func crowdRows(all []*series, n int) (rows []Row) {
	limit := all[0]
	for _, s := range all {
		of := ratio(s.nanos, limit.nanos)
		rows = append(rows, Row{
			Work: s.Name, Base: limit.Name, Limit: limit.Name, Procs: n, NsPerOp: quantile(s.nanos, 0.5),
			Quartiles: [2]float64{quantile(s.nanos, 0.25), quantile(s.nanos, 0.75)}, Ratio: of, OfLimit: of,
		})
	}
	return rows
}
