package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/openbao/openbao/api/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newTestStage is made inside the bubble: its clock is not the host's.
func newTestStage(t *testing.T) *stage {
	t.Helper()
	s, err := newStage(t.TempDir())
	require.NoError(t, err)
	return s
}

// config reaches the stage's server without a socket, which a synctest bubble
// cannot have.
func (s *stage) config() *api.Config {
	config := api.NewConfig()
	config.HttpClient = &http.Client{Transport: s.server.Transport()}
	return config
}

// testOptions do without what waits for the kernel.
func (s *stage) testOptions() options {
	o := s.options("")
	o.noNotify = true
	return o
}

// noServer makes an environment that names none.
func noServer(t *testing.T) {
	for _, name := range []string{"ADDR", "AGENT_ADDR", "NAMESPACE", "TOKEN"} {
		t.Setenv("BAO_"+name, "") // hides VAULT_ too
	}
}

// until ends a context when a text has been written.
type until struct {
	text string
	end  func()

	mu      sync.Mutex
	written bytes.Buffer
}

func (w *until) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.written.Write(b)
	if strings.Contains(w.written.String(), w.text) {
		w.end()
	}
	return n, err
}

// runUntil is run, interrupted once that text is printed.
func runUntil(t *testing.T, text string, args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &until{text: text, end: cancel}
	var errors bytes.Buffer
	code = run(ctx, args, out, &errors)
	return code, out.written.String(), errors.String()
}

// noToken checks that no part of a service-account token, all of which begin
// like the one in the volume, is in a text.
func (s *stage) noToken(t *testing.T, text string) {
	t.Helper()
	token, err := os.ReadFile(s.kubelet.Volume.Path())
	require.NoError(t, err)
	assert.NotContains(t, text, string(token[:20]))
	for part := range strings.SplitSeq(string(token), ".") {
		assert.NotContains(t, text, part)
	}
}
