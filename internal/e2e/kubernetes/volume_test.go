//go:build linux

package kubernetes

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/kubernetes/pkg/volume/util"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A step of a volume's life: what is written, and what it is for.
type step struct{ name, token string }

var steps = []step{
	{"the first token", "token-1"},
	{"another token", "token-2"},
	{"the same token again", "token-2"},
	{"a third one", "token-3"},
	{"a shorter one", "t4"},
}

// The kubelet's own writer and the fake volume are given the same tokens, and
// must leave the same files and cause the same notifications at every step.
func TestTheFakeVolumeIsWrittenLikeTheKubeletsOwn(t *testing.T) {
	for _, mode := range []fs.FileMode{0o644, 0o600, 0o640} {
		t.Run(mode.String(), func(t *testing.T) {
			real := t.TempDir()
			writer, err := util.NewAtomicWriter(real, "e2e")
			require.NoError(t, err)
			fake, err := tokenfiletest.NewVolume(t.TempDir())
			require.NoError(t, err)
			fake.Mode = mode

			realEvents, fakeEvents := watch(t, real), watch(t, fake.Dir())
			for _, s := range steps {
				require.NoError(t, writer.Write(payload(s.token, mode), nil), s.name)
				require.NoError(t, fake.Write(s.token), s.name)
				assert.Equal(t, tree(t, real), tree(t, fake.Dir()), "files after %s", s.name)
				assert.Equal(t, realEvents.next(t), fakeEvents.next(t), "notifications of %s", s.name)
			}
		})
	}
}

// What the fake volume repairs by hand, the kubelet's writer does too: the
// link to the token is made again although the token is in place.
func TestTheFakeVolumeMakesALostLinkAgainLikeTheKubeletsOwn(t *testing.T) {
	// kubernetes/kubernetes#121472
	real := t.TempDir()
	writer, err := util.NewAtomicWriter(real, "e2e")
	require.NoError(t, err)
	fake, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, writer.Write(payload("token", 0o644), nil))
		require.NoError(t, fake.Write("token"))
		assert.Equal(t, tree(t, real), tree(t, fake.Dir()))
		require.NoError(t, os.Remove(filepath.Join(real, "token")))
		require.NoError(t, os.Remove(fake.Path()))
	}
}

// payload is what the kubelet writes for a volume of one token.
func payload(token string, mode fs.FileMode) map[string]util.FileProjection {
	return map[string]util.FileProjection{"token": {Data: []byte(token), Mode: int32(mode)}}
}

// timestamped is the kubelet's name for a directory with one state of the
// volume.
var timestamped = regexp.MustCompile(`\.\.\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d\.\d+`)

// anyTime makes names that differ in their timestamp alike.
func anyTime(path string) string {
	return timestamped.ReplaceAllString(path, "..TIMESTAMP")
}

// tree describes everything in dir: a kind, a mode, a link's target, a file's
// content length.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		entries[anyTime(name)], err = describe(path, d)
		return err
	}))
	return entries
}

func describe(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	switch info.Mode().Type() {
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		return "link to " + anyTime(target), err
	case 0:
		return fmt.Sprintf("file %v of %d bytes", info.Mode(), info.Size()), nil
	}
	return info.Mode().String(), nil
}

// A recorder keeps the notifications of a directory.
type recorder struct {
	dir     string
	watcher *fsnotify.Watcher
}

func watch(t *testing.T, dir string) *recorder {
	t.Helper()
	watcher, err := fsnotify.NewBufferedWatcher(256)
	require.NoError(t, err)
	t.Cleanup(func() { _ = watcher.Close() })
	require.NoError(t, watcher.Add(dir))
	return &recorder{dir, watcher}
}

// next is what was notified since the last call. A file made now marks the
// end, so there is no guess at how long to wait; its name is one of those that
// the kubelet's writer leaves alone.
func (r *recorder) next(t *testing.T) (events []string) {
	t.Helper()
	marker := filepath.Join(r.dir, "..marker")
	require.NoError(t, os.Mkdir(marker, 0o700))
	require.NoError(t, os.Remove(marker))
	deadline := time.After(patience)
	for {
		select {
		case event := <-r.watcher.Events:
			switch {
			case event.Name != marker:
				events = append(events, event.Op.String()+" "+anyTime(filepath.Base(event.Name)))
			case event.Has(fsnotify.Remove):
				return events
			}
		case err := <-r.watcher.Errors:
			require.NoError(t, err)
		case <-deadline:
			require.FailNow(t, "the marker was not notified")
		}
	}
}
