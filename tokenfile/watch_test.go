package tokenfile_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// follow is a Watch loop that a test steps through, with a deadline that a
// change which is not noticed runs into.
func follow(t *testing.T, s *tokenfile.Source) (next func() (*tokenfile.Token, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	pull, stop := iter.Pull2(s.Watch(ctx))
	t.Cleanup(stop)
	return func() (*tokenfile.Token, error) {
		t.Helper()
		token, err, going := pull()
		require.True(t, going, "nothing was noticed in time")
		return token, err
	}
}

// notified is a source that watches by file notifications, whose look beside
// them comes after the deadline of follow.
func (p *pod) notified() *tokenfile.Source {
	return &tokenfile.Source{Path: p.volume.Path(), Audience: audience}
}

func nextToken(t *testing.T, next func() (*tokenfile.Token, error)) string {
	t.Helper()
	token, err := next()
	require.NoError(t, err)
	return token.Raw()
}

// parca-dev/parca#3230, cilium/cilium#35770: a watch on the file is silent
// from the second rotation on.
func TestWatchYieldsEveryRotationOfTheKubelet(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.notified()
	next := follow(t, s)
	seen := map[string]bool{nextToken(t, next): true}
	for range 20 {
		p.rotate()
		token := nextToken(t, next)
		assert.False(t, seen[token], "each token once")
		seen[token] = true
		assert.Equal(t, token, p.token(s))
	}
	assert.EqualValues(t, 20, s.Stats().Rotations)
	assert.False(t, s.Stats().Polling)
}

func TestWatchNotices(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, p *pod, token string){
		"a rewrite in place": func(t *testing.T, p *pod, token string) {
			require.NoError(t, p.volume.WriteInPlace([]byte(token)))
		},
		"a file renamed over it": func(t *testing.T, p *pod, token string) {
			other := filepath.Join(p.volume.Dir(), "new")
			require.NoError(t, os.WriteFile(other, []byte(token), 0o644))
			require.NoError(t, os.Rename(other, p.volume.Path()))
		},
		"a directory renamed over its place": func(t *testing.T, p *pod, token string) {
			require.NoError(t, os.Rename(p.volume.Dir(), p.volume.Dir()+".old"))
			require.NoError(t, os.Mkdir(p.volume.Dir()+".new", 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(p.volume.Dir()+".new", "token"), []byte(token), 0o644))
			require.NoError(t, os.Rename(p.volume.Dir()+".new", p.volume.Dir()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, time.Hour)
			// As a plain file, so that in place is not in the kubelet's directory.
			first := p.token(p.source())
			require.NoError(t, p.volume.RemoveAll())
			require.NoError(t, os.MkdirAll(p.volume.Dir(), 0o755))
			require.NoError(t, os.WriteFile(p.volume.Path(), []byte(first), 0o644))

			next := follow(t, p.notified())
			require.Equal(t, first, nextToken(t, next))
			second := p.signed(nil)
			change(t, p, second)
			for {
				token, err := next()
				if err == nil {
					assert.Equal(t, second, token.Raw())
					return
				}
			}
		})
	}
}

func TestWatchFollowsLinksThroughOtherDirectories(t *testing.T) {
	p := newPod(t, time.Hour)
	links := t.TempDir()
	require.NoError(t, os.Symlink(p.volume.Dir(), filepath.Join(links, "current")))
	require.NoError(t, os.Symlink(filepath.Join(links, "current", "token"), filepath.Join(links, "token")))
	for name, path := range map[string]string{
		"a link to the file":           filepath.Join(links, "token"),
		"a link to the directory":      filepath.Join(links, "current", "token"),
		"the kubelet's own link named": filepath.Join(p.volume.Dir(), "..data", "token"),
	} {
		t.Run(name, func(t *testing.T) {
			s := &tokenfile.Source{Path: path, Audience: audience}
			next := follow(t, s)
			nextToken(t, next)
			p.rotate()
			nextToken(t, next)
		})
	}
	t.Run("a link in the middle that is turned", func(t *testing.T) {
		other := newPod(t, time.Hour)
		next := follow(t, &tokenfile.Source{Path: filepath.Join(links, "current", "token"), Audience: audience})
		nextToken(t, next)
		turned := filepath.Join(links, "turned")
		require.NoError(t, os.Symlink(other.volume.Dir(), turned))
		require.NoError(t, os.Rename(turned, filepath.Join(links, "current")))
		assert.Equal(t, other.token(other.source()), nextToken(t, next))
	})
}

// open-telemetry/opentelemetry-collector-contrib#50122: the volume is not
// there yet when the program starts.
func TestWatchBeginsBeforeTheVolumeExists(t *testing.T) {
	p := newPod(t, time.Hour)
	require.NoError(t, p.volume.RemoveAll())
	next := follow(t, p.notified())
	_, err := next()
	require.ErrorIs(t, err, os.ErrNotExist)
	p.rotate()
	nextToken(t, next)
	p.rotate()
	nextToken(t, next)
}

func TestWatchYieldsAnErrorOnceUntilItsReasonChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		var mu sync.Mutex
		var yields []string
		go func() {
			for token, err := range s.Watch(t.Context()) {
				mu.Lock()
				if err != nil {
					yields = append(yields, reason(err))
				} else {
					yields = append(yields, token.Issuer())
				}
				mu.Unlock()
			}
		}()
		settled := func() []string {
			time.Sleep(20 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			defer func() { yields = nil }()
			return yields
		}
		good, err := os.ReadFile(p.volume.Path())
		require.NoError(t, err)
		time.Sleep(500 * time.Millisecond) // what changes from here on does so between two looks
		assert.Equal(t, []string{tokenfiletest.DefaultIssuer}, settled())

		require.NoError(t, p.volume.Remove())
		assert.Equal(t, []string{"missing"}, settled())
		assert.Empty(t, settled())
		require.NoError(t, p.volume.Write("torn"))
		assert.Equal(t, []string{"malformed"}, settled())
		assert.Empty(t, settled())
		require.NoError(t, p.volume.Write(string(good)))
		assert.Equal(t, []string{tokenfiletest.DefaultIssuer}, settled(), "good again, with the same token")
		assert.Empty(t, settled())

		p.token(s)
		reads := s.Stats().Reads
		for range 1000 {
			p.token(s)
		}
		assert.Equal(t, reads, s.Stats().Reads, "the loop reads, Token does not")
	})
}

func reason(err error) string {
	switch {
	case isMissing(err):
		return "missing"
	case isMalformed(err):
		return "malformed"
	}
	return "other: " + err.Error()
}

func TestWatchYieldsTheExpiryOfATokenLeftInPlaceWhenItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		var expiry time.Time
		for token, err := range s.Watch(t.Context()) {
			if err == nil {
				expiry = token.Expiry()
				continue
			}
			var expired *tokenfile.ExpiredError
			require.ErrorAs(t, err, &expired)
			assert.Equal(t, expiry, time.Now())
			break
		}
		_, err := s.Token(t.Context())
		assert.Error(t, err)
	})
}

func TestTokenServesTheLastGoodOneWhileAWatchLoopFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		ctx, cancel := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() {
			for range s.Watch(ctx) {
			}
		})
		synctest.Wait()
		good := p.token(s)
		require.NoError(t, p.volume.RemoveAll())
		time.Sleep(10 * time.Minute)
		assert.Equal(t, good, p.token(s))
		assert.True(t, s.Stats().Failing)

		cancel()
		loop.Wait()
		_, err := s.Token(t.Context())
		require.ErrorIs(t, err, os.ErrNotExist, "after the loop every call reads again")
	})
}

func TestTokenLooksByItselfWhenTheBodyOfAWatchLoopIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, time.Hour)
		s := p.source()
		ctx, cancel := context.WithCancel(t.Context())
		var loop sync.WaitGroup
		loop.Go(func() {
			for range s.Watch(ctx) {
				<-ctx.Done()
			}
		})
		synctest.Wait()
		before := p.token(s)
		p.rotate()
		assert.Equal(t, before, p.token(s))
		time.Sleep(time.Minute)
		assert.NotEqual(t, before, p.token(s))
		cancel()
		loop.Wait()
	})
}

func TestWatchSurvivesADayOfRotations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod(t, 10*time.Minute)
		s := p.source()
		go func() { _ = p.kubelet.Run(t.Context()) }()
		yielded := 0
		go func() {
			for _, err := range s.Watch(t.Context()) {
				assert.NoError(t, err)
				yielded++
			}
		}()
		synctest.Wait()
		for range 24 * 60 {
			time.Sleep(time.Minute)
			p.token(s)
		}
		synctest.Wait()
		assert.Greater(t, p.kubelet.Rotations(), 100)
		assert.InDelta(t, p.kubelet.Rotations(), yielded, 1, "the last one may not have been looked at yet")
	})
}

func TestWatchEndsWithItsContextAndWithItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails on a goroutine left behind
		p := newPod(t, time.Hour)
		s := p.source()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		yields := 0
		for _, err := range s.Watch(ctx) {
			require.NoError(t, err)
			yields++
		}
		assert.Equal(t, 1, yields)
		for range s.Watch(t.Context()) {
			break
		}
		assert.Panics(t, func() {
			for range s.Watch(t.Context()) {
				panic("in the body")
			}
		})
		before := s.Stats().Reads
		p.token(s)
		assert.Equal(t, before+1, s.Stats().Reads, "no loop is thought to run any more")
		for range s.Watch(ctx) {
			t.Error("a loop whose context has ended yields nothing")
		}
	})
}

func TestSeveralWatchLoopsOnOneSourceEachYieldEveryToken(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.notified()
	a, b := follow(t, s), follow(t, s)
	assert.Equal(t, nextToken(t, a), nextToken(t, b))
	p.rotate()
	assert.Equal(t, nextToken(t, a), nextToken(t, b))
	assert.EqualValues(t, 1, s.Stats().Rotations, "one rotation, whoever sees it")
}
