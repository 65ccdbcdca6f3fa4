package main

import (
	"context"
	"sync"
	"time"
)

// board notes when those who watch files have seen what stands in each.
type board struct {
	mu      sync.Mutex
	want    []string    // what each is to see, "" if it need not
	rotated []time.Time // when that came
	lags    []float64   // nanoseconds from there to when it was seen
	left    int
	done    chan struct{} // closed when nobody is left
}

func newBoard(files int) *board {
	return &board{want: make([]string, files), rotated: make([]time.Time, files), done: make(chan struct{})}
}

// expect starts a round in which the one who watches file i is to see a token
// that is put there from now on. All calls of a round come before its first
// token.
func (b *board) expect(i int, token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		b.lags, b.done = nil, make(chan struct{})
	}
	if b.want[i] == "" {
		b.left++
	}
	b.want[i], b.rotated[i] = token, time.Now()
}

// put notes that the token of file i comes now.
func (b *board) put(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rotated[i] = time.Now()
}

// forget lets those go who need not see anything after all.
func (b *board) forget(gone func(i int) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, want := range b.want {
		if want != "" && gone(i) {
			b.want[i] = ""
			if b.left--; b.left == 0 {
				close(b.done)
			}
		}
	}
}

// saw notes what the one who watches file i got.
func (b *board) saw(i int, token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.want[i] == "" || b.want[i] != token {
		return
	}
	b.want[i] = ""
	b.lags = append(b.lags, float64(time.Since(b.rotated[i])))
	if b.left--; b.left == 0 {
		close(b.done)
	}
}

// wait returns the lags of a round when all have seen their token, after the
// longest wait or when ctx ends, and how many have not.
func (b *board) wait(ctx context.Context, longest time.Duration) (lags []float64, missed int) {
	b.mu.Lock()
	done, left := b.done, b.left
	b.mu.Unlock()
	if left > 0 {
		ctx, cancel := context.WithTimeout(ctx, longest)
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	missed, b.left = b.left, 0
	clear(b.want)
	return b.lags, missed
}
