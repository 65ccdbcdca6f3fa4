package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/baoauth/baoauthtest"
	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func TestVerdict(t *testing.T) {
	inBubble(t, "a healthy pod over two rotations", openbao(), func(t *testing.T, b *bed) {
		v := b.run(t.Context(), b.soak())
		assert.Empty(t, states(v))
		assert.True(t, v.Passed)
		assert.Equal(t, soak.Rotations, v.Ending)
		assert.Equal(t, 2, v.Rotated)
		assert.InDelta(t, 97, v.Ended.Sub(v.Began).Minutes(), 3, "twice 48 minutes, and the kubelet's looks")
		assert.InDelta(t, v.Ended.Sub(v.Began)/(10*time.Second), v.Logins[party.Accepted], 2)
		assert.Equal(t, 2, b.count(soak.Rotated))
		assert.Equal(t, 2, b.count(soak.LoggedIn))
		assert.Zero(t, b.count(soak.Failing))
		for _, r := range v.Rotations {
			assert.LessOrEqual(t, r.LoggedIn.Sub(r.Seen), 10*time.Second)
		}
		assert.Contains(t, v.String(), "passed: 9 of 9 points held\n")
		counts := b.server.Counts()
		assert.Equal(t, counts.Logins.OK, counts.Revocations.OK, "no token is left behind on the server")
	})
	inBubble(t, "the role stops to accept the second token", openbao(), func(t *testing.T, b *bed) {
		time.AfterFunc(40*time.Minute, func() {
			b.server.SetRole("kubernetes", "web", baoauthtest.Role{BoundAudiences: []string{"vault"}})
		})
		v := b.run(t.Context(), b.soak())
		assert.Equal(t, map[string]soak.State{"rotations": soak.Failed, "logins": soak.Failed, "rejections": soak.Failed}, states(v))
		assert.False(t, v.Passed)
		p := point(t, v, "rejections")
		assert.Contains(t, p.Evidence, "2000-01-01T00:40:")
		assert.Contains(t, p.Evidence, "audience claim does not match")
		assert.Equal(t, 1, b.count(soak.Failing), "said once")
	})
	inBubble(t, "an outage of ten minutes in the middle", openbao(), func(t *testing.T, b *bed) {
		time.AfterFunc(20*time.Minute+time.Second, func() { b.server.SetDown(true) })
		time.AfterFunc(30*time.Minute+time.Second, func() { b.server.SetDown(false) })
		v := b.run(t.Context(), b.soak())
		assert.Equal(t, map[string]soak.State{"reachable": soak.Failed}, states(v))
		assert.Equal(t, 60, v.Logins[party.NoAnswer])
		assert.Contains(t, point(t, v, "reachable").Evidence, "2000-01-01T00:20:10Z to 2000-01-01T00:30:00Z (60)")
		assert.Equal(t, 1, b.count(soak.Recovered))
	})
	inBubble(t, "an outage over a rotation", openbao(), func(t *testing.T, b *bed) {
		time.AfterFunc(45*time.Minute, func() { b.server.SetDown(true) })
		time.AfterFunc(55*time.Minute, func() { b.server.SetDown(false) })
		v := b.run(t.Context(), b.soak())
		assert.Equal(t, map[string]soak.State{"reachable": soak.Failed}, states(v), "a login succeeded after each rotation, if late")
	})
	inBubble(t, "the server is sealed at the end and stays so", openbao(), func(t *testing.T, b *bed) {
		time.AfterFunc(80*time.Minute, b.server.Seal)
		v := b.run(t.Context(), b.soak())
		assert.Equal(t, map[string]soak.State{"rotations": soak.Failed, "logins": soak.Failed, "reachable": soak.Failed}, states(v))
		assert.Less(t, v.Ended.Sub(v.Began), 110*time.Minute, "it does not wait for ever for a login")
	})
	inBubble(t, "a year, inherited from the API server", tokenfiletest.Request{Lifetime: 3607 * time.Second}, func(t *testing.T, b *bed) {
		b.server.SetRole("kubernetes", "web", baoauthtest.Role{BoundAudiences: []string{tokenfiletest.DefaultIssuer}})
		s := b.soak()
		p, err := party.Vault(party.VaultOptions{
			Role: "web", Path: b.path, Audience: tokenfiletest.DefaultIssuer, HTTPClient: &http.Client{Transport: b.server.Transport()},
		})
		require.NoError(t, err)
		s.Party, s.Source.Audience = p, tokenfiletest.DefaultIssuer
		v := b.run(t.Context(), s)
		assert.Equal(t, map[string]soak.State{"lifetime": soak.Failed}, states(v))
		assert.Contains(t, point(t, v, "lifetime").Evidence, "31536000 s")
		assert.Contains(t, point(t, v, "lifetime").Mend, "expirationSeconds: 3600")
	})
	inBubble(t, "the API server grants less than declared", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Declared = 2 * time.Hour
		v := b.run(t.Context(), s)
		assert.Equal(t, map[string]soak.State{"lifetime": soak.Failed}, states(v))
		assert.Contains(t, point(t, v, "lifetime").Evidence, "is 3600 s in 3 tokens; declared are 7200 s")
	})
	inBubble(t, "nothing is known but the token", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Declared, s.Started, s.Secrets = 0, time.Time{}, nil
		v := b.run(t.Context(), s)
		assert.Equal(t, map[string]soak.State{"lifetime": soak.NotSeen, "modified": soak.NotSeen, "secrets": soak.NotSeen}, states(v))
		assert.True(t, v.Passed, "what cannot be seen is for a person")
		assert.Contains(t, v.String(), "kubectl -n shop get pod web-0 -o jsonpath=")
		assert.Contains(t, v.String(), "kubectl -n shop delete pod web-0")
	})
	inBubble(t, "legacy Secrets in the namespace", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Secrets = func(_ context.Context, namespace string) ([]string, error) {
			return []string{namespace + "-token"}, nil
		}
		v := b.run(t.Context(), s)
		assert.Equal(t, map[string]soak.State{"secrets": soak.Failed}, states(v))
		assert.Contains(t, point(t, v, "secrets").Mend, "kubectl -n shop delete secret shop-token")
	})
	inBubble(t, "the API server may not be asked", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Secrets = func(context.Context, string) ([]string, error) { return nil, errors.New("may not\nask") }
		v := b.run(t.Context(), s)
		assert.Equal(t, map[string]soak.State{"secrets": soak.NotSeen}, states(v))
		assert.Equal(t, `"may not\nask"`, point(t, v, "secrets").Evidence)
		assert.Contains(t, v.String(), "kubectl -n shop get secrets --field-selector")
	})
	inBubble(t, "the kubelet stops to rotate", openbao(), func(t *testing.T, b *bed) {
		b.kubelet.Stall(true)
		v := b.run(t.Context(), b.soak())
		assert.Equal(t, soak.Stuck, v.Ending)
		got := states(v)
		assert.Equal(t, soak.Failed, got["rotations"])
		assert.Equal(t, soak.Failed, got["valid"])
		assert.NotContains(t, got, "rejections", "an expired token is not sent")
		assert.Equal(t, 1, b.count(soak.Overdue))
		assert.InDelta(t, 65, v.Ended.Sub(v.Began).Minutes(), 1)
	})
	inBubble(t, "somebody mounts a token for somebody else meanwhile", openbao(), func(t *testing.T, b *bed) {
		b.kubelet.Stall(true)
		other, err := newIssuer().Token(tokenfiletest.Request{Audiences: []string{"vault"}})
		require.NoError(t, err)
		time.AfterFunc(time.Minute, func() { assert.NoError(t, b.kubelet.Volume.Write(other)) })
		s := b.soak()
		s.For = 10 * time.Minute
		v := b.run(t.Context(), s)
		got := states(v)
		assert.Equal(t, soak.Failed, got["audience"])
		assert.Equal(t, soak.Failed, got["valid"])
	})
	inBubble(t, "the volume is gone at the end", openbao(), func(t *testing.T, b *bed) {
		b.kubelet.Stall(true)
		time.AfterFunc(time.Minute, func() { assert.NoError(t, b.kubelet.Volume.RemoveAll()) })
		s := b.soak()
		s.For = 5 * time.Minute
		v, err := s.Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, soak.Failed, states(v)["modified"])
		assert.Equal(t, soak.Failed, states(v)["valid"])
	})
}

func TestWhenItEnds(t *testing.T) {
	inBubble(t, "interrupted after one rotation", openbao(), func(t *testing.T, b *bed) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		v := b.run(ctx, b.soak())
		assert.Equal(t, soak.Interrupted, v.Ending)
		assert.Equal(t, map[string]soak.State{"rotations": soak.NotYet}, states(v))
		assert.False(t, v.Passed)
		p := point(t, v, "rotations")
		assert.Contains(t, p.Evidence, "1 rotation seen")
		assert.Regexp(t, `^go on until about 2000-01-01T01:3\d:\d\dZ, for 3\d`, p.Mend)
		assert.Contains(t, v.String(), "not shown yet: 8 of 9 points held, 1 not shown yet when it was interrupted")
	})
	inBubble(t, "interrupted at once", openbao(), func(t *testing.T, b *bed) {
		b.server.SetFault(func(*http.Request) *baoauthtest.Fault { return &baoauthtest.Fault{Hang: true} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		v := b.run(ctx, b.soak())
		assert.Equal(t, time.Second, v.Ended.Sub(v.Began), "a party that hangs does not delay it")
		assert.Equal(t, soak.NotYet, states(v)["rejections"])
		assert.Equal(t, soak.NotYet, states(v)["reachable"])
		assert.False(t, v.Passed)
	})
	inBubble(t, "the party does not respect its context", openbao(), func(t *testing.T, b *bed) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := b.soak()
		s.Party = deaf{b.party()}
		began := time.Now()
		v := b.run(ctx, s)
		assert.Equal(t, time.Minute, v.Ended.Sub(v.Began))
		assert.LessOrEqual(t, time.Since(began), time.Minute+time.Second)
		time.Sleep(time.Hour) // until it has answered
	})
	inBubble(t, "for a time that is over before the rotations", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.For, s.Rotations = 50*time.Minute, 5
		v := b.run(t.Context(), s)
		assert.Equal(t, soak.TimeIsUp, v.Ending)
		assert.Equal(t, 50*time.Minute, v.Ended.Sub(v.Began))
	})
	inBubble(t, "after rotations that come before the time is over", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.For, s.Rotations = 50*time.Hour, 3
		v := b.run(t.Context(), s)
		assert.Equal(t, soak.Rotations, v.Ending)
		assert.Equal(t, 3, v.Rotated)
		assert.True(t, v.Passed)
	})
	inBubble(t, "the first login is rejected", openbao(), func(t *testing.T, b *bed) {
		b.server.DeleteRole("kubernetes", "web")
		v := b.run(t.Context(), b.soak())
		assert.Equal(t, soak.FirstRejected, v.Ending)
		assert.Zero(t, v.Ended.Sub(v.Began))
		assert.Equal(t, soak.Failed, states(v)["rejections"])
	})
	inBubble(t, "the party panics", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Party, s.For = panicking{b.party()}, time.Minute
		v := b.run(t.Context(), s)
		assert.Equal(t, soak.Failed, states(v)["reachable"])
		assert.NotContains(t, v.String(), "swordfish")
	})
}

// deaf answers after an hour, whatever its ctx.
type deaf struct{ party.Party }

func (deaf) Login(context.Context) error {
	time.Sleep(time.Hour)
	return nil
}

type panicking struct{ party.Party }

func (panicking) Login(context.Context) error { panic("swordfish") }

func TestWhatCannotPassIsRefusedAtOnce(t *testing.T) {
	refused := func(t *testing.T, s *soak.Soak, target any, texts ...string) {
		t.Helper()
		began := time.Now()
		_, err := s.Run(t.Context())
		var setup *soak.SetupError
		require.ErrorAs(t, err, &setup)
		switch target := target.(type) {
		case error:
			require.ErrorIs(t, err, target)
		case nil:
		default:
			require.ErrorAs(t, err, target)
		}
		for _, text := range texts {
			assert.Contains(t, err.Error(), text)
		}
		assert.Zero(t, time.Since(began))
	}
	inBubble(t, "there is no such file", openbao(), func(t *testing.T, b *bed) {
		require.NoError(t, b.kubelet.Volume.Remove())
		refused(t, b.soak(), fs.ErrNotExist, b.path)
	})
	inBubble(t, "the token is for somebody else", tokenfiletest.Request{}, func(t *testing.T, b *bed) {
		refused(t, b.soak(), new(*tokenfile.AudienceError), "this is the default token")
	})
	inBubble(t, "a legacy token without an expiry", openbao(), func(t *testing.T, b *bed) {
		legacy, err := newIssuer().LegacyToken("shop", "web", "")
		require.NoError(t, err)
		require.NoError(t, b.kubelet.Volume.Write(legacy))
		s := b.soak()
		s.Source.Audience = tokenfile.AnyAudience
		refused(t, s, tokenfile.ErrNoExpiry)
		s.Source.AllowNoExpiry = true
		refused(t, s, tokenfile.ErrNoExpiry)
	})
	inBubble(t, "a file that was rotated under its subPath", openbao(), func(t *testing.T, b *bed) {
		if runtime.GOOS != "linux" {
			t.Skip("only Linux lets a test play a subPath mount")
		}
		s := b.soak()
		s.Source.Path = subPath(t, b)
		require.NoError(t, b.kubelet.Rotate())
		refused(t, s, soak.ErrNeverRotated, "without subPath")
	})
	inBubble(t, "a file that is known to be mounted by itself", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.SubPath = true
		refused(t, s, soak.ErrNeverRotated)
	})
	inBubble(t, "a mount that is no path", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		p, err := party.Vault(party.VaultOptions{Role: "web", Mount: "a?b", Path: b.path, Audience: audience})
		require.NoError(t, err)
		s.Party = p
		refused(t, s, nil, "Method.Mount is not the path")
	})
	inBubble(t, "no party, one rotation, negative times", openbao(), func(t *testing.T, b *bed) {
		refused(t, &soak.Soak{}, nil, "no relying party")
		s := b.soak()
		s.Rotations = 1
		refused(t, s, nil, "at least two")
		s = b.soak()
		s.Every = -1
		refused(t, s, nil, "negative")
	})
}

func TestALongSoakStaysSmall(t *testing.T) {
	inBubble(t, "two days of tokens of ten minutes", tokenfiletest.Request{Audiences: []string{audience}, Lifetime: 10 * time.Minute}, func(t *testing.T, b *bed) {
		s := b.soak()
		s.Declared, s.For, s.Every = 10*time.Minute, 2*24*time.Hour, time.Minute
		v := b.run(t.Context(), s)
		assert.Empty(t, states(v))
		assert.Greater(t, v.Rotated, 300)
		assert.Len(t, v.Rotations, 100)
		drawn(t, v)
	})
}

func TestVerdictAsJSON(t *testing.T) {
	inBubble(t, "of a pod that is rejected in the end", openbao(), func(t *testing.T, b *bed) {
		time.AfterFunc(55*time.Second, func() { b.server.DeleteRole("kubernetes", "web") }) // between two logins
		s := b.soak()
		s.For = 2 * time.Minute
		v := b.run(t.Context(), s)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		b.noSecret(string(text))
		var printed map[string]any
		require.NoError(t, json.Unmarshal(text, &printed))
		assert.Equal(t, false, printed["passed"])
		assert.Equal(t, "time", printed["ending"])
		assert.Equal(t, []any{}, printed["rotations"])
		assert.Equal(t, "2000-01-01T00:02:00Z", printed["ended"])
		assert.EqualValues(t, 6, printed["logins"].(map[string]any)["accepted"])
		assert.Equal(t, "rejected", printed["troubles"].([]any)[0].(map[string]any)["outcome"])
		assert.Len(t, printed["points"], 9)
		assert.NotEmpty(t, printed["byHand"])
	})
}

func TestStatus(t *testing.T) {
	inBubble(t, "grows and ends near the whole", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		var all []soak.Status
		s.OnStatus = func(status soak.Status) { all = append(all, status) }
		b.run(t.Context(), s)
		require.Greater(t, len(all), 5000, "one each second")
		first, last := all[0], all[len(all)-1]
		assert.Less(t, first.Part, 0.01)
		assert.Greater(t, last.Part, 0.95)
		assert.Equal(t, 2, last.Wanted)
		assert.InDelta(t, 98, first.End.Sub(first.Now).Minutes(), 3)
	})
}

// The webhook's tokens live for a day, so this takes a day and a half.
func TestAWSIdentities(t *testing.T) {
	const role = "arn:aws:iam::111122223333:role/web"
	spec := awspodidtest.PodSpec{Token: tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"}, RoleARN: role}
	synctest.Test(t, func(t *testing.T) {
		agent := awspodidtest.NewAgent(newIssuer())
		agent.Associate("shop", "web", role)
		pod, err := awspodidtest.NewPodIdentityPod(t.TempDir(), newIssuer(), spec)
		require.NoError(t, err)
		var running sync.WaitGroup
		t.Cleanup(running.Wait)
		running.Go(func() { _ = pod.Run(t.Context()) })
		synctest.Wait()
		p, err := party.AWS(func(o *awspodid.Options) {
			o.Lookup, o.HTTPClient = pod.Lookup, &http.Client{Transport: agent.Transport()}
		})
		require.NoError(t, err)
		// The association is deleted by accident on the second day, for an hour.
		time.AfterFunc(30*time.Hour, func() { agent.Dissociate("shop", "web"); agent.Restart() })
		time.AfterFunc(31*time.Hour, func() { agent.Associate("shop", "web", role) })
		s := &soak.Soak{
			Party: p, Source: &tokenfile.Source{Path: p.Path(), Audience: p.Audience(), NoNotify: true},
			Declared: 24 * time.Hour, Started: time.Now(), Rotations: 2,
		}
		v, err := s.Run(t.Context())
		require.NoError(t, err)
		assert.Equal(t, map[string]soak.State{"rejections": soak.Failed, "secrets": soak.NotSeen}, states(v))
		assert.InDelta(t, 38.5, v.Ended.Sub(v.Began).Hours(), 0.5)
		assert.InDelta(t, v.Ended.Sub(v.Began)/(4*time.Minute), v.Logins[party.Accepted]+v.Logins[party.Refused], 2, "360 in a token's life")
		assert.InDelta(t, 15, v.Logins[party.Refused], 1)
		assert.Contains(t, point(t, v, "rejections").Evidence, "there is no association")
		assert.Contains(t, v.String(), "AttributeValue=AssumeRoleForPodIdentity --start-time 2000-01-01T00:00:00Z")
	})
}
