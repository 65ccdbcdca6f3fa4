package tokenfile_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReloadsBesideAScheduleLogAFailureOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		var log journal
		s := p.source()
		s.MaxAge, s.Logger = time.Minute, log.logger()
		p.token(s)
		require.NoError(t, p.volume.Remove())
		for range 100 {
			time.Sleep(time.Second)
			p.token(s)
			_, err := s.Reload(t.Context())
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		assert.Equal(t, 1, log.count("the last good token is served until it expires"))
		assert.Zero(t, log.count("no valid token"), "Token has one")
	})
}

func TestAReasonThatTheClockWordsAnewIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		var log journal
		s := p.source()
		s.MaxLifetime, s.Logger = time.Hour, log.logger()
		// Without iat, what is left counts as the lifetime.
		require.NoError(t, p.volume.Write(p.signed(map[string]any{"exp": time.Now().Add(5 * time.Hour).Unix()})))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		yields := 0
		for _, err := range s.Watch(ctx) {
			require.ErrorContains(t, err, "lifetime is 5h0m0s, more than MaxLifetime 1h0m0s")
			yields++
		}
		assert.Equal(t, 1, yields)
		for range 10 {
			time.Sleep(time.Second)
			_, err := s.Token(t.Context())
			require.Error(t, err)
		}
		assert.Equal(t, 1, log.count("no valid token"))
	})
}

// A directory in which others write all the time must not keep a loop busy.
func TestWatchInABusyDirectoryLooksNowAndThen(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.notified()
	next := follow(t, s)
	nextToken(t, next)
	ctx, cancel := context.WithCancel(t.Context())
	var loop, writer sync.WaitGroup
	loop.Go(func() {
		for range s.Watch(ctx) {
		}
	})
	before := s.Stats().Reads
	writer.Go(func() {
		for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
			assert.NoError(t, os.WriteFile(p.volume.Dir()+"/log", []byte("busy"), 0o600))
		}
	})
	writer.Wait()
	assert.Less(t, s.Stats().Reads-before, uint64(20), "and not a hundred times a second")
	cancel()
	loop.Wait()
}

// The kubelet looks every 60 to 90 seconds, so MinTTL may still be too much
// for some time after four fifths of a life.
func TestAMinTTLThatTheKubeletMissesByItsPeriodIsNotBlamedOnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, 10*time.Minute)
		s := p.source()
		s.MinTTL = 100 * time.Second
		p.token(s)
		time.Sleep(8*time.Minute + 40*time.Second)
		_, err := s.Token(t.Context())
		assert.ErrorContains(t, err, "less than a fifth of the token's lifetime less 90 seconds")
		assert.NotContains(t, err.Error(), "did not replace it")
	})
}
