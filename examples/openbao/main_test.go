package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The command as it is, over a socket and with file notifications, as far as
// the first read.
func TestInterruptedPlayHasASummary(t *testing.T) {
	noServer(t)
	code, stdout, stderr := runUntil(t, "read version 1")
	assert.Zero(t, code, stderr)
	assert.Contains(t, stdout, "readiness is told at http://127.0.0.1:")
	assert.Regexp(t, `reads +[12], of which 0 failed`, stdout)
	assert.Equal(t, 1, counted(t, stdout)["logins"])
}

func TestAgainstAServer(t *testing.T) {
	for name, inEnvironment := range map[string]bool{"by flag": false, "by environment": true} {
		t.Run(name, func(t *testing.T) {
			noServer(t)
			s := newTestStage(t)
			url, stop := s.server.Start()
			defer stop()
			args := []string{"-token-file", s.kubelet.Volume.Path(), "-ready", ""}
			if inEnvironment {
				t.Setenv("BAO_ADDR", url)
			} else {
				args = append(args, "-address", url)
			}
			code, stdout, stderr := runUntil(t, "read version 1", args...)
			require.Zero(t, code, stderr)
			n := counted(t, stdout)
			assert.Equal(t, 1, n["reads"])
			assert.Equal(t, 1, n["logins"])
			assert.Zero(t, s.server.Tokens(), "its own token is revoked at the end")
			s.noToken(t, stdout)
		})
	}
}

func TestFailureIsTheExitStatus(t *testing.T) {
	noServer(t)
	s := newTestStage(t)
	url, stop := s.server.Start()
	defer stop()
	for name, test := range map[string]struct {
		args []string
		text string // after which the program is interrupted
		want string
	}{
		"no token file": {
			[]string{"-token-file", filepath.Join(t.TempDir(), "token")}, "never",
			`openbao: baoauth: login as role "web" at auth/kubernetes: tokenfile: `,
		},
		"wrong audience": {
			[]string{"-audience", "vault"}, "never",
			`: token's audience is ["openbao"], want "vault"`,
		},
		"a secret that is not for this pod": {
			[]string{"-secret", "shop"}, "read failed",
			"openbao: 1 of 1 reads failed",
		},
		"a place for readiness that is none": {
			[]string{"-ready", "127.0.0.1:none"}, "never",
			"openbao: -ready: listen tcp",
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"-address", url, "-ready", "", "-token-file", s.kubelet.Volume.Path()}, test.args...)
			code, _, stderr := runUntil(t, test.text, args...)
			assert.Equal(t, 1, code)
			assert.Contains(t, stderr, test.want)
		})
	}
}

func TestServerIsEmbeddedWithoutAnAddress(t *testing.T) {
	for name, test := range map[string]struct {
		variable string
		flag     string
		want     bool
	}{
		"neither":        {"", "", true},
		"-address":       {"", "http://openbao:8200", false},
		"BAO_ADDR":       {"BAO_ADDR", "", false},
		"BAO_AGENT_ADDR": {"BAO_AGENT_ADDR", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			noServer(t)
			if test.variable != "" {
				t.Setenv(test.variable, "http://openbao:8200")
			}
			assert.Equal(t, test.want, options{address: test.flag}.embedded())
		})
	}
}

func TestWrongFlags(t *testing.T) {
	noServer(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":               {[]string{"-speed", "2"}, "flag provided but not defined: -speed"},
		"argument":                   {[]string{"fast"}, `unexpected argument "fast"`},
		"no pause between reads":     {[]string{"-address", "http://openbao:8200", "-every", "0s"}, "-every 0s: want more than nothing"},
		"a role and nowhere to ask":  {[]string{"-role", "web"}, "-role is for a real server: set -address or BAO_ADDR"},
		"a token file for the stage": {[]string{"-token-file", "token"}, "-token-file is for a real server"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runUntil(t, "never", test.args...)
			assert.Equal(t, 2, code)
			assert.Contains(t, stderr, test.want)
			assert.Equal(t, 2, strings.Count(stderr, "\n"), "the message and a hint")
			assert.Empty(t, stdout)
		})
	}
}

func TestHelpNamesTheFlags(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	for _, name := range []string{"-address", "-role", "-mount", "-token-file", "-audience"} {
		assert.Contains(t, stderr.String(), name)
	}
}
