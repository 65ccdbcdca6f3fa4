package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWrongFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":           {[]string{"-speed", "2"}, "flag provided but not defined: -speed"},
		"argument":               {[]string{"fast"}, `unexpected argument "fast"`},
		"no duration":            {[]string{"-lifetime", "5"}, `invalid value "5" for flag -lifetime`},
		"too short a lifetime":   {[]string{"-lifetime", "2s"}, "-lifetime 2s: want whole seconds, from 3s to 1m"},
		"too long a lifetime":    {[]string{"-lifetime", "61s"}, "-lifetime 1m1s: want whole seconds"},
		"lifetime in fractions":  {[]string{"-lifetime", "3500ms"}, "-lifetime 3.5s: want whole seconds"},
		"picture in no place":    {[]string{"-svg", "no/such/place/a.svg"}, "there is no directory no/such/place"},
		"picture below a file":   {[]string{"-svg", "main.go/a.svg"}, "there is no directory main.go"},
		"picture on a directory": {[]string{"-svg", "."}, "-svg .: it is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			assert.Equal(t, 2, run(t.Context(), test.args, &stdout, &stderr))
			assert.Contains(t, stderr.String(), test.want)
			assert.Equal(t, 2, strings.Count(stderr.String(), "\n"), "the message and a hint")
			assert.Empty(t, stdout.String())
		})
	}
}

func TestHelpNamesTheFlags(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Zero(t, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "-lifetime")
	assert.Contains(t, stderr.String(), "-svg")
}

// cancelling ends a context when something is written.
type cancelling struct {
	bytes.Buffer
	cancel func()
}

func (w *cancelling) Write(b []byte) (int, error) {
	w.cancel()
	return w.Buffer.Write(b)
}

func TestInterruptShowsTheTableSoFar(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	stdout := &cancelling{cancel: cancel}
	picture := filepath.Join(t.TempDir(), "incident.svg")
	var stderr bytes.Buffer
	assert.Equal(t, 1, run(ctx, []string{"-svg", picture}, stdout, &stderr))
	assert.Contains(t, stderr.String(), "interrupted")
	assert.Regexp(t, `the default token +0 +\d+ +0 of 0 +at t=\d+\.\ds: audience`, stdout.String())
	assert.NoFileExists(t, picture)
}

func TestInterruptBeforeTheFirstLogin(t *testing.T) {
	var stdout, stderr bytes.Buffer
	assert.Equal(t, 1, run(ended(t), []string{"-svg", ""}, &stdout, &stderr))
	assert.Contains(t, stderr.String(), "interrupted")
}

func TestReportFailsWhereThePictureCannotBeWritten(t *testing.T) {
	err := report(t.Context(), sample(), filepath.Join(t.TempDir(), "gone", "a.svg"), &bytes.Buffer{})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestReportTellsOfAFailedDemonstration(t *testing.T) {
	seen := sample()
	seen.rotations = nil
	var b bytes.Buffer
	assert.ErrorContains(t, report(t.Context(), seen, "", &b), "never replaced the token")
	assert.NotContains(t, b.String(), "never refused")
}

func TestReportExplainsTheTable(t *testing.T) {
	var b bytes.Buffer
	assert.NoError(t, report(t.Context(), sample(), "", &b))
	assert.Equal(t, `
CLIENT                    ACCEPTED   REJECTED   ROTATIONS SURVIVED   FIRST FAILURE
reads <once> & for ever   50         130        0 of 4               at t=5.0s: token is expired
the default token         0          180        0 of 4               at t=0.0s: wrong audience
podtoken, every call      180        0          4 of 4               none

Reads <once> & for ever: logged in until its token died at t=5.0s, which is 1h00m after the start on a cluster. The kubelet had put a new one in place by then.
The default token: refused from the first login on. It is meant for somebody else, and no rotation mends that.
podtoken: never refused, over 4 rotations. Of the default token it says, before any login:
  this is the default token
`, b.String())
}

// ended returns a context that is over.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
