package main

import "fmt"

// Case is one row: a piece of work that is done over and over.
type Case struct {
	Name string
	Base string // name of the case that this one is compared with

	// Limit is the name of the least that the system charges for such work.
	Limit string

	Rotated bool // the file changes before each op
	Reads   bool // each op reads the file
	Checks  bool // each op refuses a token for another audience
	Sends   bool // each op is a request to a server

	setup func(v *volume) (*subject, error)
}

// subject is what a Case works on: made once, and shared by goroutines.
type subject struct {
	worker func() worker // for one goroutine
	reads  func() uint64 // how often the file was read, if the subject counts
	close  func()        // may be nil
}

// worker does the work for one goroutine.
type worker struct {
	op    func(n int) error      // n times
	token func() (string, error) // once, and shows the token that it got
}

// newWorker makes a worker of what one op is, and of where its outcome has the
// token. The loop is inside of op, so that an op costs no more than one call
// that the compiler cannot inline.
func newWorker[T any](get func() (T, error), text func(T) string) worker {
	return worker{
		op: func(n int) error {
			for range n {
				if _, err := get(); err != nil {
					return err
				}
			}
			return nil
		},
		token: func() (string, error) {
			got, err := get()
			if err != nil {
				return "", err
			}
			return text(got), nil
		},
	}
}

// shared is a subject whose goroutines all do the same.
func shared[T any](get func() (T, error), text func(T) string) *subject {
	return &subject{worker: func() worker { return newWorker(get, text) }}
}

// lane is one goroutine's work, and the file that it works on.
type lane struct {
	worker
	volume *volume
}

// bench is a Case set up for a number of goroutines.
type bench struct {
	Case
	lanes    []lane
	subjects []*subject
}

// open sets up c for procs goroutines: with one subject for all of them, or
// with one each if the file changes at each op.
func (c Case) open(p *place, procs int) (*bench, error) {
	b := &bench{Case: c}
	for len(b.lanes) < procs {
		if err := b.add(p, procs); err != nil {
			b.close()
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return b, nil
}

// add makes one more subject and its lanes.
func (b *bench) add(p *place, procs int) error {
	v, err := p.volume()
	if err != nil {
		return err
	}
	s, err := b.setup(v)
	if err != nil {
		return err
	}
	b.subjects = append(b.subjects, s)
	if b.Rotated {
		procs = 1
	}
	for range procs {
		b.lanes = append(b.lanes, lane{s.worker(), v})
	}
	return nil
}

func (b *bench) close() {
	for _, s := range b.subjects {
		if s.close != nil {
			s.close()
		}
	}
}
