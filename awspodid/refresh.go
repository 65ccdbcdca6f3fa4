package awspodid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// When to refresh. AWS's SDKs of other languages have the same rule.
const (
	mandatory  = time.Minute      // before the end a failed refresh is repeated soon
	retryLong  = 5 * time.Minute  // to twice that after a failed refresh, before
	retrySoon  = 5 * time.Second  // to twice that, in the mandatory window
	lookAgain  = time.Second      // how soon a cache asks again while a refresh is due
	askAgain   = time.Minute      // and at the latest, which costs nothing
	margin     = time.Second      // before their end, in which a request may still be on its way
	flightTime = 30 * time.Second // bounds a fetch with all its attempts
	oneAttempt = 10 * time.Second // bounds each: the agent may take six seconds for its own
	grace      = 5 * time.Second  // after flightTime, for a client that ignores its context
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
	hot     time.Time       // until when they are handed out as they are
	expiry  time.Time       // theirs
	usable  time.Time       // until when they are handed out
	refresh time.Time       // when to refresh them
	doubted bool            // a service said that they have expired
}

// longestLife bounds what an answer can claim: more than AWS gives.
const longestLife = 12 * time.Hour

// hold plans the refresh of credentials: within the first half of the
// advisory window, so that pods that started together do not stay together.
// Its times have now's monotonic part, so that they hold also if someone sets
// the clock.
func hold(creds aws.Credentials, now time.Time) *held {
	left := longestLife
	if creds.CanExpire {
		left = min(left, creds.Expires.Sub(now))
	}
	window := advisory(left)
	h := &held{creds: creds, expiry: now.Add(left)}
	h.usable = h.expiry.Add(-margin)
	h.refresh = h.expiry.Add(-uniform(window/2, window))
	h.creds.CanExpire = true
	return h.anew(now)
}

// scattered refreshes the first credentials at any time of their life: pods
// that started together would refresh in one wave for days, since the window
// alone parts them by no more than its half each time.
func (h *held) scattered(now time.Time) *held {
	planned := h.refresh.Sub(now)
	next := *h
	next.refresh = now.Add(uniform(min(askAgain, planned/2), planned))
	return next.anew(now)
}

// anew sets when a cache shall ask again: in a minute, for Invalidate to have
// an effect through it, or when a refresh is due.
func (h *held) anew(now time.Time) *held {
	next := *h
	next.creds.Expires = earlier(now.Add(askAgain), h.refresh)
	next.hot = earlier(now.Add(askAgain/2), h.refresh)
	return &next
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// vend is what a caller gets while a refresh is due: a cache shall ask again
// at once, and not use the credentials beyond their end.
func (h *held) vend(now time.Time) aws.Credentials {
	creds := h.creds
	if !now.Before(h.hot) {
		creds.Expires = earlier(now.Add(lookAgain), h.usable)
	}
	return creds
}

// failure is a fetch that failed.
type failure struct {
	err   error
	until time.Time // when another one is worth the request
	count int       // in a row
}

// flight is a fetch, shared by all who wait for it.
type flight struct {
	done    chan struct{}
	started time.Time
	creds   aws.Credentials
	err     error
	last    atomic.Pointer[error] // of the last attempt, while there are others
}

// Retrieve returns credentials. While there are valid ones it never waits, and
// starts a refresh in the background if one is due; it does not fail while
// they are valid, up to a second before their end, for what is on its way.
// Without any it waits for a fetch that all callers share, and that goes on if
// ctx, which is the caller's alone, ends.
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
	case h != nil && now.Before(h.hot):
		return h.creds, nil
	case h != nil && now.Before(h.refresh):
		next := h.anew(now)
		p.current.CompareAndSwap(h, next)
		return next.creds, nil
	case h != nil && now.Before(h.usable) && !h.doubted:
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
	if h := p.current.Load(); h != nil && now.Before(h.usable) && !h.doubted { // another caller was faster
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
	stuck := time.NewTimer(time.Until(f.started.Add(flightTime + grace)))
	defer stuck.Stop()
	select {
	case <-f.done:
		return f.creds, f.err
	case <-stuck.C:
		p.drop(f)
		return aws.Credentials{}, p.explain(f, errStuck)
	case <-ctx.Done():
		err := ctx.Err()
		if cause := context.Cause(ctx); cause != err {
			err = fmt.Errorf("%w (%w)", err, cause)
		}
		return aws.Credentials{}, p.explain(f, err)
	}
}

var errStuck = errors.New("the client does not heed its context")

// explain says what was waited for, and how far it came.
func (p *Provider) explain(f *flight, err error) error {
	err = fmt.Errorf("awspodid: waiting for credentials of %s: %w", p.mechanism, err)
	if last := f.last.Load(); last != nil {
		return fmt.Errorf("%w; the last attempt: %w", err, *last)
	}
	return fmt.Errorf("%w%s", err, see(waitEnded, err))
}

// drop gives up a fetch that does not end, so that another one can begin.
func (p *Provider) drop(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.flight == f {
		p.flight = nil
	}
}

// start begins a fetch. p.mu is held.
func (p *Provider) start(ctx context.Context) {
	f := &flight{done: make(chan struct{}), started: time.Now(), err: abandoned("")}
	p.flight = f
	go func() {
		defer p.finish(f)
		defer func() {
			if v := recover(); v != nil { // of a client or a token source: no reason to end the process
				f.err = abandoned(": it panicked: " + clean(fmt.Sprint(v)))
			}
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flightTime)
		defer cancel()
		f.creds, f.err = p.attempts(ctx, f)
	}()
}

// abandoned is what waiting callers get if a client did not return.
func abandoned(why string) error {
	return errors.New("awspodid: the fetch did not finish" + why + see(httpClient, nil))
}

// attempts fetches until it succeeds, in the SDK's own rhythm. Each attempt
// reads the token anew.
func (p *Provider) attempts(ctx context.Context, f *flight) (aws.Credentials, error) {
	for attempt := 1; ; attempt++ {
		creds, err := p.attempt(ctx)
		if err == nil || attempt >= p.retryer.MaxAttempts() {
			return creds, err
		}
		late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil // of this attempt alone
		if !late && !p.retryer.IsErrorRetryable(err) {
			return creds, err
		}
		f.last.Store(&err)
		delay, e := p.retryer.RetryDelay(attempt, err)
		delay = max(delay, retryAfter(err))
		if deadline, _ := ctx.Deadline(); e != nil || time.Until(deadline) < delay+time.Second {
			return creds, err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return creds, err
		}
	}
}

// attempt bounds one request, so that a lost packet does not cost the others.
func (p *Provider) attempt(ctx context.Context) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, oneAttempt)
	defer cancel()
	return p.fetcher.fetch(ctx)
}

// finish publishes a fetch's result and wakes those who wait.
func (p *Provider) finish(f *flight) {
	now, failed := time.Now(), f.err
	p.mu.Lock()
	if p.flight == f {
		p.flight = nil
	}
	h := p.current.Load()
	alive := h != nil && now.Before(h.usable)
	tell := false
	if f.err == nil {
		p.stats.Fetches++
		p.stats.LastFetch = now
		// An answer that is worth less than what is there does not replace it.
		next := hold(f.creds, now)
		if !alive && p.mechanism == WebIdentity { // the agent would give the same again
			next = next.scattered(now)
		}
		if !alive || h.doubted || next.expiry.After(h.expiry) {
			h = next
		}
		f.creds = h.vend(now)
		p.current.Store(h)
		tell = len(p.told) > 0
		p.failed, p.told, p.next = failure{}, nil, h.refresh
		if !p.next.After(now) { // the same again, as from the agent's cache
			p.next = now.Add(max(lookAgain, min(retryLong, h.expiry.Sub(now)/2)))
		}
	} else {
		p.stats.Failures++
		p.stats.LastFailure = now
		reason := fmt.Sprint(alive, " ", reasonOf(f.err))
		tell = !p.told[reason]
		if p.told == nil {
			p.told = make(map[string]bool)
		}
		p.told[reason] = true
		count := p.failed.count + 1
		p.failed = failure{err: f.err, count: count, until: now.Add(pause(f.err, count))}
		if alive {
			p.next = nextRefresh(h, now)
			if h.doubted { // what is there is used on, by this caller and those after it
				kept := *h
				kept.doubted = false
				p.current.Store(&kept)
				f.creds, f.err = kept.vend(now), nil
			}
		}
	}
	p.mu.Unlock()
	close(f.done)
	switch {
	case failed == nil && tell:
		p.log(slog.LevelInfo, "fetched credentials again", "expiry", h.expiry)
	case failed == nil:
		p.log(slog.LevelDebug, "fetched credentials", "expiry", h.expiry, "refresh", h.refresh)
	case tell && alive:
		p.log(slog.LevelWarn, "the refresh failed, the credentials are used on until they expire", "expiry", h.expiry, "error", failed.Error())
	case tell:
		p.log(slog.LevelError, "no credentials", "error", failed.Error())
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
		// Not all at the same second: those who started together end together.
		return last.Add(-uniform(0, min(retryLong, last.Sub(now)/2)))
	}
	return next
}

// pause is how long a failure, the count-th in a row, is remembered when there
// are no credentials, so that a loop of callers does not become a loop of
// requests.
func pause(err error, count int) time.Duration {
	if isTokenFile(err) {
		return 0 // nothing was sent
	}
	from := retrySoon
	switch {
	case isThrottle(err):
		from = retrySoon << min(count-1, 3)
	case heals(err):
		from = time.Second / 2 << min(count-1, 4)
	}
	return uniform(from, 2*from) + retryAfter(err)
}

// Invalidate makes the next Retrieve fetch credentials before it returns any,
// for a service that answers that they have expired. If that fails, those that
// are there are used on. Credentials that were fetched just now are not
// doubted: the service's answer was to those before them. The agent may give
// the same ones again: it has a cache of its own.
//
// Through a cache that the SDK put around the provider this takes effect
// within a minute, or at once with that cache's own Invalidate.
func (p *Provider) Invalidate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.current.Load()
	if h == nil || h.doubted || time.Since(p.stats.LastFetch) < askAgain/2 {
		return
	}
	doubted := *h
	doubted.doubted, doubted.hot, doubted.refresh = true, time.Time{}, time.Time{}
	p.current.Store(&doubted)
}
