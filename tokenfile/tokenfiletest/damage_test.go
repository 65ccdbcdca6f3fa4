package tokenfiletest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info
}

func TestWriteInPlace(t *testing.T) {
	vol := newVolume(t)
	require.NoError(t, vol.Write("a long token"))
	before := stat(t, vol.Path())
	require.NoError(t, vol.WriteInPlace([]byte("short")))
	assert.Equal(t, "short", read(t, vol.Path()))
	assert.True(t, os.SameFile(before, stat(t, vol.Path())))
	assert.Equal(t, kubeletTree(), tree(t, vol.Dir()))
}

func TestWriteTorn(t *testing.T) {
	data := []byte("header.claims.signature")
	for n := range len(data) + 1 {
		vol := newVolume(t)
		require.NoError(t, vol.Write("first"))
		finish, err := vol.WriteTorn(data, n)
		require.NoError(t, err)
		assert.Equal(t, string(data[:n]), read(t, vol.Path()))
		require.NoError(t, finish())
		assert.Equal(t, string(data), read(t, vol.Path()))
		require.NoError(t, finish(), "once more")
		assert.Equal(t, string(data), read(t, vol.Path()))
	}

	t.Run("finished after a rotation", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, vol.Write("first"))
		finish, err := vol.WriteTorn(data, 3)
		require.NoError(t, err)
		require.NoError(t, vol.Write("second"))
		require.NoError(t, finish())
		assert.Equal(t, "second", read(t, vol.Path()))
	})
	t.Run("never finished", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, vol.Write("first"))
		finish, err := vol.WriteTorn(data, 3)
		require.NoError(t, err)
		defer finish()
		require.NoError(t, vol.Write("first"))
		assert.Equal(t, "first", read(t, vol.Path()), "Write mends it, though it wrote the same before")
	})
	t.Run("data changed by the caller meanwhile", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, vol.Write("first"))
		mine := []byte("abcdef")
		finish, err := vol.WriteTorn(mine, 3)
		require.NoError(t, err)
		clear(mine)
		require.NoError(t, finish())
		assert.Equal(t, "abcdef", read(t, vol.Path()))
	})
	t.Run("stop outside the data", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, vol.Write("first"))
		for _, n := range []int{-1, len(data) + 1} {
			_, err := vol.WriteTorn(data, n)
			assert.ErrorContains(t, err, "cannot stop")
		}
		assert.Equal(t, "first", read(t, vol.Path()))
	})
}

func TestWriteUnseen(t *testing.T) {
	vol := newVolume(t)
	require.NoError(t, vol.Write("first!"))
	before := stat(t, vol.Path())
	require.NoError(t, vol.WriteUnseen([]byte("second")))
	after := stat(t, vol.Path())
	assert.Equal(t, "second", read(t, vol.Path()))
	assert.True(t, os.SameFile(before, after))
	assert.Equal(t, before.Size(), after.Size())
	assert.Equal(t, before.ModTime(), after.ModTime())

	require.ErrorContains(t, vol.WriteUnseen([]byte("3rd")), "would be seen")
	assert.Equal(t, "second", read(t, vol.Path()))
}

func TestChmodLastsUntilTheNextRotation(t *testing.T) {
	vol := newVolume(t)
	require.NoError(t, vol.Write("first"))
	require.NoError(t, vol.Chmod(0o400))
	assert.Contains(t, tree(t, vol.Dir()), "-r-------- ..TIMESTAMP/token")
	require.NoError(t, vol.Write("second"))
	assert.Equal(t, kubeletTree(), tree(t, vol.Dir()))
}

func TestTokenGoesAndReturns(t *testing.T) {
	tests := []struct {
		name string
		harm func(*tokenfiletest.Volume) error
		left []string
	}{
		{"token removed", (*tokenfiletest.Volume).Remove, nil},
		{"..data leads nowhere", (*tokenfiletest.Volume).Dangle, []string{"..data -> ..TIMESTAMP", "token -> ..data/token"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			vol := newVolume(t)
			require.NoError(t, vol.Write("first"))
			require.NoError(t, tt.harm(vol))
			_, err := os.ReadFile(vol.Path())
			require.ErrorIs(t, err, fs.ErrNotExist)
			assert.Equal(t, tt.left, tree(t, vol.Dir()))
			require.NoError(t, vol.Write("first"))
			assert.Equal(t, "first", read(t, vol.Path()))
			assert.Equal(t, kubeletTree(), tree(t, vol.Dir()))
		})
	}
	t.Run("directory removed", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, vol.Write("first"))
		require.NoError(t, vol.RemoveAll())
		assert.NoDirExists(t, vol.Dir())
		require.NoError(t, vol.Write("first"))
		assert.Equal(t, kubeletTree(), tree(t, vol.Dir()))
	})
}

func TestNothingToDamage(t *testing.T) {
	tests := []struct {
		name string
		harm func(*tokenfiletest.Volume) error
	}{
		{"WriteInPlace", func(v *tokenfiletest.Volume) error { return v.WriteInPlace(nil) }},
		{"WriteTorn", func(v *tokenfiletest.Volume) error { _, err := v.WriteTorn(nil, 0); return err }},
		{"WriteUnseen", func(v *tokenfiletest.Volume) error { return v.WriteUnseen(nil) }},
		{"Chmod", func(v *tokenfiletest.Volume) error { return v.Chmod(0o600) }},
		{"Dangle", (*tokenfiletest.Volume).Dangle},
		{"Remove", (*tokenfiletest.Volume).Remove},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			vol := newVolume(t)
			assert.ErrorIs(t, tt.harm(vol), fs.ErrNotExist)
			assert.Empty(t, tree(t, vol.Dir()))
		})
	}
}

func TestSubPathKeepsTheOldToken(t *testing.T) {
	vol := newVolume(t)
	link := filepath.Join(t.TempDir(), "token")
	if runtime.GOOS != "linux" {
		require.ErrorIs(t, vol.SubPath(link), errors.ErrUnsupported)
		return
	}
	require.ErrorIs(t, vol.SubPath(link), fs.ErrNotExist, "nothing is mounted yet")

	require.NoError(t, vol.Write("first"))
	require.NoError(t, vol.SubPath(link))
	assert.True(t, os.SameFile(stat(t, vol.Path()), stat(t, link)))
	require.ErrorIs(t, vol.SubPath(link), fs.ErrExist)

	require.NoError(t, vol.Write("second"))
	require.NoError(t, vol.Write("third"))
	assert.Equal(t, "third", read(t, vol.Path()))
	assert.Equal(t, "first", read(t, link))
	assert.Equal(t, "first", read(t, link), "from the start again")

	gone := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, vol.SubPath(gone))
	require.NoError(t, os.Remove(gone))
	require.NoError(t, vol.Close(), "though one link is gone")
	_, err := os.Lstat(link)
	require.ErrorIs(t, err, fs.ErrNotExist, "or it would lead to another file some day")
	require.NoError(t, vol.Close(), "once more")
	require.NoError(t, vol.Write("fourth"))
	assert.Equal(t, "fourth", read(t, vol.Path()))
}
