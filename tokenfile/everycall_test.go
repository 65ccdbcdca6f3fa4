package tokenfile_test

import (
	"context"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// hashicorp/vault#24498: a string that was read once dies with its token.
func TestEveryCallSurvivesRotationsThatKillAStringReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		once := p.token(s)
		go func() { _ = p.kubelet.Run(t.Context()) }()

		refused := 0
		for range 3 * 60 {
			time.Sleep(time.Minute)
			p.token(s)
			if _, err := p.issuer.Verify(once, audience); err != nil {
				refused++
			}
		}
		assert.GreaterOrEqual(t, p.kubelet.Rotations(), 3)
		assert.Equal(t, 3*60-59, refused, "the string read once is refused from its expiry on")
		assert.EqualValues(t, p.kubelet.Rotations(), s.Stats().Rotations)
		assert.Zero(t, s.Stats().Failures.Total())
	})
}

func TestEveryCallSeesARotationAtOnce(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.source()
	before := p.token(s)
	p.rotate()
	assert.NotEqual(t, before, p.token(s))
}

func TestEveryCallHandsOutTheSameTokenWhileTheFileIsUnchanged(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.source()
	first, err := s.Token(t.Context())
	require.NoError(t, err)
	second, err := s.Token(t.Context())
	require.NoError(t, err)
	assert.Same(t, first, second, "unchanged bytes are not parsed again")
	assert.EqualValues(t, 2, s.Stats().Reads, "but read they are")
}

// kubernetes/kubernetes#138689: the kubelet left an expired token in place.
func TestEveryCallRefusesAnUnchangedTokenFromTheInstantOfItsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		token, err := s.Token(t.Context())
		require.NoError(t, err)
		mounted := time.Now()

		time.Sleep(time.Until(token.Expiry()) - time.Nanosecond)
		p.token(s)
		time.Sleep(time.Nanosecond)
		_, err = s.Token(t.Context())
		var expired *tokenfile.ExpiredError
		require.ErrorAs(t, err, &expired)
		assert.Equal(t, token.Expiry(), expired.Expiry)
		assert.Equal(t, time.Now(), expired.Now)
		assert.NotZero(t, expired.Modified)
		assert.ErrorContains(t, err, "the kubelet did not replace it")
		assert.Less(t, mounted, expired.Now)
	})
}

func TestEveryCallReportsAFailureAtOnceAndHealsByItself(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.source()
	p.token(s)
	require.NoError(t, p.volume.Remove())
	_, err := s.Token(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	p.rotate()
	p.token(s)
}

func TestACancelledCallIsToldSo(t *testing.T) {
	p := newPod(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, s := range map[string]*tokenfile.Source{
		"every call": {Path: p.volume.Path(), Audience: audience},
		"schedule":   {Path: p.volume.Path(), Audience: audience, MaxAge: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Token(ctx)
			require.ErrorIs(t, err, context.Canceled)
			var e *tokenfile.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, p.volume.Path(), e.Path)
			_, err = s.Reload(ctx)
			assert.ErrorIs(t, err, context.Canceled)
			assert.Zero(t, s.Stats().Reads)
		})
	}
}

func TestAWrongFieldIsNamed(t *testing.T) {
	good := tokenfile.Source{Path: "token", Audience: audience}
	for name, c := range map[string]struct {
		change func(*tokenfile.Source)
		text   string
	}{
		"no path":               {func(s *tokenfile.Source) { s.Path = "" }, "Source.Path is not set"},
		"no audience":           {func(s *tokenfile.Source) { s.Audience = "" }, "Source.Audience is not set"},
		"negative max age":      {func(s *tokenfile.Source) { s.MaxAge = -1 }, "Source.MaxAge is negative"},
		"negative min TTL":      {func(s *tokenfile.Source) { s.MinTTL = -1 }, "Source.MinTTL is negative"},
		"negative max lifetime": {func(s *tokenfile.Source) { s.MaxLifetime = -1 }, "Source.MaxLifetime is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &tokenfile.Source{Path: good.Path, Audience: good.Audience}
			c.change(s)
			_, err := s.Token(t.Context())
			assert.ErrorContains(t, err, c.text)
			_, err = s.Wait(t.Context())
			assert.ErrorContains(t, err, c.text, "Wait does not wait for what no time heals")
			_, err = s.Reload(t.Context())
			assert.ErrorContains(t, err, c.text)
			yields := 0
			for token, err := range s.Watch(t.Context()) {
				yields++
				assert.Nil(t, token)
				assert.ErrorContains(t, err, c.text)
			}
			assert.Equal(t, 1, yields)
		})
	}
}

func TestReloadReadsAtOnceWhateverWouldBeServed(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.source()
	s.MaxAge = 5 * time.Minute
	before := p.token(s)
	p.rotate()
	require.Equal(t, before, p.token(s), "served from the last read")
	token, err := s.Reload(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, before, token.Raw())
	assert.Equal(t, token.Raw(), p.token(s), "and everybody is served the new one from now on")
	require.NoError(t, p.volume.Remove())
	_, err = s.Reload(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, token.Raw(), p.token(s), "a failed reload does not take the good token away")
}

func TestMinTTLLeavesRoomBeforeExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		s.MinTTL = 2 * time.Minute
		token, err := s.Token(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Until(token.Expiry()) - s.MinTTL)
		p.token(s) // exactly as much as asked for
		time.Sleep(time.Nanosecond)
		_, err = s.Token(t.Context())
		var expired *tokenfile.ExpiredError
		require.ErrorAs(t, err, &expired)
		assert.ErrorContains(t, err, "less than MinTTL 2m0s")
	})
}

func TestAMinTTLThatNoRotationCanMeetIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, 10*time.Minute)
		s := p.source()
		s.MinTTL = 5 * time.Minute
		p.token(s)
		time.Sleep(6 * time.Minute)
		_, err := s.Token(t.Context())
		assert.ErrorContains(t, err, "set MinTTL to less than a fifth")
	})
}

// kubernetes/kubernetes#105654: a default token is extended to a year, while
// the kubelet goes on rotating it by the hour that was asked for.
func TestATokenPastItsWarningTimeIsServedButCountsAsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		p.kubelet.Request = tokenfiletest.Request{Lifetime: 3607 * time.Second, Pod: "web-0"}
		p.rotate()
		var log journal
		s := &tokenfile.Source{Path: p.volume.Path(), Audience: tokenfiletest.DefaultIssuer, Logger: log.logger()}
		token, err := s.Token(t.Context())
		require.NoError(t, err)
		assert.Equal(t, token.IssuedAt().Add(3607*time.Second), token.Kubernetes().WarnAfter)
		assert.False(t, s.Stats().Stale)

		time.Sleep(3608 * time.Second)
		for range 3 {
			_, err = s.Token(t.Context())
			require.NoError(t, err)
		}
		assert.True(t, s.Stats().Stale)
		assert.Equal(t, 1, log.count("token is stale"), "said once a token")
		assert.Equal(t, 1, log.count("runbook.md#token-stale"))

		p.rotate()
		_, err = s.Token(t.Context())
		require.NoError(t, err)
		assert.False(t, s.Stats().Stale)
	})
}
