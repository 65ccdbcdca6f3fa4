package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOnlyPodtokenSurvivesRotations(t *testing.T) {
	s := newTestStage(t)
	synctest.Test(t, func(t *testing.T) {
		var frames int
		seen, err := s.play(t.Context(), func(timeline) { frames++ })
		require.NoError(t, err)
		require.NoError(t, verdict(seen))

		assert.Greater(t, frames, 100, "progress is shown")
		assert.GreaterOrEqual(t, len(seen.rotations), 3)
		assert.Equal(t, lifetime, seen.expiry)
		require.Len(t, seen.lanes, 5)

		once, failed := seen.lanes[0].firstFailure()
		require.True(t, failed)
		assert.Equal(t, "token is expired", once.reason)
		assert.InDelta(t, lifetime.Seconds(), once.at.Seconds(), 0.11, "refused at its expiry")

		inherited, failed := seen.lanes[1].firstFailure()
		require.True(t, failed)
		assert.Zero(t, inherited.at, "refused at once")
		assert.Equal(t, "audience is https://kubernetes.default.svc.cluster.local, want openbao", inherited.reason)

		for _, l := range seen.lanes[2:] {
			accepted, rejected, survived := l.count()
			assert.True(t, l.podtoken, l.name)
			assert.GreaterOrEqual(t, accepted, 179, l.name)
			assert.Zero(t, rejected, l.name)
			assert.Equal(t, len(seen.rotations), survived, l.name)
		}
		assert.Contains(t, seen.diagnosis, "this is the default token")
	})
}

func TestKubeletThatHangsIsNoSuccess(t *testing.T) {
	s := newTestStage(t)
	s.length = lifetime / 2 // nothing is due by then
	synctest.Test(t, func(t *testing.T) {
		seen, err := s.play(t.Context(), func(timeline) {})
		require.NoError(t, err)
		assert.ErrorContains(t, verdict(seen), "never replaced the token")
	})
}

// The command as it is, over sockets, with file notifications and in real
// time, cut short after the first rotation and the first expiry.
func TestOverLoopback(t *testing.T) {
	t.Parallel()
	s, closeServers, err := onLoopback(lifetime, t.TempDir())
	require.NoError(t, err)
	defer closeServers()
	s.length = lifetime + lifetime/10
	var progress, out bytes.Buffer
	seen, err := s.play(t.Context(), newView(&progress))
	require.NoError(t, err)
	if err := verdict(seen); errors.Is(err, errBusy) {
		t.Skip(err)
	}
	picture := filepath.Join(t.TempDir(), "incident.svg")
	require.NoError(t, report(t.Context(), seen, picture, &out))

	assert.Contains(t, progress.String(), "rotation 1\n")
	for _, l := range seen.lanes {
		assert.Contains(t, out.String(), l.name)
	}
	assert.Contains(t, out.String(), "podtoken: never refused, over 1 rotations")
	drawn, err := os.ReadFile(picture)
	require.NoError(t, err)
	assert.Equal(t, drawSVG(seen), drawn)
	noToken(t, s, progress.String(), out.String(), string(drawn))
}

// noToken checks that no part of a token, all of which begin like the one in
// the volume, is in a text.
func noToken(t *testing.T, s *stage, texts ...string) {
	token, err := os.ReadFile(s.declared.Path())
	require.NoError(t, err)
	for _, text := range texts {
		assert.NotContains(t, text, string(token[:20]))
		for _, part := range strings.Split(string(token), ".") {
			assert.NotContains(t, text, part)
		}
	}
}

func TestWaitStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		assert.True(t, wait(t.Context(), time.Now().Add(time.Second)))
		assert.False(t, wait(ended(t), time.Now().Add(time.Second)))
	})
}
