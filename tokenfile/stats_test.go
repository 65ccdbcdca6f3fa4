package tokenfile_test

import (
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
)

func TestStatsOfASourceNeverUsedAreZero(t *testing.T) {
	assert.Equal(t, tokenfile.Stats{}, new(tokenfile.Source).Stats())
}

func TestStatsTellReadsRotationsAndLastTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		p.token(s)
		first := time.Now()
		assert.Equal(t, first.UnixNano(), s.Stats().LastRead.UnixNano())

		time.Sleep(time.Minute)
		p.rotate()
		token, err := s.Token(t.Context())
		require.NoError(t, err)
		stats := s.Stats()
		assert.EqualValues(t, 2, stats.Reads)
		assert.EqualValues(t, 1, stats.Rotations)
		assert.Equal(t, time.Now().UnixNano(), stats.LastRotation.UnixNano())
		assert.Equal(t, token.Expiry(), stats.Expiry)
		assert.False(t, stats.Failing)
		require.NoError(t, stats.LastError)

		time.Sleep(time.Minute)
		require.NoError(t, p.volume.Remove())
		_, failure := s.Token(t.Context())
		require.Error(t, failure)
		stats = s.Stats()
		assert.True(t, stats.Failing)
		assert.Equal(t, failure, stats.LastError)
		assert.Equal(t, time.Now().UnixNano(), stats.LastFailure.UnixNano())

		p.rotate()
		p.token(s)
		stats = s.Stats()
		assert.False(t, stats.Failing)
		assert.Equal(t, failure, stats.LastError, "stays, for the person who comes later")
	})
}

func TestStatsCountFailuresByCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		s.Issuer, s.Subject, s.MaxLifetime = "https://issuer.example", "system:serviceaccount:shop:cart", 2*time.Hour
		claims := func(changes map[string]any) string {
			all := map[string]any{"iss": s.Issuer, "sub": s.Subject, "iat": time.Now().Unix()}
			for name, v := range changes {
				all[name] = v
			}
			return p.signed(all)
		}
		endless, err := p.issuer.Sign(map[string]any{"aud": audience})
		require.NoError(t, err)
		for _, c := range []struct {
			content string
			want    tokenfile.Failures
		}{
			{"no token", tokenfile.Failures{Malformed: 1}},
			{endless, tokenfile.Failures{NoExpiry: 1}},
			{claims(map[string]any{"exp": time.Now().Unix() - 1}), tokenfile.Failures{Expired: 1}},
			{claims(map[string]any{"nbf": time.Now().Unix() + 60}), tokenfile.Failures{NotYetValid: 1}},
			{claims(map[string]any{"aud": "vault"}), tokenfile.Failures{Audience: 1}},
			{claims(map[string]any{"iss": "https://another.example"}), tokenfile.Failures{Claim: 1}},
			{claims(map[string]any{"sub": "system:serviceaccount:shop:till"}), tokenfile.Failures{Claim: 1}},
			{claims(map[string]any{"iat": time.Now().Unix() - 3600*24}), tokenfile.Failures{Lifetime: 1}},
		} {
			before := s.Stats().Failures
			require.NoError(t, p.volume.Write(c.content))
			_, err := s.Token(t.Context())
			require.Error(t, err)
			assert.Equal(t, sum(before, c.want), s.Stats().Failures, err)
		}
		require.NoError(t, p.volume.Remove())
		_, err = s.Token(t.Context())
		require.ErrorIs(t, err, fs.ErrNotExist)
		assert.EqualValues(t, 1, s.Stats().Failures.Missing)
		s.Path = p.volume.Dir()
		_, err = s.Token(t.Context())
		require.ErrorIs(t, err, fs.ErrInvalid)
		assert.EqualValues(t, 1, s.Stats().Failures.Other)
		assert.EqualValues(t, 10, s.Stats().Failures.Total())
	})
}

func sum(a, b tokenfile.Failures) tokenfile.Failures {
	return tokenfile.Failures{
		Missing: a.Missing + b.Missing, Permission: a.Permission + b.Permission, Malformed: a.Malformed + b.Malformed,
		NoExpiry: a.NoExpiry + b.NoExpiry, Expired: a.Expired + b.Expired, NotYetValid: a.NotYetValid + b.NotYetValid,
		Audience: a.Audience + b.Audience, Claim: a.Claim + b.Claim, Lifetime: a.Lifetime + b.Lifetime, Other: a.Other + b.Other,
	}
}

func TestALoggerIsToldOfARotationWithItsLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		var log journal
		s := p.source()
		s.Logger = log.logger()
		old, err := s.Token(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Until(old.IssuedAt().Add(50 * time.Minute)))
		p.rotate()
		for range 3 {
			p.token(s)
		}
		assert.Equal(t, 1, log.count(`msg="token rotated"`))
		assert.Equal(t, 1, log.count("late=2m0s"), "two minutes after four fifths of an hour")
		assert.Equal(t, 1, log.count("old_expiry="+old.Expiry().Format("2006-01-02T15:04:05.000Z07:00")))
		assert.Equal(t, 1, log.count("path="+p.volume.Path()))
	})
}

func TestALoggerIsToldOfAFailureOnceAndOfItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		var log journal
		s := p.source()
		s.Logger = log.logger()
		time.Sleep(2 * time.Hour)
		for range 5 {
			_, err := s.Token(t.Context())
			require.Error(t, err)
			time.Sleep(time.Minute)
		}
		assert.Equal(t, 1, log.count("no valid token"), "the text changes with the clock, the reason does not")
		require.NoError(t, p.volume.Remove())
		for range 5 {
			_, err := s.Token(t.Context())
			require.Error(t, err)
		}
		assert.Equal(t, 2, log.count("no valid token"))
		p.rotate()
		p.token(s)
		p.token(s)
		assert.Equal(t, 1, log.count("token file is good again"))
	})
}
