package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// mountPoint is a line of the mount table on which tokens may be.
type mountPoint struct {
	path string
	part bool // a folder or file of the kubelet's volume, and not its root: made by a subPath
}

const (
	maxTable  = 8 << 20 // bytes of the mount table
	maxMounts = 10_000
)

// errNoTable is errors.ErrUnsupported with what to do instead.
var errNoTable = fmt.Errorf("there is no mount table, which is seen on Linux only: name the token files (%w)", errors.ErrUnsupported)

// mountPoints are those of the container that may be volumes with tokens.
func mountPoints(root string) ([]mountPoint, error) {
	file, err := os.Open(processesOf(root).file("mountinfo"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && root == "/":
		return nil, errNoTable
	case err != nil:
		return nil, lookedAtFrom(root, err)
	}
	defer file.Close()
	return parseTable(file)
}

// mayHoldTokens knows the file systems of the kubelet's volumes: in memory, or
// handed into a virtual machine or sandbox. A network's could keep us waiting.
func mayHoldTokens(fileSystem string) bool {
	switch fileSystem {
	case "tmpfs", "ramfs", "virtiofs", "9p", "overlay", "ext4", "xfs", "btrfs":
		return true
	}
	return false
}

// isOtherPods says that a volume is where the kubelet has it, for any pod, and
// not where a container has its own.
func isOtherPods(path string) bool { return strings.Contains(path, "/volumes/kubernetes.io~") }

// isPart says of a mount's root within its file system that it is in the
// kubelet's timestamped folder, which no swap of links replaces.
func isPart(root string) bool { return strings.HasPrefix(root, "/..") }
