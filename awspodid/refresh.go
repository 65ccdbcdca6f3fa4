package awspodid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/podtoken/podtoken/tokenfile"
)

// When to refresh. AWS's SDKs of other languages have the same rule.
const (
	mandatory  = time.Minute      // before the end a failed refresh is repeated soon
	retryLong  = 5 * time.Minute  // to twice that after a failed refresh, before
	retrySoon  = 5 * time.Second  // to twice that, in the mandatory window
	lookAgain  = time.Second      // how soon a cache asks again while a refresh is due
	margin     = time.Second      // before their end, in which a request may still be on its way
	flightTime = 30 * time.Second // bounds a fetch with all its attempts
)

// advisory is how long before their end credentials that were fetched with
// left to live are refreshed.
func advisory(left time.Duration) time.Duration {
	switch {
	case left <= 20*time.Minute:
		return min(5*time.Minute, left/2) // what lives for less must not be asked for at every call
	case left <= 90*time.Minute:
		return 15 * time.Minute
	}
	return time.Hour
}

// held is what the provider has. It is immutable.
type held struct {
	creds   aws.Credentials // Expires is when to ask again
	expiry  time.Time       // theirs
	usable  time.Time       // until when they are handed out
	refresh time.Time       // when to refresh them
}

// hold plans the refresh of credentials: within the first half of the
// advisory window, so that pods that started together do not stay together.
func hold(creds aws.Credentials, now time.Time) *held {
	h := &held{creds: creds, expiry: creds.Expires}
	window := advisory(creds.Expires.Sub(now))
	h.refresh = creds.Expires.Add(-uniform(window/2, window))
	if !creds.CanExpire {
		h.expiry, h.refresh = now.Add(time.Hour), now.Add(time.Hour)
	}
	h.usable = h.expiry.Add(-margin)
	h.creds.Expires, h.creds.CanExpire = h.refresh, true
	return h
}

// vend is what a caller gets once a refresh is due: a cache shall soon ask
// again, and not use the credentials beyond their end.
func (h *held) vend(now time.Time) aws.Credentials {
	creds := h.creds
	creds.Expires = now.Add(lookAgain)
	if h.usable.Before(creds.Expires) {
		creds.Expires = h.usable
	}
	return creds
}

// failure is a fetch that failed.
type failure struct {
	err   error
	until time.Time // when another one is worth the request
	told  string    // what was last logged
}

// flight is a fetch, shared by all who wait for it.
type flight struct {
	done  chan struct{}
	creds aws.Credentials
	err   error
	last  atomic.Pointer[error] // of the last attempt, while there are others
}

// Retrieve returns credentials. While there are valid ones it never waits, and
// starts a refresh in the background if one is due; it does not fail while
// they are valid, up to a second before their end, for what is on its way. Without any it waits for a fetch that all callers share, and
// that goes on if ctx, which is the caller's alone, ends.
//
// Expires of the credentials is when to ask again, which the SDK's cache does.
// Stats has the time at which they really end.
//
// Its errors are *AgentError and *STSError, both with the chain to tokenfile's
// and the SDK's own errors, or ctx's.
func (p *Provider) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if p.fallback != nil {
		return p.fallback.Retrieve(ctx)
	}
	h, now := p.current.Load(), time.Now()
	switch {
	case h != nil && now.Before(h.refresh):
		return h.creds, nil
	case h != nil && now.Before(h.usable):
		p.refresh(ctx, now)
		return h.vend(now), nil
	}
	return p.wait(ctx, now)
}

// refresh starts a fetch in the background if one is due and none is under way.
func (p *Provider) refresh(ctx context.Context, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flight == nil && !now.Before(p.next) {
		p.start(ctx)
	}
}

// wait joins the fetch that is under way, or starts one.
func (p *Provider) wait(ctx context.Context, now time.Time) (aws.Credentials, error) {
	if err := ctx.Err(); err != nil {
		return aws.Credentials{}, err
	}
	p.mu.Lock()
	if h := p.current.Load(); h != nil && now.Before(h.usable) { // another caller was faster
		p.mu.Unlock()
		return h.vend(now), nil
	}
	if p.flight == nil && p.failed.err != nil && now.Before(p.failed.until) {
		err := p.failed.err
		p.mu.Unlock()
		return aws.Credentials{}, err
	}
	if p.flight == nil {
		p.start(ctx)
	}
	f := p.flight
	p.mu.Unlock()
	select {
	case <-f.done:
		return f.creds, f.err
	case <-ctx.Done():
		err := fmt.Errorf("awspodid: waiting for credentials of %s: %w", p.mechanism, context.Cause(ctx))
		if last := f.last.Load(); last != nil {
			err = fmt.Errorf("%w; the last attempt: %w", err, *last)
		}
		return aws.Credentials{}, err
	}
}

// start begins a fetch. p.mu is held.
func (p *Provider) start(ctx context.Context) {
	f := &flight{done: make(chan struct{}), err: errAbandoned}
	p.flight = f
	go func() {
		defer p.finish(f)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightTime)
		defer cancel()
		f.creds, f.err = p.attempts(ctx, f)
	}()
}

// errAbandoned is what waiting callers get if the fetch panicked.
var errAbandoned = errors.New("awspodid: the fetch did not finish")

// attempts fetches until it succeeds, in the SDK's own rhythm. Each attempt
// reads the token anew.
func (p *Provider) attempts(ctx context.Context, f *flight) (aws.Credentials, error) {
	for attempt := 1; ; attempt++ {
		creds, err := p.fetcher.fetch(ctx)
		if err == nil || attempt >= p.retryer.MaxAttempts() || !p.retryer.IsErrorRetryable(err) {
			return creds, err
		}
		f.last.Store(&err)
		delay, e := p.retryer.RetryDelay(attempt, err)
		if e != nil {
			return creds, err
		}
		timer := time.NewTimer(max(delay, retryAfter(err)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return creds, err
		}
	}
}

// finish publishes a fetch's result and wakes those who wait.
func (p *Provider) finish(f *flight) {
	now := time.Now()
	p.mu.Lock()
	p.flight = nil
	h := p.current.Load()
	alive := h != nil && now.Before(h.usable)
	var tell bool
	if f.err == nil {
		p.stats.Fetches++
		p.stats.LastFetch = now
		h = hold(f.creds, now)
		f.creds = h.creds
		p.current.Store(h)
		tell = p.failed.told != ""
		p.failed, p.next = failure{}, h.refresh
	} else {
		p.stats.Failures++
		p.stats.LastFailure = now
		tell = p.failed.told != reasonOf(f.err)
		p.failed = failure{err: f.err, until: now.Add(pause(f.err)), told: reasonOf(f.err)}
		if alive {
			p.next = nextRefresh(h, now)
		}
	}
	p.mu.Unlock()
	defer close(f.done) // after the log: no line comes late
	switch {
	case f.err == nil:
		p.log(slog.LevelDebug, "fetched credentials", "expiry", h.expiry, "refresh", h.refresh, "recovered", tell)
	case tell && alive:
		p.log(slog.LevelWarn, "the refresh failed, the credentials are used on until they expire", "expiry", h.expiry, "error", f.err.Error())
	case tell:
		p.log(slog.LevelError, "no credentials", "error", f.err.Error())
	}
}

// nextRefresh is when to try again while credentials are valid: late enough
// not to burden an agent in trouble, and in time for the mandatory window.
func nextRefresh(h *held, now time.Time) time.Time {
	last := h.expiry.Add(-mandatory)
	if !now.Before(last) {
		return now.Add(uniform(retrySoon, 2*retrySoon))
	}
	next := now.Add(uniform(retryLong, 2*retryLong))
	if next.After(last) {
		return last
	}
	return next
}

// pause is how long a failure is remembered when there are no credentials, so
// that a loop of callers does not become a loop of requests.
func pause(err error) time.Duration {
	if errors.As(err, new(*tokenfile.Error)) {
		return 0 // nothing was sent
	}
	if heals(err) {
		return uniform(time.Second/2, 3*time.Second/2)
	}
	return uniform(retrySoon, 2*retrySoon)
}

// Invalidate forgets the credentials, for a service that answers that they
// have expired. The next Retrieve fetches others. Credentials that were just
// fetched are kept: the service's answer was to those before them.
//
// A cache that the SDK put around the provider has its own Invalidate.
func (p *Provider) Invalidate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.stats.LastFetch) > retrySoon {
		p.current.Store(nil)
	}
}
