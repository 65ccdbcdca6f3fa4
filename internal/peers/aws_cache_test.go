package peers

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

// https://github.com/aws/aws-sdk-go-v2/issues/2868
func TestAgentIsDownInTheLastTenMinutes(t *testing.T) {
	const lifetime, outage = time.Hour, 10 * time.Minute
	// failed counts the calls that fail, of one each second while the first
	// credentials are valid.
	failed := func(c *cluster, isPeer bool) (n int) {
		c.agent.SetLifetime(lifetime)
		side := c.side(isPeer)
		start := time.Now()
		require.NoError(c, c.retrieve(side).err)
		time.Sleep(lifetime - outage) // and nobody asks, so nobody has refreshed them
		c.agent.SetDown(true)
		for time.Since(start) < lifetime-time.Second {
			if c.retrieve(side).err != nil {
				n++
			}
			time.Sleep(time.Second)
		}
		return n
	}
	peer, ours := bySides(t, podIdentity, failed)
	asReported(t, peer > 20, "callers fail in the last five minutes, with credentials that work: %d", peer)
	assert.Zero(t, ours)
	row(t, "the agent is down; calls that fail in the last ten minutes, one a second", peer, ours)
}

// https://github.com/aws/aws-sdk-go-v2/issues/3192
func TestCredentialsWithFourMinutesLeft(t *testing.T) {
	peer, ours := bySides(t, podIdentity, func(c *cluster, isPeer bool) int {
		c.agent.SetLifetime(4 * time.Minute)
		side := c.side(isPeer)
		for range 50 {
			require.NoError(c, c.retrieve(side).err)
			time.Sleep(time.Second)
		}
		return len(c.requests())
	})
	asReported(t, peer == 50, "each call is a request: %d", peer)
	assert.Equal(t, 1, ours)
	row(t, "requests by 50 calls in 50 s with credentials of four minutes", peer, ours)
}

// Each minute a hundred callers come at a time, until just after the end of the
// first credentials: for six hours with the agent, and one with STS.
func TestCallersDuringARefreshOfFourSeconds(t *testing.T) {
	const callers = 100
	for _, m := range mechanisms {
		t.Run(m.name, func(t *testing.T) {
			type outcome struct {
				waited  int
				longest time.Duration
			}
			peer, ours := bySides(t, m.admit, func(c *cluster, isPeer bool) (o outcome) {
				c.runKubelet()
				side := c.side(isPeer)
				first := c.retrieve(side).creds
				c.fault(&awspodidtest.Fault{Latency: 4 * time.Second})
				for over := false; !over; time.Sleep(time.Minute) {
					over = !c.good(first)
					var all sync.WaitGroup
					var mu sync.Mutex
					for range callers {
						all.Go(func() {
							got := c.retrieve(side)
							assert.NoError(c, got.err)
							mu.Lock()
							defer mu.Unlock()
							if got.took > 0 {
								o.waited++
							}
							o.longest = max(o.longest, got.took)
						})
					}
					all.Wait()
				}
				refreshes := len(c.requests()) - 1
				assert.Positive(c, refreshes)
				assert.LessOrEqual(c, refreshes, 2, "podtoken's first one may come early")
				return o
			})
			asReported(t, peer.waited >= callers && peer.longest >= 4*time.Second, "every caller waits for the refresh: %v", peer)
			assert.Zero(t, ours)
			row(t, m.name+": of 100 callers at a time, who wait while a refresh takes 4 s", peer.waited, ours.waited)
		})
	}
}

// outages are a week's, one after another: what can be wrong with the agent or
// STS while the network is as it should be.
var outages = []struct {
	name  string
	begin func(*cluster)
}{
	{"refuses connections", func(c *cluster) { c.agent.SetDown(true); c.sts.SetDown(true) }},
	{"hangs", func(c *cluster) { c.fault(&awspodidtest.Fault{Hang: true}) }},
	{"answers 503", func(c *cluster) {
		c.fault(&awspodidtest.Fault{Status: http.StatusServiceUnavailable, Body: "<ErrorResponse/>"})
	}},
	{"takes 4 s", func(c *cluster) { c.fault(&awspodidtest.Fault{Latency: 4 * time.Second}) }},
}

// end ends an outage, by a restart: requests that hang are cut.
func (c *cluster) end() {
	c.fault(nil)
	c.sts.SetDown(true)
	c.sts.SetDown(false)
	c.agent.Restart()
}

// week is what a program meets that asks for credentials each minute.
type week struct {
	calls   int
	failed  int
	waited  int
	refused int // credentials that a service would not accept
	longest time.Duration
}

// between is from the start of one outage to that of the next: a prime, so that
// outages meet the refreshes of whoever makes them each hour.
const between = 47 * time.Minute

// live lets a week pass with outages. A caller gives up after half a minute.
func (c *cluster) live(p aws.CredentialsProvider, outage time.Duration) (w week) {
	c.runKubelet()
	require.NoError(c, c.retrieve(p).err)
	ctx, cancel := context.WithCancel(c.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			sleep(ctx, between-outage)
			outages[i%len(outages)].begin(c)
			sleep(ctx, outage)
			c.end()
		}
	}()
	for end := time.Now().Add(7 * 24 * time.Hour); time.Now().Before(end); sleep(ctx, time.Minute) {
		start := time.Now()
		hasty, cancel := context.WithTimeout(ctx, 30*time.Second)
		creds, err := p.Retrieve(hasty)
		cancel()
		took := time.Since(start)
		w.calls++
		w.longest = max(w.longest, took)
		switch {
		case err != nil:
			w.failed++
		case !c.good(creds):
			w.refused++
		}
		if took > 0 {
			w.waited++
		}
	}
	cancel()
	<-ended
	return w
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// This is how programs use a provider, so it is what counts.
func TestWeekOfOutagesThroughLoadDefaultConfig(t *testing.T) {
	// The longest that credentials are sure to outlive: the agent's are
	// refreshed half an hour or more before their end, STS's seven and a half
	// minutes.
	for _, m := range []struct {
		name   string
		admit  admission
		outage time.Duration
	}{{"Pod Identity", podIdentity, 25 * time.Minute}, {"IRSA", webIdentity, 6 * time.Minute}} {
		t.Run(m.name, func(t *testing.T) {
			peer, ours := bySides(t, m.admit, func(c *cluster, isPeer bool) week {
				if isPeer {
					return c.live(c.chain().Credentials, m.outage)
				}
				cfg := c.chain(config.WithCredentialsProvider(c.ours()))
				return c.live(cfg.Credentials, m.outage)
			})
			asReported(t, peer.waited > 10, "callers wait: %+v", peer)
			asReported(t, peer.failed > 0, "callers fail: %+v", peer)
			assert.Equal(t, week{calls: ours.calls}, ours)
			assert.Greater(t, ours.calls, 7*24*60-10)
			text := fmt.Sprintf("%s: of %d calls in a week with an outage of %v every %v, ", m.name, ours.calls, m.outage, between)
			row(t, text+"failed", peer.failed, ours.failed)
			row(t, text+"waited", peer.waited, ours.waited)
		})
	}
}
