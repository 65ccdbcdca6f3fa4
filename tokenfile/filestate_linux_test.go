package tokenfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const frozenWarning = "token will not be rotated: the file is mounted by itself (subPath)"

// kubernetes/kubernetes#50345, #61076: a file that is mounted by subPath keeps
// its token for ever, and is removed under its reader.
func TestSubPathIsToldAtTheFirstSign(t *testing.T) {
	// setup mounts a token by subPath in the volume's place.
	setup := func(t *testing.T) (vol *tokenfiletest.Volume, s *tokenfile.Source, log *journal, raw string) {
		raw = issue(t, tokenfiletest.Request{})
		vol = mount(t, raw)
		link := filepath.Join(t.TempDir(), "bound")
		require.NoError(t, vol.SubPath(link))
		s, log = newSource(link), new(journal)
		s.Logger = log.logger()
		return vol, s, log, raw
	}
	rotate := func(t *testing.T, vol *tokenfiletest.Volume) {
		require.NoError(t, vol.Write(issue(t, tokenfiletest.Request{})))
	}
	inBubble(t, "rotated before the first read", func(t *testing.T) {
		vol, s, log, raw := setup(t)
		rotate(t, vol)
		good(t, s, raw)
		assert.EqualValues(t, 2, s.Stats().Reads, "once more, for the kubelet's swap looks the same")
		assert.True(t, s.Stats().SubPath)
		assert.Equal(t, 1, log.count(frozenWarning))
		assert.Equal(t, 1, log.count("without subPath; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#token-mounted-by-subpath"))
		noSecret(t, log.written(), raw)
	})
	inBubble(t, "rotated while it is read", func(t *testing.T) {
		vol, s, log, raw := setup(t)
		good(t, s, raw)
		assert.False(t, s.Stats().SubPath, "nothing shows yet: the kit's link is no mount")
		rotate(t, vol)
		time.Sleep(2 * time.Second)
		for range 5 {
			good(t, s, raw)
			time.Sleep(2 * time.Second)
		}
		assert.True(t, s.Stats().SubPath)
		assert.Equal(t, 1, log.count(frozenWarning), "said once")
		assert.Zero(t, s.Stats().Failures.Total())
	})
	inBubble(t, "rotated while it is read by a schedule", func(t *testing.T) {
		vol, s, log, raw := setup(t)
		s.MaxAge = time.Minute
		good(t, s, raw)
		rotate(t, vol)
		time.Sleep(2 * time.Minute)
		good(t, s, raw)
		assert.True(t, s.Stats().SubPath)
		assert.Equal(t, 1, log.count(frozenWarning))
	})
	for name, rotated := range map[string]bool{"rotated and then left to expire": true, "expired before its first read": false} {
		inBubble(t, name, func(t *testing.T) {
			vol, s, log, raw := setup(t)
			if rotated {
				good(t, s, raw)
			}
			rotate(t, vol)
			time.Sleep(61 * time.Minute)
			err := refused(t, s, []string{raw}, "token expired 1m0s ago", "subPath", "mount the volume's directory")
			asType[*tokenfile.ExpiredError](t, err)
			assert.Equal(t, "token-mounted-by-subpath", sectionOf(t, err.Error()))
			assert.NotContains(t, err.Error(), "look for failing TokenRequests", "the kubelet is not to blame")
			assert.Equal(t, 1, log.count(frozenWarning))
		})
	}
	inBubble(t, "mended by mounting the directory", func(t *testing.T) {
		vol, s, _, raw := setup(t)
		rotate(t, vol)
		good(t, s, raw)
		assert.True(t, s.Stats().SubPath)
		require.NoError(t, os.Remove(s.Path))
		require.NoError(t, os.Symlink(vol.Path(), s.Path))
		time.Sleep(2 * time.Second)
		_, err := s.Token(t.Context())
		require.NoError(t, err)
		assert.False(t, s.Stats().SubPath)
	})
}

func init() { children["bind mount"] = readBindMount }

// readBindMount does what the kubelet and the runtime do for a subPath, in a
// mount namespace of its own.
func readBindMount(r *childReport, c childTask) error {
	var log journal
	defer func() { r.Log = log.written() }()
	vol, err := tokenfiletest.NewVolume(filepath.Dir(c.Path))
	if err != nil {
		return err
	}
	bind := func(name string) (string, error) {
		target := filepath.Join(filepath.Dir(filepath.Dir(c.Path)), name)
		if err := os.WriteFile(target, nil, 0o600); err != nil {
			return "", err
		}
		file, err := filepath.EvalSymlinks(c.Path)
		if err != nil {
			return "", err
		}
		return target, unix.Mount(file, target, "", unix.MS_BIND, "")
	}
	target, err := bind("bound")
	if err != nil {
		return err
	}
	s := newSource(target)
	s.Logger = log.logger()
	direct := newSource(c.Path)
	r.read(s)
	r.read(s)
	r.read(direct)
	if err := vol.Write(c.Next); err != nil {
		return err
	}
	r.read(s)
	r.read(direct)
	if err := vol.Write(c.Dead); err != nil {
		return err
	}
	if target, err = bind("dead"); err != nil {
		return err
	}
	r.read(newSource(target))
	return nil
}

// The same with a mount, which shows as one at the very first read.
func TestBindMountOfTheFile(t *testing.T) {
	raw, next := sign(t), sign(t)
	dead := sign(t, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()})
	dir := shortDir(t)
	vol, err := tokenfiletest.NewVolume(filepath.Join(dir, "tokens"))
	require.NoError(t, err)
	require.NoError(t, vol.Write(raw))
	report, err := runChild(t, &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS},
		childTask{Part: "bind mount", Path: vol.Path(), Next: next, Dead: dead})
	if err != nil && strings.Contains(err.Error(), "not permitted") {
		t.Skipf("SKIPPED, LOUDLY: a real bind mount needs root with CAP_SYS_ADMIN: %v", err)
	}
	require.NoError(t, err)
	require.Len(t, report.Reads, 6)
	first, again, direct := report.Reads[0], report.Reads[1], report.Reads[2]
	after, directAfter, expired := report.Reads[3], report.Reads[4], report.Reads[5]

	assert.True(t, first.Raw == raw, first.Text)
	assert.True(t, first.Frozen, "told at the first read, before any rotation")
	assert.True(t, again.Frozen, "and it stays so, though a directory still leads to the file")
	assert.True(t, after.Raw == raw, "the mount keeps its token")
	assert.True(t, after.Frozen)
	assert.Equal(t, 1, strings.Count(report.Log, frozenWarning), report.Log)
	noSecret(t, report.Log, raw, next)

	assert.True(t, direct.Raw == raw)
	assert.True(t, directAfter.Raw == next, "the directory's is rotated")
	assert.False(t, direct.Frozen)
	assert.False(t, directAfter.Frozen)

	assert.True(t, expired.IsError)
	assert.Contains(t, expired.Text, "token expired")
	assert.Contains(t, expired.Text, "subPath")
	noSecret(t, expired.Text, dead)
}
