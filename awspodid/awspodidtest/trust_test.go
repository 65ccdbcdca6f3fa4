package awspodidtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func TestTrustPolicy(t *testing.T) {
	const sub = "system:serviceaccount:shop:web"
	like := func(patterns ...string) awspodidtest.TrustPolicy {
		return awspodidtest.TrustPolicy{SubLike: patterns}
	}
	cases := []struct {
		name   string
		policy awspodidtest.TrustPolicy
		trusts bool
	}{
		{"no condition", awspodidtest.TrustPolicy{}, true},
		{"sub", awspodidtest.TrustPolicy{Sub: []string{"x", sub}}, true},
		{"another sub", awspodidtest.TrustPolicy{Sub: []string{"system:serviceaccount:shop:other"}}, false},
		{"StringEquals knows no wild card", awspodidtest.TrustPolicy{Sub: []string{"system:serviceaccount:shop:*"}}, false},
		{"aud", awspodidtest.TrustPolicy{Aud: []string{"sts.amazonaws.com"}}, true},
		{"another aud", awspodidtest.TrustPolicy{Aud: []string{"sts.amazonaws.com.cn"}}, false},
		{"sub but not aud", awspodidtest.TrustPolicy{Sub: []string{sub}, Aud: []string{"x"}}, false},
		{"like itself", like(sub), true},
		{"like its namespace", like("system:serviceaccount:shop:*"), true},
		{"like another namespace", like("system:serviceaccount:shopping:*"), false},
		{"like a name in any namespace", like("system:serviceaccount:*:web"), true},
		{"like two wild cards", like("*:shop:*b"), true},
		{"like a letter", like("system:serviceaccount:shop:w?b"), true},
		{"like a letter too many", like("system:serviceaccount:shop:web?"), false},
		{"like the beginning", like("system:serviceaccount:shop"), false},
		{"like another name in any namespace", like("system:serviceaccount:*:web-*"), false},
		{"like one of two", like("x*", "*web"), true},
		{"like anything", like("*"), true},
		{"like nothing", like(""), false},
		{"sub and like another", awspodidtest.TrustPolicy{Sub: []string{sub}, SubLike: []string{"x*"}}, false},
		{"provider", awspodidtest.TrustPolicy{Provider: tokenfiletest.DefaultIssuer}, true},
		{"another provider", awspodidtest.TrustPolicy{Provider: "https://other.test"}, false},
	}
	b := newBed(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b.sts.SetRole(role, c.policy)
			r := b.assume(nil)
			if c.trusts {
				r.assumed(t)
				return
			}
			assert.Equal(t, 403, r.status)
			assert.Equal(t, notAuthorized, r.refusal(t).Error.Message)
		})
	}
}

func TestMaxSessionDuration(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.sts.SetRole(role, awspodidtest.TrustPolicy{MaxSessionDuration: 12 * time.Hour})
		c := b.assume(object{"DurationSeconds": "43200"}).assumed(t).Result.Credentials
		assert.Equal(t, 12*time.Hour, time.Until(c.Expiration))
		c = b.assume(nil).assumed(t).Result.Credentials
		assert.Equal(t, time.Hour, time.Until(c.Expiration), "the default is an hour, whatever the role allows")
	})
}
