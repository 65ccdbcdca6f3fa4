package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// Growth is how the cost of some work grows with one thing.
type Growth struct {
	With   string // what grows
	Title  string
	Points []Point
}

// Point is the same work at one size.
type Point struct {
	Size int
	Rows []Row
}

// table has a line for each size and a column for each work.
func (g Growth) table(w io.Writer) error {
	columns := []string{g.With}
	for _, row := range g.Points[0].Rows {
		columns = append(columns, row.Work)
	}
	t := newTable(w, columns...)
	for _, point := range g.Points {
		cells := []any{point.Size}
		for _, row := range point.Rows {
			cells = append(cells, nanos(row.NsPerOp)+" ("+times(row.OfLimit)+")")
		}
		t.row(cells...)
	}
	return t.Flush()
}

// named picks cases by their names.
func named(names ...string) (picked []Case) {
	for _, name := range names {
		picked = append(picked, cases[slices.IndexFunc(cases, func(c Case) bool { return c.Name == name })])
	}
	return picked
}

// tokenSizes measures reads of ever longer tokens, up to the longest that is
// accepted.
func (p plan) tokenSizes(ctx context.Context, r *Report, place *place) error {
	g := Growth{With: "bytes", Title: "The token's size"}
	p.Procs = p.Procs[:1]
	defer func(usual [2]string) { place.tokens = usual }(place.tokens)
	for _, size := range p.TokenSizes {
		tokens, err := issueOf(size)
		if err != nil {
			return err
		}
		place.tokens = tokens
		all, err := p.measure(ctx, named(bareRead, everyCall, readFile, bareRotated, rotated, parseRead), place)
		if err != nil {
			return err
		}
		g.Points = append(g.Points, Point{len(tokens[0]), rows(all)})
	}
	r.Growths = append(r.Growths, g)
	return nil
}

// sources measures reads that go round many Sources with a file each.
func (p plan) sources(ctx context.Context, r *Report, place *place) error {
	g := Growth{With: "Sources", Title: "The number of Sources, one after another"}
	p.Procs = p.Procs[:1]
	for _, n := range p.Sources {
		volumes, err := place.volumes(n)
		if err != nil {
			return err
		}
		all, err := p.measure(ctx, []Case{
			{Name: bareRead, Base: bareRead, Limit: bareRead, Reads: true, setup: round(volumes, bareEach)},
			{Name: everyCall, Base: bareRead, Limit: bareRead, Reads: true, setup: round(volumes, sourceEach(0))},
			{Name: loadNow, Base: loadNow, Limit: loadNow, setup: round(volumes, loadEach)},
			{Name: maxAge, Base: loadNow, Limit: loadNow, setup: round(volumes, sourceEach(5*time.Minute))},
		}, place)
		if err != nil {
			return err
		}
		g.Points = append(g.Points, Point{n, rows(all)})
	}
	r.Growths = append(r.Growths, g)
	return nil
}

// volumes makes volumes side by side.
func (p *place) volumes(n int) (all []*volume, err error) {
	p.made++
	for i := range n {
		v, err := newVolume(filepath.Join(p.dir, fmt.Sprint(p.made), fmt.Sprint(i)), p.tokens)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// round sets up work that takes the next of many things at each op. Each was
// used once before.
func round(volumes []*volume, each func(v *volume) (get func() error, err error)) func(*volume) (*subject, error) {
	return func(v *volume) (*subject, error) {
		var gets []func() error
		for _, v := range volumes {
			get, err := each(v)
			if err != nil {
				return nil, err
			}
			if err := get(); err != nil {
				return nil, err
			}
			gets = append(gets, get)
		}
		return &subject{worker: func() worker {
			i := 0
			return newWorker(func() (struct{}, error) {
				i = (i + 1) % len(gets)
				return struct{}{}, gets[i]()
			}, func(struct{}) string { return v.token() })
		}}, nil
	}
}

func sourceEach(maxAge time.Duration) func(v *volume) (func() error, error) {
	return func(v *volume) (func() error, error) {
		get, _, err := perCall(&tokenfile.Source{Path: v.path(), Audience: audience, MaxAge: maxAge})
		return func() error { _, err := get(); return err }, err
	}
}

func bareEach(v *volume) (func() error, error) { return eachOf(bare(v)) }
func loadEach(v *volume) (func() error, error) { return eachOf(loadAndNow(v)) }

// eachOf makes one op of a case's subject.
func eachOf(s *subject, err error) (func() error, error) {
	if err != nil {
		return nil, err
	}
	op := s.worker().op
	return func() error { return op(1) }, nil
}
