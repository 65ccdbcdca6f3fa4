package peers

import (
	"context"
	"math/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// ending is how a LifetimeWatcher ended.
type ending struct {
	after time.Duration
	err   error
}

// watch lets a watcher run until it ends, or for as long as most.
func (s *stage) watch(watcher *api.LifetimeWatcher, most time.Duration) (e ending, ended bool) {
	start := time.Now()
	go watcher.Start()
	defer watcher.Stop()
	select {
	case err := <-watcher.DoneCh():
		return ending{time.Since(start), err}, true
	case <-time.After(most):
		return ending{}, false
	}
}

// fleet is a number of pods that start in the same instant.
const fleet = 300

// watchers logs n pods in, calls then, and lets their watchers run until they
// end, or for as long as most. Each has its own randomness: the default seed is
// the nanosecond of the clock, and in a bubble that is the same for all.
func (s *stage) watchers(n int, most time.Duration, then func()) (ends []ending) {
	list := make([]*api.LifetimeWatcher, n)
	var all sync.WaitGroup
	for i := range list {
		all.Go(func() {
			list[i] = s.watcher(s.client(), api.LifetimeWatcherInput{Rand: rand.New(rand.NewSource(int64(i)))})
		})
	}
	all.Wait()
	then()
	var mu sync.Mutex
	for _, watcher := range list {
		all.Go(func() {
			if end, ended := s.watch(watcher, most); ended {
				mu.Lock()
				ends = append(ends, end)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return ends
}

// sessions does the same with sessions.
func (s *stage) sessions(n int, most time.Duration, then func()) []*vaultauth.Session {
	list := make([]*vaultauth.Session, n)
	var all sync.WaitGroup
	for i := range list {
		all.Go(func() { list[i] = s.loggedIn() })
	}
	all.Wait()
	then()
	for _, session := range list {
		go session.Run(s.Context())
	}
	time.Sleep(most)
	return list
}

// requests are when there was one whose path ends so, in order. The server's
// counts do not tell what those were that met a fault.
func (s *stage) requests(path string) (times []time.Time) {
	for _, request := range s.server.Requests() {
		if strings.HasSuffix(request.Path, path) {
			times = append(times, request.Time)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times
}

func (s *stage) renewals() []time.Time { return s.requests("/renew-self") }

// https://github.com/hashicorp/vault/issues/28611
//
// The watcher's back-off says "stop" with a zero that is taken for no pause:
// in the middle of the lease the loop begins to spin. Some are spared by their
// jitter, so there are a dozen.
func TestRenewalsAreAnsweredWith400(t *testing.T) {
	const pods = 12
	role := vaultauthtest.Role{TokenTTL: time.Minute}
	refuse := func(s *stage) func() {
		return func() { s.renewalsFail(http.StatusBadRequest, "lease is not renewable") }
	}
	var peer, ours int
	play(t, role, func(s *stage) {
		s.watchers(pods, time.Minute, refuse(s))
		peer = len(s.renewals())
	})
	play(t, role, func(s *stage) {
		s.sessions(pods, time.Minute, refuse(s))
		ours = len(s.renewals())
		assert.LessOrEqual(s, s.server.Counts().Total(), 10*pods)
	})
	asReported(t, peer > 200*pods, "they send renewals without a pause: %d", peer)
	assert.Positive(t, ours)
	row(t, "renewals by 12 pods in a minute when they get 400 after 5 ms; lease of a minute", peer, ours)
}

// https://github.com/hashicorp/vault/issues/22575
// https://github.com/hashicorp/vault/issues/28611
func TestRenewalsAreForbiddenByPolicy(t *testing.T) {
	role := vaultauthtest.Role{TokenTTL: time.Hour, NoDefaultPolicy: true}
	play(t, role, func(s *stage) {
		watcher := s.watcher(s.client(), api.LifetimeWatcherInput{})
		end, ended := s.watch(watcher, time.Hour)
		require.True(s, ended)
		asReported(s.T, s.server.Counts().Renewals.Refused == 1 && end.after > 30*time.Minute && end.err == nil,
			"it says nothing of the refusal until the lease is nearly over, and nil then: %v after %v", end.err, end.after)
	})
	play(t, role, func(s *stage) {
		s.keepToken = true // without it one renewal in six is a login
		session := s.session()
		time.Sleep(time.Hour)
		stats := session.Stats()
		assert.NotZero(s, stats.Failures[vaultauth.NotRenewable])
		assert.GreaterOrEqual(s, stats.Logins, uint64(2))
		assert.NoError(s, session.Ready(s.Context()))
	})
	row(t, "renewals are forbidden by policy", "nothing, then nil", "counted and logged as not renewable, and a new login while the token lives")
}

// https://github.com/hashicorp/vault/issues/10918
// https://github.com/hashicorp/vault/issues/11008
//
// A new login is not all that it costs: the leases of dynamic secrets end with
// the token that they were read with. A program that has such sets KeepToken.
func TestServerIsSealedForSixMinutesOfALeaseOfTen(t *testing.T) {
	const lease, outage = 10 * time.Minute, 6 * time.Minute
	role := vaultauthtest.Role{TokenTTL: lease}
	seal := func(s *stage) func() {
		return func() {
			s.server.Seal()
			time.AfterFunc(outage, s.server.Unseal)
		}
	}
	gaveUp, loggedInAgain := 0, 0
	play(t, role, func(s *stage) {
		for _, end := range s.watchers(fleet, lease, seal(s)) {
			assert.NoError(s, end.err)
			if end.after < 7*lease/10 {
				gaveUp++
			}
		}
	})
	play(t, role, func(s *stage) {
		s.keepToken = true
		for _, session := range s.sessions(fleet, lease, seal(s)) {
			assert.NoError(s, session.Ready(s.Context()))
			if session.Stats().Logins > 1 {
				loggedInAgain++
			}
		}
	})
	asReported(t, gaveUp > fleet/4, "%d of %d end with three tenths of the lease left or more", gaveUp, fleet)
	assert.Zero(t, loggedInAgain, "the first token lived through the outage")
	row(t, "of 300, tokens given up with 3 of 10 minutes left, the server sealed for 6 (KeepToken)", gaveUp, loggedInAgain)
}

func TestFleetThatStartedTogether(t *testing.T) {
	const lease = 10 * time.Minute
	role := vaultauthtest.Role{TokenTTL: lease}
	var peerFirst, peerLater, ours int
	play(t, role, func(s *stage) {
		s.watchers(fleet, lease, func() {})
		renewals := s.renewals()
		require.GreaterOrEqual(s, len(renewals), 2*fleet)
		peerFirst, peerLater = busiestSecond(renewals[:fleet]), busiestSecond(renewals[fleet:])
	})
	play(t, role, func(s *stage) {
		s.sessions(fleet, 2*lease, s.server.ClearRequests)
		requests := s.requests("") // logins are among them
		require.GreaterOrEqual(s, len(requests), 2*fleet)
		ours = busiestSecond(requests)
	})
	asReported(t, peerFirst == fleet, "all renew at once, right after the login")
	asReported(t, peerLater > 15, "and then within a thirtieth of the lease: %d in a second", peerLater)
	assert.Less(t, ours, 15, "a uniform spread has fewer than one in a second on average")
	row(t, "of 300 started together, requests in the busiest second after the logins; lease of 10 minutes", peerFirst, ours)
	row(t, "the same, after the first renewal", peerLater, ours)
}

// busiestSecond is the most that came within a second.
func busiestSecond(times []time.Time) (most int) {
	first := 0
	for i, at := range times {
		for at.Sub(times[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

func TestStopDuringARenewalThatHangs(t *testing.T) {
	// hang returns what is closed once a renewal hangs.
	hang := func(s *stage) chan struct{} {
		hanging := make(chan struct{})
		once := sync.OnceFunc(func() { close(hanging) })
		s.server.SetFault(func(r *http.Request) *vaultauthtest.Fault {
			if !strings.HasSuffix(r.URL.Path, "/renew-self") {
				return nil
			}
			once()
			return &vaultauthtest.Fault{Hang: true}
		})
		return hanging
	}
	role := vaultauthtest.Role{TokenTTL: 10 * time.Minute}
	var peer, ours time.Duration
	play(t, role, func(s *stage) {
		watcher := s.watcher(s.client(), api.LifetimeWatcherInput{})
		hanging := hang(s)
		go watcher.Start()
		<-hanging
		watcher.Stop()
		stopped := time.Now()
		<-watcher.DoneCh()
		peer = time.Since(stopped)
	})
	play(t, role, func(s *stage) {
		session := s.loggedIn()
		hanging := hang(s)
		ctx, cancel := context.WithCancel(s.Context())
		done := make(chan error)
		go func() { done <- session.Run(ctx) }()
		<-hanging
		cancel()
		stopped := time.Now()
		assert.ErrorIs(s, <-done, context.Canceled)
		ours = time.Since(stopped)
	})
	asReported(t, peer > 50*time.Second, "Stop leaves a renewal that hangs to its own time-out: %v", peer)
	assert.Less(t, ours, time.Second)
	row(t, "from Stop to the end, while a renewal hangs", peer, ours)
}
