//go:build linux

package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// builtCommand is podtoken, as it is in an image.
var builtCommand = sync.OnceValues(func() (string, error) {
	dir, err := folder("podtoken")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "podtoken")
	build := exec.Command("go", "build", "-o", name, ".")
	build.Dir = "../../../cmd/podtoken"
	build.Env = append(os.Environ(), "GOWORK=", "CGO_ENABLED=0") // with the versions that the gate tests
	if output, err := build.CombinedOutput(); err != nil {
		return "", errors.New(string(output))
	}
	return name, nil
})

// soaked is how a podtoken soak ended.
type soaked struct {
	status  int
	verdict struct {
		Passed bool
		Ending string
		Logins map[string]int
		Points []struct{ Name, State, Evidence string }
	}
	output string
}

func (s *soaked) states() map[string]string {
	states := map[string]string{}
	for _, p := range s.verdict.Points {
		states[p.Name] = p.State
	}
	return states
}

// soak runs the command against the real server.
func (p *pod) soak(t *testing.T, ctx context.Context, role string, args ...string) *soaked {
	t.Helper()
	name, err := builtCommand()
	require.NoError(t, err)
	command := exec.CommandContext(ctx, name, append([]string{
		"soak", "--vault-role", role, "--vault-mount", p.mounts[byReview], "--token", p.volume.Path(), "--audience", openbao,
		"--expiration-seconds", "10", "--every", "200ms", "--no-cluster", "-o", "json",
	}, args...)...)
	command.Env = []string{"VAULT_ADDR=" + p.server.url}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run() // the status says more
	s := &soaked{status: command.ProcessState.ExitCode(), output: stdout.String() + stderr.String()}
	p.secrets.requireAbsent(t, s.output)
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &s.verdict), stderr.String())
	return s
}

// keepShort replaces the token at four fifths of ten seconds, until the test
// ends.
func (p *pod) keepShort(t *testing.T) {
	t.Helper()
	const lifetime = 10 * time.Second
	rotate := func() error {
		token, err := p.short(t.Context(), lifetime)
		if err == nil {
			p.write(t, token)
		}
		return err
	}
	require.NoError(t, rotate())
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	running.Go(func() {
		for sleep(t.Context(), lifetime*4/5) {
			if err := rotate(); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}
	})
}

func TestPodtokenSoak(t *testing.T) {
	p := newPod(t, vaultauthtest.Role{TokenTTL: time.Hour})
	p.keepShort(t)
	t.Run("two rotations at a healthy server", func(t *testing.T) {
		picture := filepath.Join(t.TempDir(), "soak.svg")
		s := p.soak(t, t.Context(), "app", "--svg", picture)
		assert.Zero(t, s.status, s.output)
		assert.True(t, s.verdict.Passed)
		assert.Equal(t, "rotations", s.verdict.Ending)
		assert.Greater(t, s.verdict.Logins["accepted"], 30)
		assert.Len(t, s.verdict.Logins, 1, "nothing else")
		for name, state := range s.states() {
			if name == "secrets" {
				assert.Equal(t, "not seen", state)
				continue
			}
			assert.Equal(t, "held", state, name)
		}
		svg, err := os.ReadFile(picture)
		require.NoError(t, err)
		assert.Contains(t, string(svg), "rotates the token: passed")
	})
	t.Run("a role that refuses", func(t *testing.T) {
		other := hour
		other.BoundAudiences = []string{"vault"}
		p.setRole(t, byReview, "other", other)
		s := p.soak(t, t.Context(), "other")
		assert.Equal(t, 1, s.status)
		assert.Equal(t, "the first login was rejected", s.verdict.Ending)
		assert.Equal(t, "failed", s.states()["rejections"])
		assert.Equal(t, "held", s.states()["reachable"])
	})
	t.Run("ended by a signal", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		s := p.soak(t, ctx, "app")
		assert.Equal(t, 1, s.status)
		assert.Equal(t, "interrupted", s.verdict.Ending)
		assert.Equal(t, "not shown yet", s.states()["rotations"])
		assert.Equal(t, "held", s.states()["rejections"])
	})
}
