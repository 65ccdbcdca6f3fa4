package tokenfiletest_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSubPathHasALinkCountOfZero(t *testing.T) {
	vol := newVolume(t)
	link := filepath.Join(t.TempDir(), "token")
	links := func() uint64 { return uint64(stat(t, link).Sys().(*syscall.Stat_t).Nlink) }
	require.NoError(t, vol.Write("first"))
	require.NoError(t, vol.SubPath(link))
	assert.EqualValues(t, 1, links())
	require.NoError(t, vol.Write("second"))
	assert.EqualValues(t, 0, links())
}
