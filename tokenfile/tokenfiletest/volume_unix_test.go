//go:build unix

package tokenfiletest_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVolumeModesDoNotDependOnTheUmask(t *testing.T) {
	vol := newVolume(t)
	umask := syscall.Umask(0o077)
	defer syscall.Umask(umask)
	require.NoError(t, vol.Write("first"))
	assert.Equal(t, kubeletTree(), tree(t, vol.Dir()))
}
