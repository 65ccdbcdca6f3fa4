package vaultauth

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// floor is the shortest pause between two attempts, and the average one at the
// least whatever a server answers.
const floor = time.Second

// longestRetryAfter bounds what a server, or whoever answers in its place, can ask for.
const longestRetryAfter = 10 * time.Minute

// pace is how far attempts are apart on average: from first, doubling, to most.
type pace struct{ first, most time.Duration }

var (
	soon = pace{first: time.Second, most: 90 * time.Second}       // what passes by itself; see docs/fleet.md
	dark = pace{first: 10 * time.Second, most: 30 * time.Second}  // a bare 403, which may be either
	slow = pace{first: 10 * time.Second, most: 150 * time.Second} // what someone has to mend
	died = pace{first: 4 * time.Second, most: 150 * time.Second}  // logins whose tokens die at once
)

// pauses draws the pauses between failed attempts: each is uniform between
// the floor and twice an average that doubles, so that those who failed
// together do not come back together.
type pauses struct {
	exp *backoff.ExponentialBackOff
}

func newPauses(p pace) *pauses {
	exp := backoff.NewExponentialBackOff()
	exp.InitialInterval, exp.MaxInterval = p.first, p.most
	exp.Multiplier, exp.RandomizationFactor = 2, 1
	return &pauses{exp}
}

func (p *pauses) next() time.Duration { return max(p.exp.NextBackOff(), floor) }

// after is the pause where the server said when to come back, 0 if it did not.
// Those who are told the same moment must not keep it.
func (p *pauses) after(retryAfter time.Duration) time.Duration {
	return p.next() + part(retryAfter, 1+rand.Float64()/2)
}

func (p *pauses) reset() { p.exp.Reset() }

// retryAfter is what a refusal's header asks for, in seconds or as a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	var after time.Duration
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		after = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		after = time.Until(at)
	}
	return min(max(after, 0), longestRetryAfter)
}

// sleep waits, or returns ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return ctx.Err()
	}
}
