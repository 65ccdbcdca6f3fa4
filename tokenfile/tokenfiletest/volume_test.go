package tokenfiletest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

var timestamped = regexp.MustCompile(`^\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+$`)

// tree lists a directory with modes and links, timestamps made equal.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var lines []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		require.NoError(t, err)
		target, _ := os.Readlink(path)
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		if top, below, _ := strings.Cut(name, "/"); timestamped.MatchString(top) {
			name = filepath.Join("..TIMESTAMP", below)
		}
		if timestamped.MatchString(target) {
			target = "..TIMESTAMP"
		}
		if d.Type() == fs.ModeSymlink {
			lines = append(lines, name+" -> "+target)
		} else {
			lines = append(lines, info.Mode().String()+" "+name)
		}
		return nil
	}))
	return lines
}

func kubeletTree() []string {
	return []string{
		"drwxr-xr-x ..TIMESTAMP",
		"-rw-r--r-- ..TIMESTAMP/token",
		"..data -> ..TIMESTAMP",
		"token -> ..data/token",
	}
}

func TestVolumeHasTheKubeletsTree(t *testing.T) {
	vol := newVolume(t)
	assert.Empty(t, tree(t, vol.Dir()))
	for _, token := range []string{"first", "second", "third"} {
		require.NoError(t, vol.Write(token))
		assert.Equal(t, kubeletTree(), tree(t, vol.Dir()))
		assert.Equal(t, token, read(t, vol.Path()))
	}
}

func TestVolumeFileNameAndMode(t *testing.T) {
	vol := newVolume(t)
	vol.FileName, vol.Mode = "openbao-token", 0o640
	require.NoError(t, vol.Write("first"))
	assert.Equal(t, filepath.Join(vol.Dir(), "openbao-token"), vol.Path())
	assert.Equal(t, []string{
		"drwxr-xr-x ..TIMESTAMP",
		"-rw-r----- ..TIMESTAMP/openbao-token",
		"..data -> ..TIMESTAMP",
		"openbao-token -> ..data/openbao-token",
	}, tree(t, vol.Dir()))
}

func TestVolumePathIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	vol, err := tokenfiletest.NewVolume("tokens")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, vol.Write("first"))
	assert.True(t, filepath.IsAbs(vol.Path()))
	assert.Equal(t, "first", read(t, vol.Path()))
}

func TestWriteOfTheSameTokenWritesNothing(t *testing.T) {
	vol := newVolume(t)
	require.NoError(t, vol.Write("first"))
	before, err := os.Readlink(filepath.Join(vol.Dir(), "..data"))
	require.NoError(t, err)
	require.NoError(t, vol.Write("first"))
	after, err := os.Readlink(filepath.Join(vol.Dir(), "..data"))
	require.NoError(t, err)
	assert.Equal(t, before, after)

	t.Run("in spite of its mode", func(t *testing.T) {
		require.NoError(t, vol.Chmod(0))
		require.NoError(t, vol.Write("first"))
		after, err := os.Readlink(filepath.Join(vol.Dir(), "..data"))
		require.NoError(t, err)
		assert.Equal(t, before, after)
		assert.Contains(t, tree(t, vol.Dir()), "---------- ..TIMESTAMP/token")
	})
	// https://github.com/kubernetes/kubernetes/issues/121472
	t.Run("but a missing link", func(t *testing.T) {
		require.NoError(t, vol.Chmod(0o644))
		require.NoError(t, os.Remove(vol.Path()))
		require.NoError(t, vol.Write("first"))
		assert.Equal(t, kubeletTree(), tree(t, vol.Dir()))
	})
}

func TestRotationMakesTheKubeletsEvents(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the events of inotify are what a real kubelet was seen to make")
	}
	vol := newVolume(t)
	watcher, err := fsnotify.NewWatcher()
	require.NoError(t, err)
	defer watcher.Close()
	require.NoError(t, watcher.Add(vol.Dir()))

	require.NoError(t, vol.Write("first"))
	assert.Equal(t, []string{
		"CREATE ..TIMESTAMP", "CHMOD ..TIMESTAMP",
		"CREATE ..data_tmp", "RENAME ..data_tmp", "CREATE ..data",
		"CREATE token",
	}, events(t, watcher, "CREATE token"))

	require.NoError(t, vol.Write("second"))
	assert.Equal(t, []string{
		"CREATE ..TIMESTAMP", "CHMOD ..TIMESTAMP",
		"CREATE ..data_tmp", "RENAME ..data_tmp", "CREATE ..data",
		"REMOVE ..TIMESTAMP",
	}, events(t, watcher, "REMOVE ..TIMESTAMP"))

	require.NoError(t, vol.Write("second"))
	require.NoError(t, os.WriteFile(filepath.Join(vol.Dir(), "end"), nil, 0o600))
	assert.Equal(t, []string{"CREATE end"}, events(t, watcher, "CREATE end"))
}

// events reads up to and with the last one.
func events(t *testing.T, watcher *fsnotify.Watcher, last string) (seen []string) {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for len(seen) == 0 || seen[len(seen)-1] != last {
		select {
		case event := <-watcher.Events:
			name := filepath.Base(event.Name)
			if timestamped.MatchString(name) {
				name = "..TIMESTAMP"
			}
			seen = append(seen, event.Op.String()+" "+name)
		case <-timeout:
			require.Fail(t, "no more events", "%q", seen)
		}
	}
	return seen
}

// https://github.com/kubernetes/kubernetes/issues/92851
func TestReadersSeeOneTokenOrTheOther(t *testing.T) {
	vol := newVolume(t)
	first, second := strings.Repeat("1", 1000), strings.Repeat("2", 1000)
	require.NoError(t, vol.Write(first))
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				data, err := os.ReadFile(vol.Path())
				if errors.Is(err, fs.ErrNotExist) {
					continue // ..data was followed just before the swap
				}
				if assert.NoError(t, err) {
					assert.Contains(t, []string{first, second}, string(data))
				}
			}
		})
	}
	for range 100 {
		require.NoError(t, vol.Write(second))
		require.NoError(t, vol.Write(first))
	}
	close(done)
	readers.Wait()
}

func TestVolumeIsSafeForConcurrentUse(t *testing.T) {
	vol := newVolume(t)
	var writers sync.WaitGroup
	for _, token := range []string{"one", "two", "three", "four"} {
		writers.Go(func() {
			for range 25 {
				assert.NoError(t, vol.Write(token))
				assert.NoError(t, vol.WriteInPlace([]byte(token)))
				assert.NoError(t, vol.Chmod(0o644))
			}
		})
	}
	writers.Wait()
	require.NoError(t, vol.Write("five"))
	assert.Equal(t, kubeletTree(), tree(t, vol.Dir()), "nothing is left behind")
}

func TestWriteReturnsWhatTheDirectoryRefuses(t *testing.T) {
	t.Run("a file in the directory's place", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, vol.RemoveAll())
		require.NoError(t, os.WriteFile(vol.Dir(), nil, 0o600))
		assert.Error(t, vol.Write("first"))
		_, err := tokenfiletest.NewVolume(vol.Dir())
		assert.Error(t, err)
	})
	t.Run("no link but a directory called ..data", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, os.Mkdir(filepath.Join(vol.Dir(), "..data"), 0o755))
		assert.Error(t, vol.Write("first"))
	})
	t.Run("..data that leads out of the volume", func(t *testing.T) {
		elsewhere := t.TempDir()
		for _, target := range []string{elsewhere, "elsewhere", "..2026/../../elsewhere"} {
			vol := newVolume(t)
			require.NoError(t, os.Symlink(target, filepath.Join(vol.Dir(), "..data")))
			require.ErrorContains(t, vol.Write("first"), "no directory of this volume")
			require.ErrorContains(t, vol.Dangle(), "no directory of this volume")
			require.ErrorContains(t, vol.Remove(), "no directory of this volume")
		}
		assert.DirExists(t, elsewhere)
	})
	t.Run("..data_tmp in the way", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, vol.Write("first"))
		require.NoError(t, os.Mkdir(filepath.Join(vol.Dir(), "..data_tmp"), 0o755))
		require.ErrorIs(t, vol.Write("second"), fs.ErrExist)
		assert.Equal(t, "first", read(t, vol.Path()))
		require.NoError(t, os.Remove(filepath.Join(vol.Dir(), "..data_tmp")))
		assert.Equal(t, kubeletTree(), tree(t, vol.Dir()), "the half-made directory is gone")
	})
	t.Run("a file in the link's place", func(t *testing.T) {
		vol := newVolume(t)
		require.NoError(t, os.WriteFile(vol.Path(), nil, 0o600))
		assert.Error(t, vol.Write("first"))
	})
}
