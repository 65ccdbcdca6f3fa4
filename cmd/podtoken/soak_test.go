package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/baoauth/baoauthtest"
	"github.com/podtoken/podtoken/cmd/podtoken/container"
	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// soakBed is a volume whose token lives for three seconds, and a server.
type soakBed struct {
	server *baoauthtest.Server
	volume *tokenfiletest.Volume
	args   []string
}

func newSoakBed(t *testing.T) *soakBed {
	t.Helper()
	issuer := &tokenfiletest.Issuer{AllowShort: true}
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	b := &soakBed{server: baoauthtest.New(issuer), volume: volume}
	b.server.Enable("kubernetes", baoauthtest.Mount{Type: "jwt"})
	b.server.SetRole("kubernetes", "web", baoauthtest.Role{BoundAudiences: []string{"openbao"}})
	url, stop := b.server.Start()
	t.Cleanup(stop)
	t.Setenv("BAO_ADDR", url)
	kubelet := &tokenfiletest.Kubelet{Issuer: issuer, Volume: volume, Request: tokenfiletest.Request{
		Audiences: []string{"openbao"}, Lifetime: 3 * time.Second, Namespace: "shop", ServiceAccount: "web", Pod: "web-0",
	}}
	require.NoError(t, kubelet.Rotate())
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	running.Go(func() { _ = kubelet.Run(t.Context()) })
	b.args = []string{
		"soak", "--vault-role", "web", "--audience", "openbao", "--token", volume.Path(),
		"--expiration-seconds", "3", "--every", "100ms", "--no-cluster",
	}
	return b
}

func (b *soakBed) run(sys system, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	sys.stdout, sys.stderr = &out, &err
	status = run(append(b.args, args...), sys)
	return status, out.String(), err.String()
}

func TestSoakOfAHealthyPod(t *testing.T) {
	b := newSoakBed(t)
	picture := filepath.Join(t.TempDir(), "soak.svg")
	status, stdout, stderr := b.run(system{}, "--svg", picture)
	assert.Equal(t, exitGood, status, stdout+stderr)
	assert.Contains(t, stdout, "\npassed: 8 of 9 points held, 1 not seen\n")
	assert.Contains(t, stdout, "kubectl -n shop delete pod web-0")
	assert.Contains(t, stdout, `.request.path == "auth/kubernetes/login"`)
	assert.NotContains(t, stdout+stderr, "\x1b")
	assert.Equal(t, 2, strings.Count(stderr, " rotation 1: ")+strings.Count(stderr, " rotation 2: "))
	svg, err := os.ReadFile(picture)
	require.NoError(t, err)
	assert.Contains(t, string(svg), "rotates the token: passed")
	files, err := os.ReadDir(filepath.Dir(picture))
	require.NoError(t, err)
	assert.Len(t, files, 1, "nothing temporary is left")
}

func TestSoakForAPersonAtATerminal(t *testing.T) {
	b := newSoakBed(t)
	status, stdout, stderr := b.run(system{colours: true, progress: true}, "--for", "2500ms")
	assert.Equal(t, exitFindings, status, "there was no time for two rotations")
	assert.Contains(t, stdout, "\x1b[33mnot shown yet\x1b[0m  at least two rotations")
	assert.Contains(t, stdout, "\x1b[32mheld         \x1b[0m  no login was rejected")
	assert.Contains(t, stderr, " rotations, ")
	assert.Contains(t, stderr, "next rotation")
	assert.Contains(t, stderr, "█")
}

func TestSoakThatIsInterrupted(t *testing.T) {
	b := newSoakBed(t)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	var once sync.Once
	sys := system{interrupt: func() (context.Context, context.CancelFunc) {
		return ctx, func() { once.Do(func() { close(stopped) }) }
	}}
	cancel()
	sys.stdout, sys.stderr = io.Discard, io.Discard
	b.args = append(b.args, "-o", "json")
	// Interrupted before the first token was read it cannot begin; after that
	// it has a verdict.
	assert.Contains(t, []int{exitFindings, exitUnreadable}, run(b.args, sys))
	<-stopped // the next signal kills
}

func TestSoakAsJSON(t *testing.T) {
	b := newSoakBed(t)
	b.server.DeleteRole("kubernetes", "web")
	status, stdout, _ := b.run(system{}, "-o", "json")
	assert.Equal(t, exitFindings, status)
	var printed struct {
		Passed bool
		Ending soak.Ending
		Points []soak.Point
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &printed))
	assert.False(t, printed.Passed)
	assert.Equal(t, soak.FirstRejected, printed.Ending)
	assert.Len(t, printed.Points, 9)
}

func TestSoakThatCannotBegin(t *testing.T) {
	b := newSoakBed(t)
	folder := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		text string
	}{
		"no relying party":          {[]string{"soak"}, "name one relying party"},
		"two relying parties":       {append(b.args, "--url", "https://payments.example"), "name one relying party"},
		"no audience":               {[]string{"soak", "--vault-role", "web"}, "--audience"},
		"one rotation":              {append(b.args, "--rotations", "1"), "at least two"},
		"a negative time":           {append(b.args, "--for=-1s"), "negative"},
		"a lifetime of centuries":   {append(b.args, "--expiration-seconds", "9223372037"), "4294967296 at most"},
		"a negative lifetime":       {append(b.args, "--expiration-seconds=-1"), "negative"},
		"another audience":          {append(b.args, "--audience", "payments"), `want "payments"`},
		"no file":                   {append(b.args, "--token", "/no/such/token"), "no such file"},
		"no token for the audience": {[]string{"soak", "--url", "https://payments.example", "--audience", "payments"}, `no token for audience "payments" is mounted here`},
		"clear text":                {append(b.args, "--vault-role", "", "--url", "http://payments.example"), "not https"},
		"no AWS identity":           {[]string{"soak", "--aws", "pod-identity"}, "was not injected"},
		"an unknown mechanism":      {[]string{"soak", "--aws", "keys"}, "--aws"},
		"AWS and a file":            {[]string{"soak", "--aws", "any", "--token", "/token"}, "--token is not for --aws"},
		"no folder for the picture": {append(b.args, "--svg", "/no/such/folder/soak.svg"), "no such file or directory"},
		"a folder for the picture":  {append(b.args, "--svg", folder), "is no regular file"},
		"a mount that is no path":   {append(b.args, "--vault-mount", "a?b"), "Method.Mount"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, exitUnreadable, run(c.args, system{stdout: &stdout, stderr: &stderr}))
			assert.Contains(t, stderr.String(), c.text)
			assert.Empty(t, stdout.String())
		})
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestSoakWithoutAServer(t *testing.T) {
	b := newSoakBed(t)
	t.Setenv("BAO_ADDR", "")
	t.Setenv("VAULT_ADDR", "")
	status, _, stderr := b.run(system{})
	assert.Equal(t, exitUnreadable, status)
	assert.Contains(t, stderr, "set BAO_ADDR for OpenBao or VAULT_ADDR for Vault")
}

func TestSoakHelp(t *testing.T) {
	got := podtoken("", "soak", "--help")
	assert.Zero(t, got.status)
	for _, text := range []string{"Exit status: 0 if every point", "whichever comes first", "at least two", "(30s)"} {
		assert.Contains(t, got.stdout, text)
	}
}

func TestStatusLine(t *testing.T) {
	now := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	assert.Equal(t, "1/2 rotations, 340 logins, 2 rejected, 1 unreachable, next rotation in 12m0s", describeStatus(soak.Status{
		Now: now, Next: now.Add(12 * time.Minute), Rotations: 1, Wanted: 2,
		Logins: map[party.Outcome]int{party.Accepted: 340, party.Refused: 2, party.NoAnswer: 1},
	}))
	assert.Equal(t, "0 rotations, 0 logins, next rotation is due", describeStatus(soak.Status{Now: now, Next: now}))
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestSoakWithoutAPlaceForItsVerdict(t *testing.T) {
	b := newSoakBed(t)
	b.server.DeleteRole("kubernetes", "web") // ends at once
	picture := filepath.Join(t.TempDir(), "soak.svg")
	var stderr bytes.Buffer
	status := run(append(b.args, "--svg", picture), system{stdout: full{}, stderr: &stderr})
	assert.Equal(t, exitUnreadable, status)
	assert.Contains(t, stderr.String(), "failed         no login was rejected since the start", "the verdict is not lost")
	assert.Contains(t, stderr.String(), "no space left on device")
	assert.FileExists(t, picture)
}

func TestSoakFindsATokenThatItCannotUse(t *testing.T) {
	b := newSoakBed(t)
	mounts := []container.Mount{{Path: b.volume.Path()}}
	c := &soakCommand{Audience: "openbao"}
	path, err := c.token(t.Context(), mounts)
	require.NoError(t, err)
	assert.Equal(t, b.volume.Path(), path)

	torn := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(torn, []byte("torn"), 0o600))
	_, err = c.token(t.Context(), []container.Mount{{Path: torn}})
	require.ErrorIs(t, err, tokenfile.ErrMalformed)
	assert.Contains(t, err.Error(), torn)
}

func TestStatusLineOnANarrowTerminal(t *testing.T) {
	const text = "1/2 rotations, 340 logins, 2 rejected, 1 unreachable, next rotation in 12m0s"
	assert.Equal(t, text, fitting(text, 120))
	assert.Equal(t, "1/2 rotations, 340 logins, 2 rejected, 1 unreachable", fitting(text, 80))
	assert.Empty(t, fitting(text, 20))
}
