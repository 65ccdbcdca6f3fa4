package vaultauth

import (
	"time"

	"github.com/hashicorp/vault/api"
)

const (
	// unknownLease stands for a lease of zero or less: the server says that
	// the token does not end, or does not say when.
	unknownLease = time.Hour

	// longestLease bounds what a server can say. No program runs for longer,
	// and no arithmetic on it overflows.
	longestLease = 366 * 24 * time.Hour
)

// lease is a token and what the server said about it. It is immutable.
type lease struct {
	token     string
	start     time.Time     // before the request was sent, so that the lease is never thought longer than it is
	ttl       time.Duration // from start
	full      time.Duration // the longest ttl that this token was given
	born      time.Time     // start of the login
	renewable bool
}

func newLease(a answer, start time.Time) *lease {
	auth := a.secret.Auth
	l := &lease{token: auth.ClientToken, start: start, born: start, ttl: leaseOf(auth)}
	l.full = l.ttl
	// A renewal is a use of the token: one with few of them would be used up
	// by renewals. No lease to speak of cannot be renewed either.
	l.renewable = auth.Renewable && a.numUses == 0 && auth.LeaseDuration > 0
	return l
}

// renewed is the lease after the server extended it.
func (l *lease) renewed(auth *api.SecretAuth, start time.Time) *lease {
	next := *l
	next.start, next.ttl = start, leaseOf(auth)
	next.full = max(l.full, next.ttl)
	next.renewable = auth.Renewable && auth.LeaseDuration > 0
	return &next
}

// unrenewable is the lease after the server refused to extend it.
func (l *lease) unrenewable() *lease {
	next := *l
	next.renewable = false
	return &next
}

func (l *lease) end() time.Time { return l.start.Add(l.ttl) }

// capped says that the lease cannot grow any more: the server gave less than
// before, because the token's maximum TTL comes near.
func (l *lease) capped() bool { return l.ttl < l.full }

func leaseOf(auth *api.SecretAuth) time.Duration {
	seconds := int64(auth.LeaseDuration)
	if seconds <= 0 {
		return unknownLease
	}
	return time.Duration(min(seconds, int64(longestLease/time.Second))) * time.Second
}

// action is what a session does next.
type action string

const (
	login action = "login"
	renew action = "renew"
)

// Fractions of a lease. Renewals come around two thirds of it.
const (
	earliestOfAlike = 0.20 // the first after a login at the same time as others'
	earliest        = 0.45
	latest          = 0.85
	lastRenewal     = 0.90 // from here on a failing renewal takes turns with a login
)

// loginsOfAlike is how many of the renewals of a token that is as old as
// others' are logins instead.
const loginsOfAlike = 1.0 / 6

// plan says what to do about a lease that was just had, and when. The draws
// are uniform in [0, 1). A token is alike while it was had at a moment that
// was not drawn: at a start or after an outage, as the tokens of other pods were.
//
// The first point after such a login is drawn from a range as wide as the
// average distance of two renewals. So a fleet is spread evenly over the
// period from its first renewal on, and the later, narrower draws keep it so.
// Its tokens would still reach their max TTL together. So until it has had
// another login, each renewal may become one; by the time of the max TTL,
// which the server tells nobody before, few tokens are of the same age.
func (l *lease) plan(alike bool, when, which float64) (action, time.Time) {
	if l.capped() {
		// The old token lives for ttl still: enough to log in while it does.
		return login, l.start.Add(part(l.ttl, when/2))
	}
	from, do := earliest, renew
	if alike && l.start.Equal(l.born) {
		from = earliestOfAlike
	}
	if !l.renewable || alike && which < loginsOfAlike {
		do = login
	}
	// Servers cut leases to whole seconds, so that one may end a second before
	// it seems to.
	sure := l.ttl - min(time.Second, l.ttl/4)
	return do, l.start.Add(part(sure, from+when*(latest-from)))
}

// planRefused is when to log in after a renewal that the server refused at now
// while the token still works.
func (l *lease) planRefused(now time.Time, when float64) time.Time {
	return now.Add(part(max(l.end().Sub(now), 0), when/2))
}

func part(d time.Duration, fraction float64) time.Duration {
	return time.Duration(float64(d) * fraction)
}
