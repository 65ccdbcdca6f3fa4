//go:build linux

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

// insideVar names the tests' folder to the tests that run in namespaces of
// their own.
const insideVar = "PODTOKEN_E2E_INSIDE"

var (
	workDir   string // everything the tests write is in it
	notInside error  // why the tests run without namespaces, or nil

	errNotRoot  = errors.New("the tests do not run as root")
	errNoMounts = errors.New("root may not mount here")
)

// TestMain runs the tests once more, as the first process of PID and mount
// namespaces of their own. Whatever they start, and whatever that starts, then
// dies with them, and whatever is mounted is gone with them too: also after a
// panic or a timeout, when no cleanup runs.
func TestMain(m *testing.M) {
	if workDir = os.Getenv(insideVar); workDir != "" {
		os.Exit(runInside(m))
	}
	os.Exit(runOutside(m))
}

// exitNoMounts is the exit status inside when the machine gives namespaces and
// then forbids to mount in them.
const exitNoMounts = 125

func runInside(m *testing.M) int {
	if err := isolate(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: mounting in the namespaces:", err)
		return exitNoMounts
	}
	defer bed.StopAll()
	return m.Run()
}

// runOutside starts the tests in namespaces, or runs them here where this
// machine does not allow that.
func runOutside(m *testing.M) int {
	var err error
	if workDir, err = os.MkdirTemp("", "podtoken-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(workDir)
	defer removeCgroups(cgroups())

	code, err := startInside()
	if err == nil {
		return code
	}
	notInside = err
	defer bed.StopAll()
	return m.Run()
}

// startInside starts this program again and waits for it. Its error says why
// it could not be started.
func startInside() (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, errNotRoot
	}
	// The kernel kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVar+"="+workDir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("new PID and mount namespaces: %w", err)
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() <= 0 {
		fmt.Fprintln(os.Stderr, "e2e: the tests ended:", err)
		return 1, nil
	}
	if cmd.ProcessState.ExitCode() == exitNoMounts {
		return 0, errNoMounts
	}
	return cmd.ProcessState.ExitCode(), nil
}

// isolate keeps mounts from leaving the namespace, and mounts what belongs to
// it: its own processes, and a file system in memory for the tests' folder.
func isolate() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return errors.Join(
		unix.Mount("proc", "/proc", "proc", 0, ""),
		unix.Mount("tmpfs", workDir, "tmpfs", 0, "mode=0755"),
	)
}

// folder makes a folder for a helper that outlives a test. Its path is short:
// that of a socket in it has to fit in 108 bytes.
func folder(name string) (string, error) {
	dir, err := os.MkdirTemp(workDir, name+"-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755) // programs in pods are not root
}

// cgroups lists the control groups of containers, in every hierarchy. They
// belong to no namespace that ends.
func cgroups() (dirs []string) {
	for _, pattern := range []string{"/sys/fs/cgroup/k8s.io", "/sys/fs/cgroup/*/k8s.io"} {
		roots, _ := filepath.Glob(pattern)
		for _, root := range roots {
			_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					dirs = append(dirs, path)
				}
				return nil
			})
		}
	}
	return dirs
}

// removeCgroups removes the control groups that were not there before, those
// in others first. Their files go with them.
func removeCgroups(before []string) {
	now := cgroups()
	for i := len(now) - 1; i >= 0; i-- {
		if !slices.Contains(before, now[i]) {
			_ = os.Remove(now[i])
		}
	}
}
