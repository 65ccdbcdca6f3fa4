package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Rotations is what one watched file costs that is replaced so often.
type Rotations struct {
	Work      string
	PerSecond int
	Looks     float64       // at the file, a second
	Seen      float64       // tokens that the program got, a second
	CPU       time.Duration // a second, without making the rotations
}

// rotations measures one file at each rate.
func (p plan) rotations(ctx context.Context, r *Report, place *place) error {
	for _, rate := range p.Rates {
		volumes, err := place.volumes(1)
		if err != nil {
			return err
		}
		alone, err := p.rotateFor(ctx, volumes[0], rate)
		if err != nil {
			return err
		}
		for _, way := range watchings {
			if way.polls || way.name == watchings[0].name && p.Quick {
				continue // looks at its own times, whatever the rate
			}
			row, err := p.rotationsAt(ctx, rate, way, volumes, alone)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			r.Rotations = append(r.Rotations, row)
		}
	}
	return nil
}

func (p plan) rotationsAt(ctx context.Context, rate int, way watching, volumes []*volume, alone time.Duration) (Rotations, error) {
	var seen atomic.Int64
	var last atomic.Pointer[string]
	first := make(chan struct{})
	w, err := way.start(volumes, func(_ int, token string) {
		switch before := last.Swap(&token); {
		case before == nil:
			close(first)
		case *before != token:
			seen.Add(1)
		}
	})
	defer w.end()
	if err != nil {
		return Rotations{}, err
	}
	if w.count(1) == 0 {
		return Rotations{}, errors.New("the system has no inotify instance left: see fs.inotify.max_user_instances")
	}
	<-first
	looks := w.looks()
	spent, err := p.rotateFor(ctx, volumes[0], rate)
	seconds := p.Rate.Seconds()
	return Rotations{
		Work: way.name, PerSecond: rate, Looks: float64(w.looks()-looks) / seconds, Seen: float64(seen.Load()) / seconds,
		CPU: time.Duration(float64(max(spent-alone, 0)) / seconds),
	}, err
}

// rotateFor rotates at a rate for the plan's time, and returns the processor
// time that passed. A rate that the machine cannot keep is made good later.
func (p plan) rotateFor(ctx context.Context, v *volume, rate int) (time.Duration, error) {
	before, began := cpuTime(), time.Now()
	for done := 0; done < int(p.Rate.Seconds()*float64(rate)); done++ {
		if err := rest(ctx, time.Until(began.Add(time.Duration(done)*time.Second/time.Duration(rate)))); err != nil {
			return 0, err
		}
		if err := v.rotate(); err != nil {
			return 0, err
		}
	}
	err := rest(ctx, time.Until(began.Add(p.Rate)))
	return cpuTime() - before, err
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rotationTable is for people.
func (r *Report) rotationTable(w io.Writer) error {
	t := newTable(w, "rotations a second", "watch", "looks a second", "tokens got a second", "CPU a second")
	for _, row := range r.Rotations {
		t.row(row.PerSecond, row.Work, fmt.Sprintf("%.1f", row.Looks), fmt.Sprintf("%.1f", row.Seen), wait(float64(row.CPU)))
	}
	return t.Flush()
}
