package soak

import (
	"context"
	"sync"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// channels is what the loop listens to.
type channels struct {
	tokens  chan seen
	logins  chan login
	secrets chan found
}

// loop returns when there is an ending. What it started ends with it, unless
// the party does not respect its context: the verdict does not wait for that.
func (r *run) loop(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer wait(&group)
	defer cancel()
	c := channels{make(chan seen), make(chan login), make(chan found)}
	group.Go(func() { watch(inner, r.source(), c.tokens) })
	namespace := r.token.Kubernetes().Namespace
	group.Go(func() { r.lookForSecrets(inner, namespace, c.secrets) })
	r.event(Begun, r.introduction())
	return r.listen(inner, &group, c)
}

func (r *run) listen(ctx context.Context, group *sync.WaitGroup, c channels) error {
	begin := time.NewTicker(r.every(r.life))
	defer begin.Stop()
	status, stop := r.statusTicker()
	defer stop()
	deadline, stop := r.deadline()
	defer stop()

	busy := false
	logIn := func() {
		if !busy { // one at a time
			busy = true
			group.Go(func() { r.logIn(ctx, c.logins) })
		}
	}
	logIn()
	for r.ending == "" {
		select {
		case <-ctx.Done():
			r.ending = Interrupted
		case <-deadline:
			r.timeIsUp = true
		case <-begin.C:
			logIn()
		case s := <-c.tokens:
			r.saw(s)
		case f := <-c.secrets:
			r.looked(f)
		case l := <-c.logins:
			busy = false
			if err := r.loggedIn(l); err != nil {
				return err
			}
		case <-status:
			r.OnStatus(r.status(time.Now()))
		}
		r.judge(time.Now())
	}
	r.ended = time.Now()
	return nil
}

// statusTicker ticks for OnStatus, if there is one.
func (r *run) statusTicker() (<-chan time.Time, func()) {
	if r.OnStatus == nil {
		return nil, func() {}
	}
	ticker := time.NewTicker(time.Second)
	return ticker.C, ticker.Stop
}

func (r *run) deadline() (<-chan time.Time, func()) {
	if r.For == 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(r.For)
	return timer.C, func() { timer.Stop() }
}

// wait waits for goroutines, and not long.
func wait(group *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func watch(ctx context.Context, source *tokenfile.Source, tokens chan<- seen) {
	for token, err := range source.Watch(ctx) {
		select {
		case tokens <- seen{token, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (r *run) lookForSecrets(ctx context.Context, namespace string, secrets chan<- found) {
	if r.Secrets == nil {
		return
	}
	again := time.NewTicker(secretsEvery)
	defer again.Stop()
	for ctx.Err() == nil {
		f := found{at: time.Now()}
		f.names, f.err = r.Secrets(ctx, namespace)
		select {
		case secrets <- f:
		case <-ctx.Done():
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}
