package main

import (
	"runtime"
	"sync"
	"testing"
)

// BenchmarkCases has the rows of the table for go test and benchstat, in parallel
// if -cpu says so. A row whose file changes runs in one goroutine.
func BenchmarkCases(b *testing.B) {
	place := newTestPlace(b)
	for _, c := range cases {
		procs := runtime.GOMAXPROCS(0)
		if c.Rotated {
			procs = 1
		}
		b.Run(c.Name, func(b *testing.B) {
			opened, err := c.open(place, procs)
			if err != nil {
				b.Fatal(err)
			}
			defer opened.close()
			b.ReportAllocs()
			b.ResetTimer()
			if c.Rotated {
				opened.lanes[0].rotating(b)
			} else {
				opened.parallel(b)
			}
		})
	}
}

// rotating does the work t.N times with a rotation before each.
func (l lane) rotating(t *testing.B) {
	for range t.N {
		t.StopTimer()
		if err := l.volume.rotate(); err != nil {
			t.Fatal(err)
		}
		t.StartTimer()
		if err := l.op(1); err != nil {
			t.Fatal(err)
		}
	}
}

// parallel shares t.N ops among the lanes.
func (b *bench) parallel(t *testing.B) {
	var all sync.WaitGroup
	for i, lane := range b.lanes {
		all.Go(func() {
			if err := lane.op((t.N + i) / len(b.lanes)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
