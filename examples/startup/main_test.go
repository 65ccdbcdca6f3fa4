package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func newKubelet(t *testing.T) *tokenfiletest.Kubelet {
	issuer, err := tokenfiletest.NewIssuer("")
	require.NoError(t, err)
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	return &tokenfiletest.Kubelet{
		Issuer: issuer, Volume: volume,
		Request: tokenfiletest.Request{Audiences: []string{"api"}},
	}
}

// Time passes by itself in a synctest bubble, where file notifications cannot
// be had.
func sourceOf(kubelet *tokenfiletest.Kubelet, audience string) *tokenfile.Source {
	return &tokenfile.Source{Path: kubelet.Volume.Path(), Audience: audience, NoNotify: true}
}

func TestLogsEachRotation(t *testing.T) {
	kubelet := newKubelet(t)
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		time.AfterFunc(10*time.Second, func() { _ = kubelet.Run(ctx) }) // the volume comes late
		require.NoError(t, run(ctx, sourceOf(kubelet, "api"), slog.New(slog.NewTextHandler(&log, nil))))
	})
	require.Equal(t, 3, kubelet.Rotations())
	assert.Equal(t, 4, strings.Count(log.String(), "token is new"))
	token, err := os.ReadFile(kubelet.Volume.Path())
	require.NoError(t, err)
	assert.NotContains(t, log.String(), string(token[:20]))
}

func TestLogsThatTheFileIsGone(t *testing.T) {
	kubelet := newKubelet(t)
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, kubelet.Rotate())
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		time.AfterFunc(time.Minute+500*time.Millisecond, func() { _ = kubelet.Volume.Remove() }) // between two looks
		require.NoError(t, run(ctx, sourceOf(kubelet, "api"), slog.New(slog.NewTextHandler(&log, nil))))
	})
	assert.Equal(t, 1, strings.Count(log.String(), "token file is bad"))
}

func TestWrongAudienceEndsTheStart(t *testing.T) {
	kubelet := newKubelet(t)
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, kubelet.Rotate())
		began := time.Now()
		err := run(t.Context(), sourceOf(kubelet, "vault"), slog.New(slog.DiscardHandler))
		var wrong *tokenfile.AudienceError
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, []string{"api"}, wrong.Got)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 30*time.Second, time.Since(began))
	})
}
