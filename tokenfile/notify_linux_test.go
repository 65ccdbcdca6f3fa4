package tokenfile_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fsnotify/fsnotify#287, kubernetes/kubernetes#46230: the process or the node
// is out of inotify instances.
func TestWatchPollsAndSaysSoOnceWhereNotificationsAreExhausted(t *testing.T) {
	t.Parallel() // it waits in real time for a loop that polls
	if os.Getenv(fewInotifyVar) == "" {
		withFewInotify(t)
		return
	}
	require.NoError(t, os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("1"), 0))
	taken, err := fsnotify.NewWatcher()
	require.NoError(t, err)
	_, err = fsnotify.NewWatcher()
	require.ErrorIs(t, err, syscall.EMFILE)

	p := newPod(t, time.Hour)
	var log journal
	s := p.notified()
	s.Logger = log.logger()
	next := follow(t, s)
	nextToken(t, next)
	assert.True(t, s.Stats().Polling)
	assert.Equal(t, 1, log.count("fs.inotify.max_user_instances"))

	p.rotate()
	nextToken(t, next) // within five seconds
	assert.Equal(t, 1, log.count("no file notifications"), "said once")
	assert.Equal(t, 1, log.count("runbook.md#no-file-notifications"))

	require.NoError(t, taken.Close())
	p.rotate()
	nextToken(t, next)
	assert.False(t, s.Stats().Polling)
	assert.Equal(t, 1, log.count("file notifications work again"))

	other := follow(t, s) // for which there is no instance left
	nextToken(t, other)
	for range 2 {
		p.rotate()
		nextToken(t, next)
		nextToken(t, other)
	}
	assert.True(t, s.Stats().Polling)
	assert.Equal(t, 2, log.count("no file notifications"), "two loops do not take turns in saying so")
	assert.Equal(t, 1, log.count("file notifications work again"))
}

const fewInotifyVar = "PODTOKEN_TEST_FEW_INOTIFY"

// withFewInotify runs the test that calls it once more, in a user namespace,
// whose limits can be lowered without a word to anybody else on the machine.
func withFewInotify(t *testing.T) {
	child := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), fewInotifyVar+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Skipf("SKIPPED: this machine makes no user namespaces: %v", err)
	}
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
}

// golang/go#16392: a full queue loses events.
func TestWatchSeesWhatAnOverflownQueueLost(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.notified()
	next := follow(t, s)
	first := nextToken(t, next)
	// The loop is not read from here on, as when its body is busy.
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	require.NoError(t, err)
	require.Less(t, len(strings.TrimSpace(string(limit))), 7, "a queue that a test can fill")
	for i := range 15_000 {
		name := filepath.Join(p.volume.Dir(), []string{"a", "b"}[i%2])
		f, err := os.Create(name)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, os.Remove(name))
	}
	p.rotate() // unnoticed: the queue is full
	assert.NotEqual(t, first, nextToken(t, next))
	p.rotate()
	nextToken(t, next)
}

func TestWatchLeavesNoGoroutineAndNoDescriptorBehind(t *testing.T) {
	p := newPod(t, time.Hour)
	s := p.notified()
	round := func() {
		for range s.Watch(t.Context()) {
			break
		}
	}
	round()
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	for range 50 {
		round()
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	assert.LessOrEqual(t, openDescriptors(t), descriptors)
}

func openDescriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// fsnotify/fsnotify#306: no events come from a network file system. 9P stands
// for them here where the test may mount; the look at intervals is the same.
func TestWatchPollsOnAFileSystemThatDoesNotAnnounceChanges(t *testing.T) {
	t.Parallel() // it waits in real time for a loop that polls
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting FUSE needs root")
	}
	if _, err := exec.LookPath("bindfs"); err != nil {
		t.Skip("SKIPPED: needs bindfs to mount a FUSE file system")
	}
	p := newPod(t, time.Hour)
	mount := t.TempDir()
	if out, err := exec.Command("bindfs", p.volume.Dir(), mount).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: this machine does not mount FUSE: %s", out)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(mount, syscall.MNT_DETACH)) })
	var log journal
	s := p.notified()
	s.Path, s.Logger = filepath.Join(mount, "token"), log.logger()
	next := follow(t, s)
	nextToken(t, next)
	assert.Equal(t, 1, log.count("FUSE"))
	p.rotate()
	nextToken(t, next)
}
