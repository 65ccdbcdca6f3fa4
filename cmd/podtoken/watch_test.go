package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// watched runs the loop in a bubble, on a token of ten minutes that the kubelet
// looks after, while story happens.
func watched(t *testing.T, c doctorCommand, story func(*tokenfiletest.Kubelet, context.CancelFunc)) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := -1
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		issuer := new(tokenfiletest.Issuer)
		require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
		volume, err := tokenfiletest.NewVolume(dir)
		require.NoError(t, err)
		kubelet := &tokenfiletest.Kubelet{
			Issuer: issuer, Volume: volume,
			Request: tokenfiletest.Request{Audiences: []string{"openbao"}, Lifetime: 10 * time.Minute, Pod: "web-0"},
		}
		require.NoError(t, kubelet.Rotate())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go kubelet.Run(ctx)
		if story != nil {
			go story(kubelet, cancel)
		}
		w := newWatching(&c, system{stdout: &stdout, stderr: &stderr, progress: true})
		w.noNotify = true
		w.follow(doctor.Token{Path: "/tokens/token"}, volume.Path())
		status = w.run(ctx)
		raw, err := os.ReadFile(volume.Path())
		if err == nil {
			for part := range strings.SplitSeq(string(raw), ".") {
				assert.False(t, strings.Contains(stdout.String()+stderr.String(), part), "a part of the token is printed")
			}
		}
	})
	return result{status, stdout.String(), stderr.String()}
}

func TestWatchFollowsRotations(t *testing.T) {
	got := watched(t, doctorCommand{Rotations: 2, Output: "text"}, nil)
	assert.Equal(t, exitGood, got.status)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	require.Len(t, lines, 3)
	assert.Equal(t, "2000-01-01T00:00:00Z holds /tokens/token: for openbao, expires 2000-01-01T00:10:00Z; "+
		"next rotation at 2000-01-01T00:08:00Z, in 8m", lines[0])
	for _, line := range lines[1:] {
		assert.Regexp(t, `^2000-01-01T00:\d\d:\d\dZ rotated /tokens/token: expires 2000\S+Z, before 2000\S+Z; `+
			`the one before had (1m(\d+s)?|2m(\ds)?|\d\ds) left; next rotation at 2000\S+Z, in [78]m(\d+s)?$`, line)
	}
	assert.Contains(t, got.stderr, "next rotation of /tokens/token in 4m", "the bar moves")
	assert.Contains(t, got.stderr, "50%")
}

func TestWatchJSON(t *testing.T) {
	got := watched(t, doctorCommand{Rotations: 1, Output: "json"}, nil)
	assert.Equal(t, exitGood, got.status)
	var events []event
	for line := range strings.Lines(got.stdout) {
		var e event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		events = append(events, e)
	}
	require.Len(t, events, 2)
	assert.Equal(t, eventHolds, events[0].Event)
	assert.Equal(t, eventRotated, events[1].Event)
	assert.Equal(t, []string{"openbao"}, events[1].Audience)
	assert.Equal(t, events[0].Expiry, events[1].Previous)
	assert.InDelta(t, events[1].Previous.Sub(events[1].Time), time.Duration(events[1].Left), float64(time.Second))
	assert.Equal(t, events[1].Expiry.Add(-2*time.Minute), events[1].Due)
}

// What is paged for: first the overdue rotation, then the expiry, once each.
func TestWatchAStuckKubelet(t *testing.T) {
	got := watched(t, doctorCommand{Output: "text", Rotations: 1}, func(k *tokenfiletest.Kubelet, _ context.CancelFunc) {
		k.Stall(true)
		time.Sleep(20 * time.Minute)
		k.Stall(false)
	})
	assert.Equal(t, exitFindings, got.status)
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	require.Len(t, lines, 4, got.stdout)
	assert.Regexp(t, `^2000-01-01T00:09:41Z overdue /tokens/token: the kubelet should have replaced the token at 2000-01-01T00:08:00Z`, lines[1])
	assert.Regexp(t, `^2000-01-01T00:10:0\dZ failed /tokens/token: token expired`, lines[2])
	assert.Regexp(t, ` rotated /tokens/token: .*; the one before had expired 1\dm.* ago; `, lines[3])
}

func TestWatchAFileThatGoesAndComesBack(t *testing.T) {
	got := watched(t, doctorCommand{Output: "text"}, func(k *tokenfiletest.Kubelet, end context.CancelFunc) {
		time.Sleep(90*time.Second + 500*time.Millisecond) // between two looks
		raw, _ := os.ReadFile(k.Volume.Path())
		_ = k.Volume.Remove()
		time.Sleep(90 * time.Second)
		_ = k.Volume.Write(string(raw))
		time.Sleep(90 * time.Second)
		end()
	})
	assert.Equal(t, exitFindings, got.status, "there was a failure")
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	require.Len(t, lines, 3, got.stdout)
	assert.Contains(t, lines[1], " failed /tokens/token: no such file or directory; ")
	assert.Contains(t, lines[2], " recovered /tokens/token: for openbao")
}

func TestWatchIsInterrupted(t *testing.T) {
	for name, c := range map[string]struct{ rotations, status int }{
		"and nothing was wrong":          {0, exitGood},
		"before what it was to wait for": {3, exitFindings},
	} {
		t.Run(name, func(t *testing.T) {
			got := watched(t, doctorCommand{Output: "text", Rotations: c.rotations}, func(_ *tokenfiletest.Kubelet, end context.CancelFunc) {
				time.Sleep(time.Minute)
				end()
			})
			assert.Equal(t, c.status, got.status)
			assert.Equal(t, 1, strings.Count(got.stdout, "\n"))
		})
	}
}

// A file that is mounted by itself has no next rotation, however long one waits.
func TestWatchATokenThatIsNeverRotated(t *testing.T) {
	p := newPatient(t)
	f := &followed{never: true, source: &tokenfile.Source{Path: p.volume.Path(), Audience: "openbao"}}
	token, err := f.source.Token(t.Context())
	require.NoError(t, err)
	f.holds(token)
	assert.Zero(t, f.due)
	assert.Contains(t, event{Event: eventHolds, never: true}.text(), "it will not be rotated")
}

func TestWatchSaysWhenTheNextRotationIs(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	for want, e := range map[string]event{
		"next rotation at 2026-11-30T08:05:00Z, in 5m":         {Time: now, Due: now.Add(5 * time.Minute)},
		"its rotation was due at 2026-11-30T07:55:00Z, 5m ago": {Time: now, Due: now.Add(-5 * time.Minute)},
		"when it is rotated is not known":                      {Time: now},
		"it will not be rotated":                               {Time: now, never: true},
	} {
		assert.Equal(t, want, e.nextText())
	}
}

// There is nothing to wait for, and the report says why.
func TestWatchDoesNotWaitForARotationThatNeverComes(t *testing.T) {
	p := newPatient(t)
	require.NoError(t, p.volume.RemoveAll())
	legacy, err := p.issuer.LegacyToken("shop", "web", "web-token-x")
	require.NoError(t, err)
	require.NoError(t, p.volume.Write(legacy))
	got := p.doctor(t, "--watch", "--rotations=1")
	assert.Equal(t, exitFindings, got.status)
	assert.Contains(t, got.stdout, "error PD010")
}

// What a token says, and what its file is called, is text from outside.
func TestWatchOfForeignText(t *testing.T) {
	p := newPatient(t)
	require.NoError(t, p.volume.RemoveAll())
	token, err := p.issuer.Token(tokenfiletest.Request{Audiences: append([]string{"a\x1b[31m\nb"}, strings.Split(strings.Repeat("x", 1000), "")...)})
	require.NoError(t, err)
	name := "/srv/new\nline\x1b[31m"
	require.NoError(t, p.File(name, token))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout bytes.Buffer
	status := run([]string{"doctor", "--root", p.Root, "--watch", name}, system{
		stdout: writer(func(text []byte) { stdout.Write(text); cancel() }), stderr: &bytes.Buffer{},
		interrupt: func() (context.Context, context.CancelFunc) { return ctx, cancel },
	})
	assert.Equal(t, exitGood, status, stdout.String())
	assert.Contains(t, stdout.String(), " holds /srv/new line [31m: for a [31m b, x, ")
	assert.Equal(t, 1, strings.Count(stdout.String(), "\n"))
	assert.NotContains(t, stdout.String(), "\x1b")
	assert.Less(t, stdout.Len(), 500)
}

// What could not be looked at may be what one wanted to watch.
func TestWatchOfWhatCouldNotAllBeLookedAt(t *testing.T) {
	p := newPatient(t)
	require.NoError(t, os.Remove(filepath.Join(p.Root, "proc/self/environ")))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stderr bytes.Buffer
	status := run([]string{"doctor", "--root", p.Root, "--watch"}, system{
		stdout: writer(func([]byte) { cancel() }), stderr: &stderr,
		interrupt: func() (context.Context, context.CancelFunc) { return ctx, cancel },
	})
	assert.Equal(t, exitFindings, status)
	assert.Contains(t, stderr.String(), "environ: no such file")
}

// The bar is of the token that is replaced first, of those that are.
func TestWatchOfSeveralTokensShowsTheNextRotation(t *testing.T) {
	now := time.Now()
	w := &watching{tokens: []*followed{
		{path: "never"}, {path: "failing", due: now, failing: true}, {path: "later", due: now.Add(time.Hour)},
		{path: "next", due: now.Add(time.Minute)}, {path: "last", due: now.Add(2 * time.Hour)},
	}}
	assert.Equal(t, "next", w.next().path)
	assert.Nil(t, (&watching{tokens: w.tokens[:2]}).next())
}

func TestWatchWithoutATokenSaysSo(t *testing.T) {
	p := newPatient(t)
	require.NoError(t, p.volume.RemoveAll())
	got := p.doctor(t, "--watch")
	assert.Equal(t, exitFindings, got.status)
	assert.Contains(t, got.stdout, "error PD001")
}

// On a real file system, with notifications, until it is interrupted.
func TestWatchCommand(t *testing.T) {
	p := newPatient(t)
	stdout := &signalled{want: `"event":"rotated"`, seen: make(chan struct{})}
	holds := &signalled{want: `"event":"holds"`, seen: make(chan struct{}), next: stdout}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status := make(chan int, 1)
	go func() {
		status <- run([]string{"doctor", "--root", p.Root, "--watch", "-o", "json"}, system{
			stdout: holds, stderr: &bytes.Buffer{},
			interrupt: func() (context.Context, context.CancelFunc) { return ctx, func() {} },
		})
	}()
	<-holds.seen
	token, err := p.issuer.Token(tokenfiletest.Request{Audiences: []string{"openbao"}, Pod: "web-0"})
	require.NoError(t, err)
	require.NoError(t, p.volume.Write(token))
	<-stdout.seen
	cancel()
	assert.Equal(t, exitGood, <-status)
}

// signalled is a writer that tells when a text was written.
type signalled struct {
	want string
	seen chan struct{}
	next *signalled
	done bool
}

func (s *signalled) Write(text []byte) (int, error) {
	if strings.Contains(string(text), s.want) && !s.done {
		s.done = true
		close(s.seen)
	}
	if s.next != nil {
		return s.next.Write(text)
	}
	return len(text), nil
}
