package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Watchers is what it costs to be told of rotations of many files.
type Watchers struct {
	Work     string
	Files    int
	Watched  int // the others are not: the system has no more notifications
	Notified int // the others are looked at every few seconds

	Instances, Watches, Goroutines int     // in use
	Bytes                          float64 // of memory for each file watched

	Idle     time.Duration // processor time in a second in which nothing happens, for all files
	Rotation float64       // nanoseconds of processor time for each rotation seen, without making it
	Median   float64       // nanoseconds from a rotation to its being seen, when all files rotate at once
	P99      float64
	Missed   int // rotations that nobody saw
}

// tooLong is when a rotation counts as missed: well over what polling takes.
const tooLong = 15 * time.Second

// watchers measures each way at each number of files.
func (p plan) watchers(ctx context.Context, r *Report, place *place) error {
	for _, n := range p.Files {
		volumes, err := place.volumes(n)
		if err != nil {
			return err
		}
		for _, way := range watchings {
			if way.polls && p.Quick {
				r.skip("watchers: %q takes five seconds for a rotation", way.name)
				continue
			}
			if way.polls && n < slices.Max(p.Files) {
				continue // polling has no limit that it could be near
			}
			row, err := p.watchMany(ctx, way, volumes)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			r.Watchers = append(r.Watchers, row)
		}
	}
	return nil
}

// watchMany measures one way.
func (p plan) watchMany(ctx context.Context, way watching, volumes []*volume) (Watchers, error) {
	row := Watchers{Work: way.name, Files: len(volumes)}
	alone, err := p.rotateAlone(volumes)
	if err != nil {
		return row, err
	}
	board := newBoard(len(volumes))
	for i, v := range volumes {
		board.expect(i, v.token())
	}
	before := inUse()
	w, err := way.start(volumes, board.saw)
	defer w.end()
	if err != nil {
		return row, err
	}
	row.Watched = w.count(len(volumes))
	board.forget(func(i int) bool { return !w.told(i) })
	if _, missed := board.wait(ctx, tooLong); missed > 0 {
		return row, fmt.Errorf("%d of %d files were not read at the start", missed, len(volumes))
	}
	row.Notified = w.notified()
	row.uses(inUse().since(before))
	if row.Idle, err = p.idle(ctx); err != nil {
		return row, err
	}
	return row, p.bursts(ctx, &row, w, board, volumes, alone)
}

func (w *watchers) count(files int) (n int) {
	for i := range files {
		if w.told(i) {
			n++
		}
	}
	return n
}

func (row *Watchers) uses(u usage) {
	row.Instances, row.Watches, row.Goroutines = u.instances, u.watches, u.goroutines
	row.Bytes = u.bytes / float64(max(row.Watched, 1))
}

// idle returns the processor time of an average second.
func (p plan) idle(ctx context.Context) (time.Duration, error) {
	before := cpuTime()
	err := rest(ctx, p.Idle)
	return time.Duration(float64(cpuTime()-before) / p.Idle.Seconds()), err
}

// rotateAlone returns the processor time that it takes to rotate all files
// while nobody watches.
func (p plan) rotateAlone(volumes []*volume) (time.Duration, error) {
	before := cpuTime()
	for range p.Bursts {
		if err := rotateAll(volumes, func(int) {}); err != nil {
			return 0, err
		}
	}
	return (cpuTime() - before) / time.Duration(p.Bursts), nil
}

func rotateAll(volumes []*volume, put func(i int)) error {
	for i, v := range volumes {
		put(i)
		if err := v.rotate(); err != nil {
			return err
		}
	}
	return nil
}

// bursts rotates all files at once, some times.
func (p plan) bursts(ctx context.Context, row *Watchers, w *watchers, board *board, volumes []*volume, alone time.Duration) error {
	var lags []float64
	before := cpuTime()
	for range p.Bursts {
		for i, v := range volumes {
			if w.told(i) {
				board.expect(i, v.next())
			}
		}
		if err := rotateAll(volumes, board.put); err != nil {
			return err
		}
		seen, missed := board.wait(ctx, tooLong)
		lags, row.Missed = append(lags, seen...), row.Missed+missed
	}
	settle() // what is done after the last was seen counts as well
	spent := cpuTime() - before - time.Duration(p.Bursts)*alone
	row.Rotation = float64(spent) / float64(max(len(lags), 1))
	row.Median, row.P99 = quantile(lags, 0.5), quantile(lags, 0.99)
	return nil
}

// watcherTable is for people.
func (r *Report) watcherTable(w io.Writer) error {
	t := newTable(w, "watch", "files", "with notifications", "inotify instances", "watches", "goroutines", "kB a file",
		"CPU idle, a second", "CPU a rotation", "seen after, median", "99 %", "missed")
	for _, row := range r.Watchers {
		notified := fmt.Sprint(row.Notified)
		if row.Watched < row.Files {
			notified += fmt.Sprintf(", the other %d fail", row.Files-row.Watched)
		}
		t.row(row.Work, row.Files, notified, row.Instances, row.Watches, row.Goroutines, kilobytes(row.Bytes),
			wait(float64(row.Idle)), wait(row.Rotation), wait(row.Median), wait(row.P99), row.Missed)
	}
	return t.Flush()
}

func kilobytes(bytes float64) string { return fmt.Sprintf("%.1f", bytes/1000) }
