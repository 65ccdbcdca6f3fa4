package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// refresh is one row of the table of callers who come while a refresh hangs.
type refresh struct {
	name string
	use  awsUse
	life func(plan) time.Duration // of credentials that are to be refreshed soon
}

// life is that of credentials which awspodid refreshes when between a half and
// three quarters of it have passed. What is left is for the callers. It takes
// none that end within seconds.
func (p plan) life() time.Duration { return max(8*p.Hang, 8*time.Second) }

// Refresh is what callers met while a refresh hung and the credentials from
// before it were still valid.
type Refresh struct {
	Work    string
	Callers int
	Waited  int  // who came back only when the refresh went on
	Valid   bool // the credentials were, all the time; else the rest means nothing

	Median, P99, Longest float64 // nanoseconds of a call
}

// refreshes makes all rows.
func (p plan) refreshes(ctx context.Context, r *Report, place *place) error {
	for _, late := range refreshes {
		row, err := p.late(ctx, late, place)
		if err != nil {
			return fmt.Errorf("%s: %w", late.name, err)
		}
		r.Refreshes = append(r.Refreshes, row)
	}
	return nil
}

// late makes one.
func (p plan) late(ctx context.Context, r refresh, place *place) (Refresh, error) {
	v, err := place.volume()
	if err != nil {
		return Refresh{}, err
	}
	agent := newAgent(r.life(p))
	provider, err := r.use(agent, v.path())
	if err != nil {
		return Refresh{}, err
	}
	if _, err := provider.Retrieve(ctx); err != nil {
		return Refresh{}, err
	}
	expiry := *agent.expiry.Load()
	agent.shut.Store(true)
	hangs, end := agent.await(ctx, provider, time.Until(expiry))
	defer end()
	if !hangs {
		return Refresh{Work: r.name, Callers: p.Callers}, nil
	}
	nanos, waited, err := p.call(provider, agent)
	return Refresh{
		Work: r.name, Callers: len(nanos), Waited: waited, Valid: time.Now().Before(expiry),
		Median: quantile(nanos, 0.5), P99: quantile(nanos, 0.99), Longest: quantile(nanos, 1),
	}, err
}

// await calls for credentials until that makes a request, which hangs, or for
// as long as most: on a busy machine. What it returns waits for the last of
// these calls.
func (a *agent) await(ctx context.Context, provider aws.CredentialsProvider, most time.Duration) (hangs bool, end func()) {
	ctx, cancel := context.WithTimeout(ctx, most)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, _ = provider.Retrieve(ctx) // the callers see its errors too
			time.Sleep(time.Millisecond)
		}
	}()
	end = func() { cancel(); <-done }
	select {
	case <-a.hanging:
		return true, end
	case <-ctx.Done():
		return false, end
	}
}

// call lets all callers come at once, and lets the refresh go on when all are
// back, or when it has hung for long enough.
func (p plan) call(provider aws.CredentialsProvider, agent *agent) (nanos []float64, waited int, err error) {
	nanos, errs := make([]float64, p.Callers), make([]error, p.Callers)
	var released atomic.Bool
	var late atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range nanos {
		all.Go(func() {
			<-start
			began := time.Now()
			_, errs[i] = provider.Retrieve(context.Background())
			nanos[i] = float64(time.Since(began))
			if released.Load() {
				late.Add(1)
			}
		})
	}
	back := make(chan struct{})
	go func() { defer close(back); all.Wait() }()
	close(start)
	select {
	case <-back:
	case <-time.After(p.Hang):
	}
	released.Store(true)
	close(agent.release)
	<-back
	return nanos, int(late.Load()), errors.Join(errs...)
}
