package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// series is what was measured of one case at one number of procs.
type series struct {
	*bench
	nanos  []float64 // per op, by round; zero if not measured
	allocs cost
}

// measure runs all cases at all numbers of procs in turn, round by round:
// every other round backwards, so that none is always the one after another.
func (p plan) measure(ctx context.Context, cases []Case, place *place) ([]*series, error) {
	all, err := p.prepare(ctx, cases, place)
	defer func() {
		for _, s := range all {
			s.close()
		}
	}()
	for round := 0; err == nil && round < p.Rounds; round++ {
		err = p.round(ctx, all, round%2 == 1)
	}
	return all, err
}

// prepare sets the cases up, warms them up and counts their allocations.
func (p plan) prepare(ctx context.Context, cases []Case, place *place) (all []*series, err error) {
	for _, procs := range p.Procs {
		for _, c := range cases {
			if ctx.Err() != nil {
				return all, context.Cause(ctx)
			}
			b, err := c.open(place, procs)
			if err != nil {
				return all, err
			}
			s := &series{bench: b}
			all = append(all, s)
			if _, err := b.run(p.Slice); err != nil {
				return all, err
			}
			if s.allocs, err = b.lanes[0].allocs(p.Allocs, c.Rotated); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// round runs each case once.
func (p plan) round(ctx context.Context, all []*series, backwards bool) error {
	for i := range all {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if backwards {
			i = len(all) - 1 - i
		}
		runtime.GC() // what the one before left is not this one's to collect
		nanos, err := all[i].run(p.Slice)
		if err != nil {
			return err
		}
		all[i].nanos = append(all[i].nanos, nanos)
	}
	return nil
}

// run does the work in all lanes for about the given time, and returns the
// nanoseconds for which one op keeps the whole program busy: zero if the lanes
// did not get to run in parallel.
func (b *bench) run(slice time.Duration) (nanos float64, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(len(b.lanes)))
	each, errs := make([]float64, len(b.lanes)), make([]error, len(b.lanes))
	var all sync.WaitGroup
	beats := make(beats, len(b.lanes))
	for i := range b.lanes {
		all.Go(func() { each[i], errs[i] = b.lap(i, beats, slice) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, fmt.Errorf("%s: %w", b.Name, err)
	}
	var rate float64
	for _, nanos := range each {
		rate += 1 / nanos // infinite if the lap was given up
	}
	return 1 / rate, nil
}

// batch is how many ops are timed at once: some tens of microseconds, which
// is long for the clock, and short for those who interrupt.
func (c Case) batch() int {
	switch {
	case c.Rotated, c.Sends:
		return 1
	case c.Reads:
		return 8
	}
	return 512
}

// enough is how many batches must count for a lap beside another lane.
const enough = 8

// lap returns the nanoseconds of one op in lane i: the lower quartile over
// batches, since others who want the processor make a batch longer and never
// shorter. Beside another lane the lap goes on until enough batches counted,
// five times as long at most, and is zero if there were still too few.
func (b *bench) lap(i int, beats beats, slice time.Duration) (float64, error) {
	var samples []float64
	for start, over := time.Now(), false; !over; {
		took, counts, err := b.time(i, beats)
		if err != nil {
			return 0, err
		}
		if counts {
			samples = append(samples, float64(took)/float64(b.batch()))
		}
		passed, parallel := time.Since(start), len(beats) > 1
		over = passed >= slice && (!parallel || len(samples) >= 2*enough) || passed >= 5*slice
	}
	if len(beats) > 1 && len(samples) < enough {
		return 0, nil
	}
	return quantile(samples, 0.25), nil
}

// time does one batch in lane i. Beside another lane the batch counts if it
// met one or two of the other's: it met none if the other stood still, and
// many if it stood still itself.
func (b *bench) time(i int, beats beats) (took time.Duration, counts bool, err error) {
	if err := b.lanes[i].prepare(b.Rotated); err != nil {
		return 0, false, err
	}
	before := beats.others(i)
	beats[i].Add(1)
	began := time.Now()
	err = b.lanes[i].op(b.batch())
	took = time.Since(began)
	met := beats.others(i) - before
	return took, len(beats) == 1 || met == 1 || met == 2, err
}

// prepare gets the file ready for the next op.
func (l lane) prepare(rotated bool) error {
	if !rotated {
		return nil
	}
	return l.volume.rotate()
}

// beats count the batches that each lane began.
type beats []struct {
	atomic.Uint64
	_ [120]byte // a cache line of its own, or two
}

// others sums up what the lanes but i began.
func (b beats) others(i int) (sum uint64) {
	for j := range b {
		if j != i {
			sum += b[j].Load()
		}
	}
	return sum
}

// cost is what one op allocates.
type cost struct{ Allocs, Bytes int64 }

// allocs counts what n ops allocate and returns the share of one, rounded, so
// that the few of a goroutine beside it do not count.
func (l lane) allocs(n int, rotated bool) (cost, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var allocs, bytes uint64
	step := n
	if rotated {
		step = 1
	}
	for range n / step {
		if err := l.prepare(rotated); err != nil {
			return cost{}, err
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := l.op(step)
		runtime.ReadMemStats(&after)
		if err != nil {
			return cost{}, err
		}
		allocs += after.Mallocs - before.Mallocs
		bytes += after.TotalAlloc - before.TotalAlloc
	}
	return cost{share(allocs, n), share(bytes, n)}, nil
}

func share(sum uint64, n int) int64 { return int64(math.Round(float64(sum) / float64(n))) }
