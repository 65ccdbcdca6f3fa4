package awspodidtest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

func TestAgentCachesByToken(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token := b.jwt(nil)
		first := b.ask(token).credentials(t)
		time.Sleep(time.Hour)
		assert.Equal(t, first, b.ask(token).credentials(t))
		assert.NotEqual(t, first, b.ask(b.jwt(nil)).credentials(t), "another token of the same pod")
		assert.Equal(t, awspodidtest.Counts{OK: 3, Cached: 1, Upstream: 2}, b.agent.Counts())

		b.agent.Restart()
		assert.NotEqual(t, first, b.ask(token).credentials(t))
	})
}

func TestCachedCredentialsOfAnExpiredToken(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token := b.jwt(object{"exp": ahead(time.Hour)})
		b.ask(token).credentials(t)
		time.Sleep(time.Hour)
		r := b.ask(token)
		assert.Equal(t, http.StatusBadRequest, r.status)
		assert.Equal(t, failed+"token is expired\n", r.body)
	})
}

func TestCachedCredentialsAreRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token := b.jwt(nil)
		first := b.ask(token).credentials(t)
		time.Sleep(3*time.Hour - time.Nanosecond)
		assert.Equal(t, first, b.ask(token).credentials(t))
		time.Sleep(time.Nanosecond)
		second := b.ask(token).credentials(t)
		assert.NotEqual(t, first, second)
		assert.Equal(t, first.Expiration.Add(3*time.Hour), second.Expiration)
	})
}

func TestCachedCredentialsAreNotRenewed(t *testing.T) {
	cases := []struct {
		state  awspodidtest.Upstream
		status int // of the next request; 200 for the old credentials
	}{
		{awspodidtest.Throttled, 200},
		{awspodidtest.ThrottledAs400, 200},
		{awspodidtest.InternalError, 200},
		{awspodidtest.Unavailable, 200},
		{awspodidtest.Slow, 200},
		{awspodidtest.RoleDenied, 403},
		{awspodidtest.NodeDenied, 403},
		{awspodidtest.TokenExpiredThere, 400},
	}
	for _, c := range cases {
		t.Run(string(c.state), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				token := b.jwt(nil)
				first := b.ask(token).credentials(t)
				time.Sleep(3 * time.Hour)
				b.agent.SetUpstream(c.state)
				start := time.Now()
				r := b.ask(token)
				assert.Equal(t, c.status, r.status)
				assert.Zero(t, time.Since(start), "the background waits, not the client")
				if c.status != 200 {
					return
				}
				assert.Equal(t, first, r.credentials(t))
				b.ask(token)
				assert.Equal(t, 2, b.agent.Counts().Upstream, "it is a minute until the next attempt")
				b.agent.SetUpstream(awspodidtest.Healthy)
				time.Sleep(time.Minute)
				assert.NotEqual(t, first, b.ask(token).credentials(t))
			})
		})
	}
}

func TestCachedCredentialsOutliveShortOnes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token := b.jwt(nil)
		first := b.ask(token).credentials(t)
		time.Sleep(3 * time.Hour)
		b.agent.SetLifetime(10 * time.Second)
		assert.Equal(t, first, b.ask(token).credentials(t))
	})
}

func TestDissociate(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token := b.jwt(nil)
		first := b.ask(token).credentials(t)
		b.agent.Dissociate("shop", "web")
		assert.Equal(t, 404, b.ask(b.jwt(nil)).status)
		assert.Equal(t, first, b.ask(token).credentials(t), "from the cache")
		time.Sleep(3 * time.Hour)
		assert.Equal(t, 404, b.ask(token).status)

		const other = "arn:aws:iam::444455556666:role/other"
		b.agent.Associate("shop", "web", other)
		c := b.ask(token).credentials(t)
		assert.Equal(t, "444455556666", c.AccountID)
		_, got, _ := b.agent.Valid(c.KeyID)
		assert.Equal(t, other, got)
	})
}

// Weeks of tokens must not fill the memory.
func TestAgentForgets(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		for range 6 {
			for range 400 {
				b.ask(b.jwt(nil)).credentials(t)
			}
			time.Sleep(24 * time.Hour)
		}
		assert.Regexp(t, `^awspodidtest\.Agent\(1 associations, \d{3} tokens cached\)$`, b.agent)
	})
}
