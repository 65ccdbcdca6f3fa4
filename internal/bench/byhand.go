package main

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// byHand is what all watchers have that a program writes itself.
type byHand struct {
	volumes  []*volume
	saw      func(i int, token string)
	watched  []bool
	notifies int

	ctx    context.Context // of its goroutines, which end ends
	cancel context.CancelFunc
	all    sync.WaitGroup
	looks  atomic.Uint64
}

func newByHand(volumes []*volume, saw func(int, string)) *byHand {
	w := &byHand{volumes: volumes, saw: saw, watched: make([]bool, len(volumes))}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

func (w *byHand) watchers() *watchers {
	return &watchers{
		told:     func(i int) bool { return w.watched[i] },
		notified: func() int { return w.notifies },
		looks:    w.looks.Load,
		end:      func() { w.cancel(); w.all.Wait() },
	}
}

func (w *byHand) run(loop func(ctx context.Context)) { w.all.Go(func() { loop(w.ctx) }) }

// look reads file i. A failed look is one at a swap, which the next event
// follows.
func (w *byHand) look(i int, read func(path string) (string, error)) {
	w.looks.Add(1)
	if token, err := read(w.volumes[i].path()); err == nil {
		w.saw(i, token)
	}
}

// next returns the name of what changed, "" at the end.
func (w *byHand) next(ctx context.Context, watcher *fsnotify.Watcher) string {
	select {
	case <-ctx.Done():
		return ""
	case event := <-watcher.Events:
		return event.Name
	case <-watcher.Errors:
		return "?" // an overflow: anything may have changed
	}
}
