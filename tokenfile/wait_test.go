package tokenfile_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
)

func isMissing(err error) bool   { return errors.Is(err, fs.ErrNotExist) }
func isMalformed(err error) bool { return errors.Is(err, tokenfile.ErrMalformed) }

// kubernetes/kubernetes#127602: the file is not there in the first moments of
// a container.
func TestWaitReturnsAsSoonAsTheTokenIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		require.NoError(t, p.volume.RemoveAll())
		start := time.Now()
		time.AfterFunc(7*time.Second, func() { assert.NoError(t, p.kubelet.Rotate()) })
		token, err := p.source().Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, audience, token.Audience()[0])
		assert.WithinRange(t, time.Now(), start.Add(7*time.Second), start.Add(10*time.Second))
	})
}

func TestWaitDoesNotWaitForAValidToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		start := time.Now()
		_, err := p.source().Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, start, time.Now())
	})
}

func TestWaitBridgesAClockThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		begin := time.Now().Add(time.Minute).Truncate(time.Second)
		require.NoError(t, p.volume.Write(p.signed(map[string]any{"nbf": begin.Unix()})))
		_, err := p.source().Wait(t.Context())
		require.NoError(t, err)
		assert.WithinRange(t, time.Now(), begin.Add(-10*time.Second), begin)
	})
}

func TestWaitGivesTheLastReasonAndWhyItStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		require.NoError(t, p.volume.RemoveAll())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(30*time.Second, func() { assert.NoError(t, p.volume.Write("not a token")) })
		s := p.source()
		_, err := s.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, tokenfile.ErrMalformed)
		assert.NotErrorIs(t, err, fs.ErrNotExist)
		var e *tokenfile.Error
		require.ErrorAs(t, err, &e)
		assert.Equal(t, p.volume.Path(), e.Path)
		assert.InDelta(t, 60, s.Stats().Reads, 30, "the pauses are capped at some two seconds, and there are pauses")
	})
}

func TestWaitTriesOnceEvenIfItsContextHasEnded(t *testing.T) {
	p := newPod(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.source().Wait(ctx)
	require.NoError(t, err, "a valid token needs no waiting")
	require.NoError(t, p.volume.Remove())
	_, err = p.source().Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
