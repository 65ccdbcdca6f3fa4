package tokenfile

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// These tests hold a read up in its middle, which only this package can.

// mountFor mounts a token for "openbao" and returns what replaces it.
func mountFor(t *testing.T) (*tokenfiletest.Volume, *tokenfiletest.Kubelet) {
	issuer := new(tokenfiletest.Issuer)
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	kubelet := &tokenfiletest.Kubelet{Issuer: issuer, Volume: volume, Request: tokenfiletest.Request{Audiences: []string{"openbao"}}}
	require.NoError(t, kubelet.Rotate())
	return volume, kubelet
}

func TestOneCallerReadsWhileTheOthersAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume, kubelet := mountFor(t)
		s := &Source{Path: volume.Path(), Audience: "openbao", MaxAge: time.Minute}
		before, err := s.Token(t.Context())
		require.NoError(t, err)
		require.NoError(t, kubelet.Rotate())
		time.Sleep(time.Minute)

		f, mine := s.join()
		require.True(t, mine)
		for range 100 {
			token, err := s.Token(t.Context())
			require.NoError(t, err)
			require.Same(t, before, token)
		}
		assert.EqualValues(t, 1, s.Stats().Reads, "nobody else reads")
		s.land(f)
		after, err := s.Token(t.Context())
		require.NoError(t, err)
		assert.NotSame(t, before, after)
	})
}

func TestCallersWithNothingToBeServedShareOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume, _ := mountFor(t)
		s := &Source{Path: volume.Path(), Audience: "openbao", MaxAge: time.Minute}
		f, _ := s.join()
		var callers sync.WaitGroup
		tokens := make([]*Token, 100)
		for i := range tokens {
			callers.Go(func() { tokens[i], _ = s.Token(t.Context()) })
		}
		synctest.Wait()
		assert.Zero(t, s.Stats().Reads)
		f.token, f.err = s.refresh()
		s.land(f)
		callers.Wait()
		for _, token := range tokens {
			require.Same(t, f.token, token)
		}
		assert.EqualValues(t, 1, s.Stats().Reads)
	})
}

func TestACallerThatWaitsForAReadCanGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume, _ := mountFor(t)
		s := &Source{Path: volume.Path(), Audience: "openbao", MaxAge: time.Minute}
		f, _ := s.join()
		for name, call := range map[string]func(context.Context) (*Token, error){"Token": s.Token, "Wait": s.Wait} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			start := time.Now()
			_, err := call(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			assert.Equal(t, time.Second, time.Since(start), name)
		}
		s.land(f)
		_, err := s.Token(t.Context())
		require.NoError(t, err)
	})
}

func TestAReadThatPanicsHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		volume, _ := mountFor(t)
		s := &Source{Path: volume.Path(), Audience: "openbao", MaxAge: time.Minute}
		f, _ := s.join()
		var err error
		var caller sync.WaitGroup
		caller.Go(func() { _, err = s.Token(t.Context()) })
		synctest.Wait()
		s.land(f) // with no outcome
		caller.Wait()
		require.ErrorIs(t, err, errAbandoned)
	})
}

// A read that overlapped another may have found the newer token, and the other
// one's must not be served for all of MaxAge then.
func TestOverlappingReadsAreSettledByAnother(t *testing.T) {
	volume, kubelet := mountFor(t)
	s := &Source{Path: volume.Path(), Audience: "openbao", MaxAge: time.Hour}
	overlapping := s.stats.reads.Add(1)
	before, err := s.Token(t.Context())
	require.NoError(t, err)
	require.NoError(t, kubelet.Rotate())
	other := &Source{Path: volume.Path(), Audience: "openbao"}
	newer, err := other.look()
	require.NoError(t, err)

	s.publish(&parsed{content: newer.content, token: newer.token, from: newer.from, until: newer.until, began: overlapping})
	after, err := s.Token(t.Context())
	require.NoError(t, err)
	assert.NotSame(t, before, after)
	assert.True(t, after.Raw() == newer.content, "the newer token is served")
}

// authenticating is a log handler that needs a token for each record.
type authenticating struct {
	slog.Handler
	source *Source
	tokens int
}

func (a *authenticating) Enabled(context.Context, slog.Level) bool { return true }

func (a *authenticating) Handle(ctx context.Context, _ slog.Record) error {
	if _, err := a.source.Token(ctx); err == nil {
		a.tokens++
	}
	return nil
}

func TestALoggerMayAskForATokenItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which a deadlock fails
		volume, kubelet := mountFor(t)
		handler := new(authenticating)
		s := &Source{Path: volume.Path(), Audience: "openbao", MaxAge: time.Minute, Logger: slog.New(handler), NoNotify: true}
		handler.source = s
		_, err := s.Token(t.Context())
		require.NoError(t, err)
		require.NoError(t, kubelet.Rotate())
		time.Sleep(time.Minute)
		_, err = s.Token(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, handler.tokens, "at the rotation")

		require.NoError(t, volume.Remove())
		time.Sleep(time.Minute)
		_, err = s.Token(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, handler.tokens, "at the failure")
		for range s.Watch(t.Context()) {
			break
		}
	})
}

func TestABufferIsWipedBeforeAnotherReaderGetsIt(t *testing.T) {
	volume, _ := mountFor(t)
	b := newBuffer()
	_, err := b.readFile(volume.Path(), "", true)
	require.NoError(t, err)
	small := b.data
	require.NotEqual(t, byte(0), small[0])
	b.grow()
	assert.Equal(t, make([]byte, len(small)), small, "when it is left for a larger one")
	large := b.data
	require.NotEqual(t, byte(0), large[0])
	b.free()
	assert.Equal(t, make([]byte, len(large)), large, "when it is given back")
}
