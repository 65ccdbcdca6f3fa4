//go:build unix

package tokenfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/podtoken/podtoken/tokenfile"
)

// withinSeconds fails if f has not returned after some, so that a read that
// blocks is a failure and not a test that hangs.
func withinSeconds(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the read blocks")
	}
}

// shortDir is a directory whose path fits into a socket's address, and that
// every user may enter.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tf")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func TestFIFO(t *testing.T) {
	raw := sign(t)
	tests := []struct {
		name    string
		written string
		writer  bool
	}{
		{name: "nobody writes"},
		{name: "a writer has it open and writes nothing", writer: true},
		{name: "a token waits in it", writer: true, written: raw},
		{name: "more than a token waits in it", writer: true, written: raw + raw + raw},
	}
	for _, tt := range tests {
		fifo := func(t *testing.T, path string) {
			require.NoError(t, unix.Mkfifo(path, 0o644))
			if tt.writer {
				w, err := os.OpenFile(path, os.O_RDWR, 0)
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, w.Close()) })
				_, err = w.WriteString(tt.written)
				require.NoError(t, err)
			}
		}
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "token")
			fifo(t, path)
			withinSeconds(t, func() {
				err := refused(t, newSource(path), []string{raw}, "it is a FIFO, not a regular file", "projected volume")
				assert.ErrorIs(t, err, fs.ErrInvalid)
			})
		})
		t.Run(tt.name+", in the place of a file that was good", func(t *testing.T) {
			vol := mount(t, raw)
			s := newSource(vol.Path())
			good(t, s, raw)
			require.NoError(t, vol.Remove())
			fifo(t, vol.Path())
			withinSeconds(t, func() {
				assert.ErrorIs(t, refused(t, s, []string{raw}, "a FIFO"), fs.ErrInvalid)
			})
		})
	}
}

func TestSocket(t *testing.T) {
	path := filepath.Join(shortDir(t), "token")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	withinSeconds(t, func() {
		err := refused(t, newSource(path), nil, "it is a socket, not a regular file", "projected volume")
		assert.ErrorIs(t, err, fs.ErrInvalid)
	})
}

func TestDevice(t *testing.T) {
	raw := sign(t)
	for _, device := range []string{"/dev/zero", "/dev/null", "/dev/tty", "/dev/urandom"} {
		if _, err := os.Stat(device); err != nil {
			t.Logf("SKIPPED: this machine has no %s", device)
			continue
		}
		t.Run(device, func(t *testing.T) {
			withinSeconds(t, func() {
				err := refused(t, newSource(device), nil, "it is a device, not a regular file", "projected volume")
				assert.ErrorIs(t, err, fs.ErrInvalid)
			})
		})
		t.Run(device+" in the place of a file that was good", func(t *testing.T) {
			vol := mount(t, raw)
			s := newSource(vol.Path())
			good(t, s, raw)
			require.NoError(t, vol.Remove())
			require.NoError(t, os.Symlink(device, vol.Path()))
			withinSeconds(t, func() {
				assert.ErrorIs(t, refused(t, s, []string{raw}, "a device"), fs.ErrInvalid)
			})
		})
	}
}

func TestSymbolicLinksInACircle(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	require.NoError(t, os.Symlink("other", path))
	require.NoError(t, os.Symlink("token", filepath.Join(dir, "other")))
	err := refused(t, newSource(path), nil, "links lead in a circle", "recreate the volume")
	assert.ErrorIs(t, err, syscall.ELOOP)
	assert.NotErrorIs(t, err, fs.ErrNotExist)
}

func TestPathTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 300))
	err := refused(t, newSource(path), nil, "name too long")
	assert.ErrorIs(t, err, syscall.ENAMETOOLONG)
}

// A child is this test binary run again, for what a test must not do to its
// own process. It does its part instead of the tests, and prints a report.
const childVar = "PODTOKEN_TEST_CHILD"

// children are the parts by name; more are added by other files.
var children = map[string]func(*childReport, childTask) error{
	"read":             func(r *childReport, c childTask) error { r.read(newSource(c.Path)); return nil },
	"read without fds": readWithoutDescriptors,
}

// childTask is what a child is told.
type childTask struct {
	Part string
	Path string
	Next string // the token after a rotation
	Dead string // an expired token
}

// childReport is what a child tells: of each read in turn, and whether it
// could do its part at all.
type childReport struct {
	Reads []childRead
	Log   string
	Setup string // why the part could not be played
}

type childRead struct {
	Raw        string
	Text       string
	IsError    bool // *tokenfile.Error with the path
	Permission bool
	NotExist   bool
	Frozen     bool // Stats().SubPath
	Other      uint64
}

func (r *childReport) read(s *tokenfile.Source) {
	var c childRead
	token, err := s.Token(context.Background())
	if err == nil {
		c.Raw = token.Raw()
	} else {
		var e *tokenfile.Error
		c.Text = err.Error()
		c.IsError = errors.As(err, &e) && e.Path == s.Path
		c.Permission = errors.Is(err, fs.ErrPermission)
		c.NotExist = errors.Is(err, fs.ErrNotExist)
	}
	c.Frozen, c.Other = s.Stats().SubPath, s.Stats().Failures.Other
	r.Reads = append(r.Reads, c)
}

func init() {
	text := os.Getenv(childVar)
	if text == "" {
		return
	}
	var task childTask
	var report childReport
	err := json.Unmarshal([]byte(text), &task)
	if err == nil {
		err = children[task.Part](&report, task)
	}
	if err != nil {
		report.Setup = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runChild runs a part. It fails only if the child cannot be run or crashes;
// what the kernel refuses to it is the error.
func runChild(t *testing.T, attr *syscall.SysProcAttr, task childTask) (childReport, error) {
	t.Helper()
	text, err := json.Marshal(task)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self(t))
	cmd.Env = append(os.Environ(), childVar+"="+string(text))
	cmd.SysProcAttr = attr
	cmd.Stderr = os.Stderr
	cmd.Dir = "/"
	var report childReport
	out, err := cmd.Output()
	if errors.Is(err, fs.ErrPermission) {
		return report, err
	}
	require.NoError(t, err, "%s", out)
	require.NoError(t, json.Unmarshal(out, &report))
	if report.Setup != "" {
		return report, errors.New(report.Setup)
	}
	return report, nil
}

// self is this binary, where any user may run it.
func self(t *testing.T) string {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	data, err := os.ReadFile(binary)
	require.NoError(t, err)
	copied := filepath.Join(shortDir(t), "child")
	require.NoError(t, os.WriteFile(copied, data, 0o700))
	require.NoError(t, os.Chmod(copied, 0o755))
	return copied
}

// kubernetes/kubernetes#74565, #82573, kubernetes/enhancements#1598: a token
// of mode 0600 that belongs to root, and a container that runs as somebody
// else.
func TestPermissionDenied(t *testing.T) {
	raw := sign(t)
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65533}}
	if os.Geteuid() != 0 {
		nobody = nil // the test's own user is not almighty either
	}
	who := fmt.Sprintf("this process runs as uid %d, gid %d", 65534, 65533)
	owner := "belongs to uid 0, gid 0"
	if nobody == nil {
		who = fmt.Sprintf("this process runs as uid %d, gid %d", os.Geteuid(), os.Getegid())
		owner = fmt.Sprintf("belongs to uid %d, ", os.Geteuid())
	}
	read := func(t *testing.T, path string) childRead {
		t.Helper()
		report, err := runChild(t, nobody, childTask{Part: "read", Path: path})
		require.NoError(t, err)
		require.Len(t, report.Reads, 1)
		noSecret(t, report.Reads[0].Text, raw)
		return report.Reads[0]
	}
	put := func(t *testing.T, mode fs.FileMode) string {
		t.Helper()
		path := filepath.Join(shortDir(t), "token")
		require.NoError(t, os.WriteFile(path, []byte(raw), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	t.Run("file of another user", func(t *testing.T) {
		mode := fs.FileMode(0o600)
		if nobody == nil {
			mode = 0o200
		}
		got := read(t, put(t, mode))
		assert.True(t, got.IsError)
		assert.True(t, got.Permission, got.Text)
		assert.False(t, got.NotExist)
		for _, w := range []string{"permission denied", fmt.Sprintf("mode %04o", mode), owner, who, "fsGroup", "runAsUser"} {
			assert.Contains(t, got.Text, w)
		}
	})
	t.Run("closed directory on the way", func(t *testing.T) {
		path := put(t, 0o644)
		require.NoError(t, os.Chmod(filepath.Dir(path), 0o600))
		defer func() { assert.NoError(t, os.Chmod(filepath.Dir(path), 0o755)) }()
		got := read(t, path)
		assert.True(t, got.IsError)
		assert.True(t, got.Permission, got.Text)
		assert.Contains(t, got.Text, "a directory on the way is closed")
		assert.Contains(t, got.Text, who)
		assert.NotContains(t, got.Text, "the file has mode", "nobody knows")
	})
	t.Run("file of the container's group", func(t *testing.T) { // what fsGroup brings about
		path := put(t, 0o640)
		if nobody != nil {
			require.NoError(t, os.Chown(path, 0, 65533))
		}
		got := read(t, path)
		assert.Empty(t, got.Text)
		assert.True(t, got.Raw == raw)
	})
}

// readWithoutDescriptors reads with none free, and once more with one.
func readWithoutDescriptors(r *childReport, c childTask) error {
	s := newSource(c.Path)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 32, Max: 32}); err != nil {
		return err
	}
	var open []int
	for {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.EMFILE) {
			break
		}
		if err != nil {
			return err
		}
		open = append(open, fd)
	}
	r.read(s)
	for range 3 { // a read that leaks its descriptor gets this far only once
		if err := unix.Close(open[0]); err != nil {
			return err
		}
		r.read(s)
		if open[0], _ = unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0); open[0] < 0 {
			return errors.New("a read kept its descriptor")
		}
	}
	return nil
}

func TestNoDescriptorLeft(t *testing.T) {
	raw := sign(t)
	path := filepath.Join(shortDir(t), "token")
	require.NoError(t, os.WriteFile(path, []byte(raw), 0o600))
	report, err := runChild(t, nil, childTask{Part: "read without fds", Path: path})
	require.NoError(t, err)
	require.Len(t, report.Reads, 4)
	failed := report.Reads[0]
	assert.True(t, failed.IsError)
	assert.EqualValues(t, 1, failed.Other)
	for _, w := range []string{"too many open files", "run out of file descriptors", "leak", "raise the limit"} {
		assert.Contains(t, failed.Text, w)
	}
	for _, r := range report.Reads[1:] {
		assert.Empty(t, r.Text)
		assert.True(t, r.Raw == raw)
	}
}

// A failed read closes its file too.
func TestFailedReadsKeepNoDescriptor(t *testing.T) {
	paths := []string{"/dev/null", t.TempDir(), mount(t, "torn").Path(), mount(t, "").Path(), filepath.Join(t.TempDir(), "missing")}
	lowest := func() int {
		fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(fd))
		return fd
	}
	before := lowest()
	for range 20 {
		for _, path := range paths {
			_, err := newSource(path).Token(t.Context())
			require.Error(t, err)
		}
	}
	assert.Less(t, lowest(), before+20)
}
