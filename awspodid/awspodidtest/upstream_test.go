package awspodidtest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

func TestUpstream(t *testing.T) {
	cases := []struct {
		state    awspodidtest.Upstream
		min, max time.Duration
		status   int
		body     string
	}{
		{awspodidtest.Throttled, 2500 * time.Millisecond, 3500 * time.Millisecond, 429,
			"[REQUEST-ID]: (ThrottlingException): Rate exceeded, fault: client\n"},
		{awspodidtest.ThrottledAs400, 2500 * time.Millisecond, 3500 * time.Millisecond, 400,
			"[REQUEST-ID]: (ThrottlingException): Rate exceeded, fault: client\n"},
		{awspodidtest.InternalError, 500 * time.Millisecond, 1500 * time.Millisecond, 500,
			"[REQUEST-ID]: (InternalServerException): Internal server error, fault: server\n"},
		{awspodidtest.Unavailable, 500 * time.Millisecond, 1500 * time.Millisecond, 503,
			"[REQUEST-ID]: (ServiceUnavailableException): Service unavailable, fault: server\n"},
		{awspodidtest.Slow, 6 * time.Second, 6 * time.Second, 500, "[]\n"},
		{awspodidtest.RoleDenied, 0, 0, 403, "[REQUEST-ID]: (AccessDeniedException): " +
			"Unauthorized Exception! EKS does not have permissions to assume the associated role., fault: client\n"},
		{awspodidtest.NodeDenied, 0, 0, 403, "[REQUEST-ID]: (AccessDeniedException): " +
			"User: arn:aws:sts::111122223333:assumed-role/node/i-0a1b2c3d4e5f60718 is not authorized to perform: " +
			"eks-auth:AssumeRoleForPodIdentity on resource: arn:aws:eks:eu-central-1:111122223333:cluster/shop " +
			"because no identity-based policy allows the eks-auth:AssumeRoleForPodIdentity action, fault: client\n"},
		{awspodidtest.TokenExpiredThere, 0, 0, 400, "[REQUEST-ID]: (ExpiredTokenException): The token included in the " +
			"request is expired: current date/time 2000-01-01T00:00:00Z must be before the expiration date/time " +
			"2000-01-02T00:00:00Z, fault: client\n"},
	}
	for _, c := range cases {
		t.Run(string(c.state), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				start := time.Now()
				b.agent.SetUpstream(c.state)
				r := b.ask(b.jwt(nil))
				assert.Equal(t, c.status, r.status)
				assert.Equal(t, c.body, known(r.body))
				took := time.Since(start)
				assert.GreaterOrEqual(t, took, c.min)
				assert.LessOrEqual(t, took, c.max)
				assert.Equal(t, took, b.agent.Requests()[0].Took)

				b.agent.SetUpstream(awspodidtest.Healthy)
				b.ask(b.jwt(nil)).credentials(t)
				assert.Equal(t, 2, b.agent.Counts().Upstream)
			})
		})
	}
}

// A client that gives up before the agent does never learns what the agent
// would have said.
func TestUpstreamRecoversWhileTheAgentRetries(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.agent.SetUpstream(awspodidtest.Slow)
		go func() {
			time.Sleep(5 * time.Second)
			b.agent.SetUpstream(awspodidtest.Healthy)
		}()
		b.ask(b.jwt(nil)).credentials(t)

		b.agent.SetUpstream(awspodidtest.Slow)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		request := b.get(awspodidtest.AgentURL, b.jwt(object{"jti": "another"}))
		_, err := send(b.agent.Transport(), request.WithContext(ctx))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 1, b.agent.Counts().Cut)
	})
}

func TestTokenExpiresWhileTheAgentRetries(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.agent.SetUpstream(awspodidtest.Slow)
		time.AfterFunc(5*time.Second, func() { b.agent.SetUpstream(awspodidtest.Healthy) })
		r := b.ask(b.jwt(object{"exp": ahead(3 * time.Second)}))
		assert.Equal(t, 400, r.status)
		assert.Equal(t, "[REQUEST-ID]: (ExpiredTokenException): The token included in the request is expired: current "+
			"date/time 2000-01-01T00:00:06Z must be before the expiration date/time 2000-01-01T00:00:03Z, fault: client\n",
			known(r.body))
	})
}

// Who waits for another's answer can still go away.
func TestGivingUpOnAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.agent.SetUpstream(awspodidtest.Slow)
		token := b.jwt(nil)
		go b.try(token)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+1)
		defer cancel()
		start := time.Now()
		_, err := send(b.agent.Transport(), b.get(awspodidtest.AgentURL, token).WithContext(ctx))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second+1, time.Since(start))
		assert.Equal(t, 1, b.agent.Counts().Upstream)
	})
}

func TestShortCredentials(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		for lifetime, left := range map[time.Duration]string{
			-time.Minute: "-60.00", 10 * time.Second: "10.00", 15 * time.Second: "15.00",
		} {
			b.agent.SetLifetime(lifetime)
			r := b.ask(b.jwt(nil))
			assert.Equal(t, 500, r.status)
			assert.Equal(t, "fetched credentials are expired or will expire within the next "+left+" seconds\n", r.body)
		}
		b.agent.SetLifetime(16 * time.Second)
		token := b.jwt(nil)
		c := b.ask(token).credentials(t)
		assert.Equal(t, 16*time.Second, time.Until(c.Expiration))
		assert.Equal(t, c, b.ask(token).credentials(t))
		time.Sleep(time.Second)
		assert.NotEqual(t, c, b.ask(token).credentials(t), "too short to be given out once more")
	})
}

func TestEightAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token, start := b.jwt(nil), time.Now()
		b.agent.SetUpstream(awspodidtest.InternalError) // passes while the first one retries
		answers := make(chan credentials, 8)
		for range cap(answers) {
			go func() { answers <- b.ask(token).credentials(t) }()
		}
		synctest.Wait()
		b.agent.SetUpstream(awspodidtest.Healthy)
		first := <-answers
		for range cap(answers) - 1 {
			assert.Equal(t, first, <-answers)
		}
		assert.Less(t, time.Since(start), 2*time.Second)
		counts := b.agent.Counts()
		assert.Equal(t, 8, counts.OK)
		assert.Equal(t, 7, counts.Cached)
		assert.Equal(t, 1, counts.Upstream)
	})
}

// Nine looks into the cache take 1.8 s, and then everybody asks.
func TestEightAtOnceWhileUpstreamIsSlow(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token, start := b.jwt(nil), time.Now()
		b.agent.SetUpstream(awspodidtest.Slow)
		took := make(chan time.Duration, 8)
		for range cap(took) {
			go func() {
				assert.Equal(t, 500, b.ask(token).status)
				took <- time.Since(start)
			}()
		}
		assert.Equal(t, 6*time.Second, <-took)
		for range cap(took) - 1 {
			assert.Equal(t, 7800*time.Millisecond, <-took)
		}
		assert.Equal(t, 8, b.agent.Counts().Upstream)
	})
}
