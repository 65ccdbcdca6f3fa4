//go:build linux

package kubernetes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/kubernetes/pkg/volume/util"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const (
	soakRounds   = 5000
	soakLifetime = 2 * time.Second // a fraction of the whole run, so that a token kept too long is seen to expire
	soakPause    = time.Millisecond
	soakMaxAge   = 20 * time.Millisecond

	// late is how far behind a reader may fall that does not look at every
	// call: Watch looks once a second at least at a token of this lifetime.
	late = 2 * time.Second
)

// The kubelet's own writer swaps thousands of tokens, hundreds a second, under
// readers that use each trigger. None may see a torn token, an older one than
// before, an expired one, or an error, or miss the last one.
func TestNoReaderLosesATokenOverThousandsOfRealSwaps(t *testing.T) {
	v := newSoakVolume(t)
	v.rotate(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	readers, ctx := errgroup.WithContext(ctx)
	done := make(chan struct{})
	readers.Go(func() error { return v.readUntil(ctx, done, v.call, 0, 0) })
	for range 2 {
		readers.Go(func() error { return v.readUntil(ctx, done, v.call, soakPause/10, 0) })
		readers.Go(func() error { return v.readUntil(ctx, done, v.schedule, soakPause, soakMaxAge+late) })
		readers.Go(func() error { return v.readUntil(ctx, done, v.change, soakPause, late) })
	}
	readers.Go(func() error { return v.follow(ctx) })

	for v.round < soakRounds && ctx.Err() == nil {
		v.rotate(t)
		time.Sleep(soakPause)
	}
	close(done)
	assert.NoError(t, readers.Wait())
	for name, source := range map[string]*tokenfile.Source{"call": v.call, "schedule": v.schedule, "change": v.change} {
		stats := source.Stats()
		assert.Zero(t, stats.Failures.Total(), name)
		assert.Greater(t, stats.Rotations, uint64(soakRounds/100), name)
		t.Logf("%s: %d reads, %d of %d rotations seen", name, stats.Reads, stats.Rotations, soakRounds-1)
	}
	assert.NotContains(t, v.log.String(), "no file notifications", "a swap while the loop arms itself is no reason to poll")
}

// A soakVolume is a directory in memory that the kubelet's writer fills, the
// readers of it, and the history of what it held.
type soakVolume struct {
	writer *util.AtomicWriter
	issuer *tokenfiletest.Issuer

	call, schedule, change *tokenfile.Source
	log                    bytes.Buffer // of change, read once its loop has ended

	round    int64          // the one that was written last
	rounds   sync.Map       // by a token's hash: its round, from before it was written
	replaced []atomic.Int64 // by round: when the next one stood there, in nanoseconds
}

func newSoakVolume(t *testing.T) *soakVolume {
	t.Helper()
	dir := memoryDir(t)
	writer, err := util.NewAtomicWriter(dir, "e2e")
	require.NoError(t, err)
	issuer := &tokenfiletest.Issuer{AllowShort: true}
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	path := filepath.Join(dir, "token")
	v := &soakVolume{
		writer: writer, issuer: issuer,
		call:     &tokenfile.Source{Path: path, Audience: openbao},
		schedule: &tokenfile.Source{Path: path, Audience: openbao, MaxAge: soakMaxAge},
		change:   &tokenfile.Source{Path: path, Audience: openbao},
		replaced: make([]atomic.Int64, soakRounds+1),
	}
	v.change.Logger = slog.New(slog.NewTextHandler(&v.log, nil)) // which serializes its writers
	return v
}

// memoryDir is a directory on a tmpfs, as the kubelet's volumes are.
func memoryDir(t *testing.T) string {
	t.Helper()
	parent := workDir
	if notInside != nil {
		parent = "/dev/shm"
	}
	dir, err := os.MkdirTemp(parent, "podtoken-e2e-soak-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// rotate writes a new token.
func (v *soakVolume) rotate(t *testing.T) {
	v.round++
	token, err := v.issuer.Token(tokenfiletest.Request{Audiences: []string{openbao}, Lifetime: soakLifetime, Pod: "app-0"})
	require.NoError(t, err)
	v.rounds.Store(sha256.Sum256([]byte(token)), v.round)
	require.NoError(t, v.writer.Write(payload(token, 0o644), nil))
	v.replaced[v.round-1].Store(time.Now().UnixNano())
}

// check judges a token that a reader got from a call that began at start, and
// returns its round. The token may have been replaced for as long as within
// before that.
func (v *soakVolume) check(token *tokenfile.Token, start time.Time, within time.Duration) (int64, error) {
	known, ok := v.rounds.Load(sha256.Sum256([]byte(token.Raw())))
	if !ok {
		return 0, errors.New("a token that was never issued")
	}
	round := known.(int64)
	if replaced := v.replaced[round].Load(); replaced != 0 && time.Unix(0, replaced).Before(start.Add(-within)) {
		return 0, fmt.Errorf("a token that was replaced %v before", start.Sub(time.Unix(0, replaced)))
	}
	if !start.Before(token.Expiry()) {
		return 0, fmt.Errorf("a token that expired %v before", start.Sub(token.Expiry()))
	}
	return round, nil
}

// readUntil reads until done, and on until it has read the last token.
func (v *soakVolume) readUntil(
	ctx context.Context, done <-chan struct{}, source *tokenfile.Source, pause, within time.Duration,
) error {
	var newest int64
	for {
		start := time.Now()
		token, err := source.Token(ctx)
		if err != nil {
			return fmt.Errorf("after round %d: %w", newest, err)
		}
		round, err := v.check(token, start, within)
		if err != nil {
			return fmt.Errorf("after round %d: %w", newest, err)
		}
		if round < newest {
			return fmt.Errorf("round %d after round %d", round, newest)
		}
		newest = round
		select {
		case <-done:
			if newest == soakRounds {
				return nil
			}
		default:
		}
		time.Sleep(pause)
	}
}

// follow takes the tokens that Watch yields until the last one.
func (v *soakVolume) follow(ctx context.Context) error {
	var newest int64
	for token, err := range v.change.Watch(ctx) {
		if err != nil {
			return fmt.Errorf("watching after round %d: %w", newest, err)
		}
		round, err := v.check(token, time.Now().Add(-late), 0)
		if err != nil {
			return fmt.Errorf("watching after round %d: %w", newest, err)
		}
		if round <= newest {
			return fmt.Errorf("watching: round %d after round %d", round, newest)
		}
		if newest = round; newest == soakRounds {
			return nil
		}
	}
	return fmt.Errorf("watching ended after round %d: %w", newest, context.Cause(ctx))
}
