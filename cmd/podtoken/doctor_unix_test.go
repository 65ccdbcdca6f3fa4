//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who opens a FIFO to write waits for its reader.
func TestDoctorTerminationMessageThatIsNoFile(t *testing.T) {
	p := newPatient(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	got := p.doctor(t, "--termination-message="+fifo)
	assert.Equal(t, exitUnreadable, got.status)
	assert.Contains(t, got.stderr, "is no file")
	got = p.doctor(t, "--termination-message="+filepath.Dir(fifo))
	assert.Equal(t, exitUnreadable, got.status)
	assert.Contains(t, got.stderr, "is a directory")
}
