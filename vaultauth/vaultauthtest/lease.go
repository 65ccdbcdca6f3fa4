package vaultauthtest

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// systemTTL is the servers' default for both the lease and its bound.
const systemTTL = 768 * time.Hour

var errPastMaxTTL = errors.New("past the max TTL, cannot renew")

// terms are what bounds the next lease of a token.
type terms struct {
	increment   time.Duration // what the client asks for
	ttl         time.Duration
	maxTTL      time.Duration
	explicitMax time.Duration
	period      time.Duration
}

// lease computes the TTL that the servers grant now to a token issued at
// issued, and what they warn of. All is cut to whole seconds.
func (t terms) lease(now, issued time.Time) (ttl time.Duration, warnings []string, err error) {
	now, issued = now.Truncate(time.Second), issued.Truncate(time.Second)
	limit := systemTTL
	if t.maxTTL > 0 {
		limit = min(limit, t.maxTTL)
	}
	if t.explicitMax > 0 {
		limit = min(limit, t.explicitMax)
	}
	if t.period > 0 {
		ttl = t.period
		if ttl > limit {
			warnings = append(warnings, fmt.Sprintf(
				"period of %q exceeded the effective max_ttl of %q; period value is capped accordingly",
				human(ttl), human(limit)))
			ttl = limit
		}
		if t.explicitMax == 0 {
			return ttl, warnings, nil
		}
		limit = t.explicitMax
	} else {
		ttl = t.wanted()
	}
	left := issued.Add(limit).Sub(now)
	if left <= 0 {
		return 0, nil, errPastMaxTTL
	}
	if ttl > left {
		warnings = append(warnings, fmt.Sprintf(
			"TTL of %q exceeded the effective max_ttl of %q; TTL value is capped accordingly",
			human(ttl), human(left)))
		ttl = left
	}
	return ttl, warnings, nil
}

// wanted is the lease before it is bounded.
func (t terms) wanted() time.Duration {
	switch {
	case t.increment > 0:
		return t.increment
	case t.ttl > 0:
		return t.ttl
	}
	return systemTTL
}

// human writes a duration as the servers' warnings do, without what is zero
// at its end.
func human(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return strings.Replace(s, "h0m", "h", 1)
}
