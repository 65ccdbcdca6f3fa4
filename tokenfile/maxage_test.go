package tokenfile_test

import (
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func TestMaxAgeReadsWhenTheLastReadIsOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, 24*time.Hour)
		s := p.source()
		s.MaxAge = 5 * time.Minute
		before := p.token(s)
		p.rotate()
		time.Sleep(5*time.Minute - time.Nanosecond)
		assert.Equal(t, before, p.token(s))
		assert.EqualValues(t, 1, s.Stats().Reads)
		time.Sleep(time.Nanosecond)
		assert.NotEqual(t, before, p.token(s))
		assert.EqualValues(t, 2, s.Stats().Reads)
	})
}

// kubernetes/kubernetes#72437: a cache that outlives the rest of the token's
// life hands out a dead one. client-go's fixed interval holds a dead token of
// ten minutes for some seconds; MaxAge is capped by a quarter of what is left.
func TestMaxAgeIsCappedByAQuarterOfTheRemainingLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, 10*time.Minute)
		s := p.source()
		s.MaxAge = time.Hour
		before := p.token(s)
		p.rotate()
		time.Sleep(150*time.Second - 2*time.Second)
		assert.Equal(t, before, p.token(s))
		time.Sleep(2 * time.Second)
		assert.NotEqual(t, before, p.token(s))
	})
}

func TestMaxAgeOfAnExtendedTokenIsCappedByItsWarningTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		p.kubelet.Request = tokenfiletest.Request{Lifetime: 3607 * time.Second, Pod: "web-0"}
		p.rotate()
		s := &tokenfile.Source{Path: p.volume.Path(), Audience: tokenfiletest.DefaultIssuer, MaxAge: 24 * time.Hour}
		_, err := s.Token(t.Context())
		require.NoError(t, err)
		time.Sleep(3607 * time.Second / 4)
		_, err = s.Token(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 2, s.Stats().Reads)
	})
}

func TestMaxAgeNeverServesADeadTokenThroughManyRotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, 10*time.Minute)
		s := p.source()
		s.MaxAge = time.Hour
		go func() { _ = p.kubelet.Run(t.Context()) }()
		for range 24 * 60 * 6 {
			time.Sleep(10 * time.Second)
			p.token(s)
		}
		assert.Greater(t, p.kubelet.Rotations(), 100)
		assert.Zero(t, s.Stats().Failures.Total())
	})
}

// kubernetes/community#5580: keep the last good token when a reload fails, but
// here only until that expires.
func TestMaxAgeServesTheLastGoodTokenUntilItExpiresAndThenTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		var log journal
		s := p.source()
		s.MaxAge, s.Logger = time.Minute, log.logger()
		token, err := s.Token(t.Context())
		require.NoError(t, err)
		require.NoError(t, p.volume.RemoveAll())

		time.Sleep(2 * time.Minute)
		for range 10 {
			p.token(s)
		}
		assert.True(t, s.Stats().Failing)
		assert.EqualValues(t, 1, s.Stats().Failures.Missing, "a failed read is not repeated at every call")
		assert.Equal(t, 1, log.count("the last good token is served until it expires"))

		time.Sleep(time.Until(token.Expiry()))
		_, err = s.Token(t.Context())
		require.ErrorIs(t, err, fs.ErrNotExist)
		assert.Equal(t, 1, log.count("no valid token"))
		assert.Equal(t, 2, log.count("runbook.md#token-file-missing"), "the warning, and the error")

		p.rotate()
		p.token(s)
		assert.False(t, s.Stats().Failing)
		assert.Equal(t, 1, log.count("token file is good again"))
	})
}

func TestMaxAgeKeepsAGoodTokenWhenABadOneTakesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		s.MaxAge = time.Minute
		good := p.token(s)
		endless, err := p.issuer.Sign(map[string]any{"aud": audience})
		require.NoError(t, err)
		for name, bad := range map[string]string{
			"expired":            p.signed(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}),
			"another's":          p.signed(map[string]any{"aud": "vault"}),
			"not yet valid":      p.signed(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
			"half written":       good[:len(good)/2] + ".",
			"without any expiry": endless,
		} {
			require.NoError(t, p.volume.WriteInPlace([]byte(bad)))
			time.Sleep(time.Minute)
			assert.Equal(t, good, p.token(s), name)
		}
		assert.True(t, s.Stats().Failing)
	})
}
