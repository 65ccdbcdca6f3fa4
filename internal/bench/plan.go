package main

import "time"

// plan says how long to measure, and how much of what.
type plan struct {
	Quick  bool
	Rounds int           // how often each case runs
	Slice  time.Duration // how long it runs each time
	Allocs int           // ops over which allocations are counted
	Procs  []int

	Callers int           // while a refresh hangs
	Hang    time.Duration // how long it does, if someone waits for it

	CrowdRounds int
	Goroutines  []int // how many in a crowd
	TokenSizes  []int // bytes
	Sources     []int // how many

	Rates []int         // rotations a second
	Rate  time.Duration // for how long

	Files  []int         // watched at once
	Idle   time.Duration // for which nothing happens to them
	Bursts int           // rotations of all of them

	Objects int // alike, over which their memory is counted
}

var thorough = plan{
	Rounds: 81, Slice: 4 * time.Millisecond, Allocs: 1000, Procs: []int{1, 2},
	Callers: 1000, Hang: time.Second,
	CrowdRounds: 21, Goroutines: []int{1, 10, 100, 1000, 10_000},
	TokenSizes: []int{2 << 10, 8 << 10, 32 << 10, 64 << 10}, Sources: []int{1, 10, 100, 1000, 10_000},
	Rates: []int{1, 10, 100, 1000}, Rate: 4 * time.Second,
	Files: []int{100, 1000}, Idle: 30 * time.Second, Bursts: 3,
	Objects: 1000,
}

var quick = plan{
	Quick:  true,
	Rounds: 21, Slice: 1 * time.Millisecond, Allocs: 100, Procs: []int{1, 2},
	Callers: 200, Hang: time.Second / 4,
	CrowdRounds: fewest, Goroutines: []int{1, 100},
	TokenSizes: []int{2 << 10, 64 << 10}, Sources: []int{1, 100},
	Rates: []int{100}, Rate: time.Second / 2,
	Files: []int{50}, Idle: time.Second / 4, Bursts: 1,
	Objects: 300,
}
