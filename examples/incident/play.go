package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// play lets the clients log in for a few lifetimes of the token, shows what
// happens meanwhile, and returns it. When ctx ends early, so does the play.
func (s *stage) play(ctx context.Context, show func(timeline)) (timeline, error) {
	r := &recorder{start: nextSecond(), timeline: timeline{lifetime: s.lifetime, length: s.length}}
	if !wait(ctx, r.start) {
		return r.timeline, nil
	}
	kubelet := s.kubelet(r.mounted)
	if err := errors.Join(kubelet.Rotate(), s.inherit()); err != nil {
		return r.timeline, err
	}
	clients := s.clients()
	r.cast(clients, s.diagnose(ctx))
	ctx, end := context.WithDeadline(ctx, r.start.Add(r.length))
	defer end()
	running := s.begin(ctx, kubelet, clients, r)
	every(ctx, s.lifetime/50, func() { show(r.snapshot()) })
	running.Wait()
	show(r.snapshot())
	return r.snapshot(), nil
}

// begin starts the kubelet and the clients, which run until ctx ends.
func (s *stage) begin(ctx context.Context, kubelet *tokenfiletest.Kubelet, clients []client, r *recorder) *sync.WaitGroup {
	var running sync.WaitGroup
	running.Go(func() { _ = kubelet.Run(ctx) }) // only the first mount could fail, and is done
	for i, c := range clients {
		note := func(at time.Time, l login) { r.login(i, at, l) }
		running.Go(func() { c.run(ctx, s.lifetime/50, s.door.enter, note) })
		if c.watch != nil {
			running.Go(func() { c.watch(ctx) })
		}
	}
	return &running
}

// nextSecond is when to begin. Times in tokens are whole seconds, so a token
// that is issued then lives as long as it says.
func nextSecond() time.Time { return time.Now().Truncate(time.Second).Add(time.Second) }

// wait waits for that time and reports whether ctx let it.
func wait(ctx context.Context, until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// every calls f at that interval, at once first, until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		f()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
