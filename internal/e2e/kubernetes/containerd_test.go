//go:build linux

package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/podtoken/podtoken/internal/e2e/bed"
)

// A containerd is a running containerd with all its folders in one of the
// tests', and the pods' images in it.
type containerd struct {
	process *bed.Process
	dir     string
}

// The configuration of a containerd that touches nothing outside of %[1]s.
//
// restrict_oom_score_adj keeps it from asking for a lower OOM score than its
// own, which a machine that is itself a container does not grant. The native
// snapshotter copies instead of stacking, and so works on any file system.
const containerdConfig = `
version = 2
root = "%[1]s/root"
state = "%[1]s/state"
[grpc]
  address = "%[1]s/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "%[2]s"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[1]s/cni"
    conf_dir = "%[1]s/cni"
`

func startContainerd() (*containerd, error) {
	dir, err := folder("containerd")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, containerdConfig, dir, pauseImage), 0o600); err != nil {
		return nil, err
	}
	c := &containerd{dir: dir}
	if c.process, err = bed.Start(dir, "containerd", "--config="+config); err != nil {
		return nil, err
	}
	if err := c.process.Until(func() error { _, err := c.ctr("version"); return err }); err != nil {
		return nil, err
	}
	for _, image := range []string{readerImage, pauseImage} {
		if err := c.load(image); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// load puts an image where the kubelet finds it.
func (c *containerd) load(image string) error {
	file := filepath.Join(c.dir, filepath.Base(programs[image])+".tar")
	if err := writeImage(image, file); err != nil {
		return err
	}
	_, err := c.ctr("images", "import", "--snapshotter=native", file)
	return err
}

// ctr asks containerd about the kubelet's containers and images.
func (c *containerd) ctr(args ...string) (string, error) {
	cmd := exec.Command("ctr", append([]string{"--address=" + c.socket(), "--namespace=k8s.io"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

func (c *containerd) socket() string { return filepath.Join(c.dir, "containerd.sock") }
