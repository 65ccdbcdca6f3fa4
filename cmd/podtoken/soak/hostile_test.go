package soak_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// put mounts a token for the bed's audience, as whoever the request says.
func (b *bed) put(change func(*tokenfiletest.Request)) {
	b.t.Helper()
	request := b.kubelet.Request
	if change != nil {
		change(&request)
	}
	token, err := newIssuer().Token(request)
	require.NoError(b.t, err)
	require.NoError(b.t, b.kubelet.Volume.Write(token))
}

// after lets something happen once, at a time after the beginning.
func (b *bed) after(at time.Duration, what func()) { time.AfterFunc(at, what) }

// What is in the file must be what the kubelet replaced the token by: a verdict
// on anything else says nothing about rotation.
func TestWhatIsNoRotation(t *testing.T) {
	inBubble(t, "two tokens that take turns", openbao(), func(t *testing.T, b *bed) {
		b.kubelet.Stall(true)
		first, err := os.ReadFile(b.path)
		require.NoError(t, err)
		b.after(10*time.Minute, func() { b.put(nil) })
		b.after(20*time.Minute, func() { assert.NoError(t, b.kubelet.Volume.Write(string(first))) })
		b.after(30*time.Minute, func() { b.put(nil) })
		s := b.soak()
		s.For = 40 * time.Minute
		v := b.run(t.Context(), s)
		assert.Equal(t, map[string]soak.State{"rotations": soak.Failed}, states(v))
		assert.Contains(t, point(t, v, "rotations").Evidence, "2000-01-01T00:20:0")
		assert.Contains(t, point(t, v, "rotations").Evidence, "issued at 2000-01-01T00:00:00Z, before the one that it replaced")
		assert.Equal(t, 2, v.Rotated, "the way back is none")
	})
	for name, change := range map[string]func(*tokenfiletest.Request){
		"another service account's token": func(r *tokenfiletest.Request) { r.ServiceAccount = "admin" },
		"another pod's token":             func(r *tokenfiletest.Request) { r.Pod = "web-1" },
	} {
		inBubble(t, name, openbao(), func(t *testing.T, b *bed) {
			b.kubelet.Stall(true)
			b.after(10*time.Minute, func() { b.put(change) })
			b.after(20*time.Minute, func() { b.put(change) })
			s := b.soak()
			s.For = 30 * time.Minute
			v := b.run(t.Context(), s)
			assert.Equal(t, soak.Failed, states(v)["rotations"])
			assert.Contains(t, point(t, v, "rotations").Evidence, "2000-01-01T00:10:0")
			assert.Contains(t, point(t, v, "rotations").Mend, "writes the file")
			assert.False(t, v.Passed)
		})
	}
	inBubble(t, "a file that was written again, with the token from before the start", openbao(), func(t *testing.T, b *bed) {
		time.Sleep(time.Minute)
		s := b.soak()
		s.For = 2 * time.Minute
		v := b.run(t.Context(), s)
		p := point(t, v, "modified")
		assert.Equal(t, soak.NotYet, p.State)
		assert.Contains(t, p.Evidence, "issued at 2000-01-01T00:00:00Z, before the start at 2000-01-01T00:01:00Z")
	})
}

// The kubelet also replaces a token when it is restarted, which can be twice
// between two logins. That is no failure of anybody.
func TestRotationsInARow(t *testing.T) {
	inBubble(t, "two before the next login", openbao(), func(t *testing.T, b *bed) {
		b.after(21*time.Minute, func() { assert.NoError(t, b.kubelet.Rotate()) })
		b.after(23*time.Minute, func() { assert.NoError(t, b.kubelet.Rotate()) })
		s := b.soak()
		s.Every = 5 * time.Minute
		v := b.run(t.Context(), s)
		assert.Empty(t, states(v))
		assert.Equal(t, 3, v.Rotated, "it goes on until two were crossed")
		assert.Contains(t, point(t, v, "logins").Evidence, "but for 1 that was replaced before a login was due")
	})
	inBubble(t, "one each second, and a party that is down", openbao(), func(t *testing.T, b *bed) {
		var rotating sync.WaitGroup
		t.Cleanup(rotating.Wait) // before the folder goes
		rotating.Go(func() {
			for t.Context().Err() == nil {
				time.Sleep(time.Second)
				_ = b.kubelet.Rotate()
			}
		})
		b.after(30*time.Second, func() { b.server.SetDown(true) })
		s := b.soak()
		s.For = time.Minute
		v := b.run(t.Context(), s)
		assert.Equal(t, soak.TimeIsUp, v.Ending)
		assert.LessOrEqual(t, v.Ended.Sub(v.Began), 7*time.Minute)
		assert.Equal(t, soak.Failed, states(v)["reachable"])
	})
	inBubble(t, "fewer logins than rotations", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Every = 2 * time.Hour
		_, err := s.Run(t.Context())
		require.ErrorContains(t, err, "a login every 2h0m0s")
		s.Every, s.Rotations = time.Minute, 1_000_000
		_, err = s.Run(t.Context())
		require.ErrorContains(t, err, "at most 100000")
	})
}

func TestLifetimesThatDiffer(t *testing.T) {
	inBubble(t, "what is declared is not known", openbao(), func(t *testing.T, b *bed) {
		b.kubelet.Stall(true)
		b.after(10*time.Minute, func() { b.put(func(r *tokenfiletest.Request) { r.Lifetime = 24 * time.Hour }) })
		s := b.soak()
		s.Declared, s.For = 0, 20*time.Minute
		p := point(t, b.run(t.Context(), s), "lifetime")
		assert.Equal(t, soak.Failed, p.State)
		assert.Contains(t, p.Evidence, "3600 to 86400 s in 2 tokens")
	})
}

func TestOneTokenThatIsNotAsDeclared(t *testing.T) {
	for name, lifetime := range map[string]time.Duration{"shorter": 30 * time.Minute, "longer": 24 * time.Hour} {
		inBubble(t, name, openbao(), func(t *testing.T, b *bed) {
			b.kubelet.Stall(true)
			b.after(10*time.Minute, func() { b.put(func(r *tokenfiletest.Request) { r.Lifetime = lifetime }) })
			s := b.soak()
			s.For = 20 * time.Minute
			p := point(t, b.run(t.Context(), s), "lifetime")
			assert.Equal(t, soak.Failed, p.State)
			assert.Contains(t, p.Evidence, "in 2 tokens; declared are 3600 s")
		})
	}
}

func TestATokenThatNeverLoggedIn(t *testing.T) {
	inBubble(t, "while the party was away from before one rotation until after the next", openbao(), func(t *testing.T, b *bed) {
		b.after(45*time.Minute, func() { b.server.SetDown(true) })
		b.after(105*time.Minute, func() { b.server.SetDown(false) })
		s := b.soak()
		s.Rotations = 4
		v := b.run(t.Context(), s)
		assert.Equal(t, map[string]soak.State{"logins": soak.Failed, "reachable": soak.Failed}, states(v))
		assert.Regexp(t, "^none did after 1 rotation, before the next one: 2000-01-01T00:(48|49):", point(t, v, "logins").Evidence)
	})
}

// The file system's clock is none of the bubble's, so the times are set.
func TestWhenTheFileWasWritten(t *testing.T) {
	for name, c := range map[string]struct {
		written time.Duration // after the container's start
		soak    time.Duration
		want    soak.State
		text    string
	}{
		"before the start, and no rotation was due": {-time.Minute, 45 * time.Minute, soak.NotYet, "written at 1999-12-31T23:59:00Z, and not since the start at 2000-01-01T00:00:00Z"},
		"before the start, though a rotation was":   {-time.Minute, 52 * time.Minute, soak.Failed, "written at 1999-12-31T23:59:00Z"},
		"at the start, though a rotation was":       {0, 52 * time.Minute, soak.Failed, "written at 2000-01-01T00:00:00Z"},
		"after the start, at the rotation":          {50 * time.Minute, 52 * time.Minute, soak.Held, "written at 2000-01-01T00:50:00Z, started at 2000-01-01T00:00:00Z"},
	} {
		inBubble(t, name, openbao(), func(t *testing.T, b *bed) {
			s := b.soak()
			s.For = c.soak
			b.after(c.soak-time.Second, func() { // after the last look at the file
				written := s.Started.Add(c.written)
				assert.NoError(t, os.Chtimes(b.path, written, written))
			})
			p := point(t, b.run(t.Context(), s), "modified")
			assert.Equal(t, c.want, p.State)
			assert.Contains(t, p.Evidence, c.text)
		})
	}
}

func TestARotationThatNobodyHasLoggedInAfterYet(t *testing.T) {
	inBubble(t, "when it is interrupted", openbao(), func(t *testing.T, b *bed) {
		b.after(7*time.Minute, func() { assert.NoError(t, b.kubelet.Rotate()) })
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Minute)
		defer cancel()
		s := b.soak()
		s.Every = 5 * time.Minute
		p := point(t, b.run(ctx, s), "logins")
		assert.Equal(t, soak.NotYet, p.State)
		assert.Equal(t, "go on until the next login", p.Mend)
	})
}

// late answers after two minutes.
type late struct{ party.Party }

func (l late) Login(ctx context.Context) error {
	err := l.Party.Login(ctx)
	time.Sleep(2 * time.Minute)
	return err
}

// Which token a login had that was under way at a rotation nobody knows.
func TestALoginDuringARotationIsOfNeitherToken(t *testing.T) {
	inBubble(t, "and the only one of the second token fails", openbao(), func(t *testing.T, b *bed) {
		b.after(6*time.Minute, func() { assert.NoError(t, b.kubelet.Rotate()) }) // a login is under way
		b.after(8*time.Minute, func() { b.server.SetDown(true) })
		b.after(13*time.Minute, func() { assert.NoError(t, b.kubelet.Rotate()) })
		b.after(14*time.Minute, func() { b.server.SetDown(false) })
		s := b.soak()
		s.Party, s.Timeout, s.Every, s.For = late{b.party()}, 3*time.Minute, 5*time.Minute, 18*time.Minute
		v := b.run(t.Context(), s)
		assert.Equal(t, 3, v.Logins[party.Accepted])
		assert.Equal(t, "2 rotations seen, 0 of them with accepted logins on both sides", point(t, v, "rotations").Evidence)
	})
}

// canceling says that it was canceled, by whom nobody knows.
type canceling struct{ party.Party }

func (canceling) Login(context.Context) error { return fmt.Errorf("stream: %w", context.Canceled) }

func TestALoginThatSaysItWasCanceled(t *testing.T) {
	inBubble(t, "while nobody did", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Party, s.For = canceling{b.party()}, time.Minute
		v := b.run(t.Context(), s)
		assert.Equal(t, soak.Failed, states(v)["reachable"])
		assert.NotZero(t, v.Logins[party.NoAnswer])
	})
}

func TestAPassThatWasInterrupted(t *testing.T) {
	inBubble(t, "after two of five rotations", openbao(), func(t *testing.T, b *bed) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		s := b.soak()
		s.Rotations = 5
		v := b.run(ctx, s)
		assert.True(t, v.Passed)
		assert.Contains(t, v.String(), "passed: 9 of 9 points held when it was interrupted\n")
	})
}
