//go:build linux

package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A node is the one machine of the cluster, with a container runtime and a
// kubelet.
type node struct {
	server     *apiServer
	containerd *containerd
	kubelet    *kubelet
}

// requireNode starts the node, or skips the test where it cannot run.
func requireNode(t *testing.T) *node {
	t.Helper()
	if err := canRunContainers(); err != nil {
		skipLoudly(t, err)
	}
	require.NoError(t, protectMachine())
	n := &node{server: requireAPIServer(t)}
	var err error
	n.containerd, err = startContainerd()
	require.NoError(t, err)
	n.containerd.process.ShowIfFailed(t)
	n.kubelet, err = newKubelet(n.server, n.containerd)
	require.NoError(t, err)
	require.NoError(t, n.kubelet.start())
	n.kubelet.process.ShowIfFailed(t)
	return n
}

// restartKubelet stops the kubelet and starts it again.
func (n *node) restartKubelet(t *testing.T) {
	t.Helper()
	n.kubelet.process.Stop()
	require.NoError(t, n.kubelet.start())
}

// canRunContainers says why this machine cannot run containers, if so.
func canRunContainers() error {
	var errs []error
	for _, program := range []string{"containerd", "ctr", "runc"} {
		if _, err := exec.LookPath(program); err != nil {
			errs = append(errs, err)
		}
	}
	if notInside != nil {
		errs = append(errs, notInside)
	}
	if _, err := os.Stat("/sys/fs/cgroup"); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// noSkipVar, set to anything, is for those who rely on the containers: what
// would be skipped then fails.
const noSkipVar = "PODTOKEN_E2E_NO_SKIP"

// skipLoudly skips a test so that nobody takes it for one that passed.
func skipLoudly(t *testing.T, reason error) {
	t.Helper()
	line := strings.Repeat("!", 72)
	message := fmt.Sprintf("\n%s\nSKIPPED: %s needs a kubelet that runs containers, and here is none:\n%v\n"+
		"It takes Linux, root, and the Debian packages containerd and runc.\n%s\n", line, t.Name(), reason, line)
	if os.Getenv(noSkipVar) != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

// protectMachine makes what containerd and the kubelet write outside of their
// folders go to memory, and vanish with the mount namespace.
var protectMachine = sync.OnceValue(func() error {
	for _, dir := range []string{"/run", "/var/lib", "/var/log"} {
		if err := writeToMemory(dir); err != nil {
			return fmt.Errorf("covering %s: %w", dir, err)
		}
	}
	// The kubelet sets these to its taste when it starts.
	for _, name := range []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	} {
		if err := coverFile("/proc/sys/" + name); err != nil {
			return err
		}
	}
	return nil
})

// writeToMemory covers a directory with itself, on top of which writes go to
// the tests' folder.
func writeToMemory(dir string) error {
	layer, err := folder("cover" + strings.ReplaceAll(dir, "/", "-"))
	if err != nil {
		return err
	}
	upper, work := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
	if err := errors.Join(os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755)); err != nil {
		return err
	}
	return unix.Mount("overlay", dir, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", dir, upper, work))
}

// coverFile covers a file with a copy in the tests' folder.
func coverFile(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	cover := filepath.Join(workDir, strings.ReplaceAll(path, "/", "-"))
	if err := os.WriteFile(cover, content, 0o644); err != nil {
		return err
	}
	return unix.Mount(cover, path, "", unix.MS_BIND, "")
}
