package container

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// Resolve is where this process finds a path of the container at root: links in
// it lead to where they lead in that container. The kubelet's own are left as
// they are, since they lead elsewhere after each rotation.
func Resolve(root, path string) string {
	if root == "/" || root == "" || !filepath.IsAbs(path) {
		return path
	}
	joined, err := securejoin.SecureJoinVFS(filepath.Clean(root), path, swapsAside{})
	if err != nil {
		return filepath.Join(root, path) // whose reader gets the error, and explains it
	}
	return joined
}

// swapsAside takes the links of the kubelet's volumes for what they lead to.
type swapsAside struct{}

func (swapsAside) Readlink(name string) (string, error) { return os.Readlink(name) }

func (swapsAside) Lstat(name string) (fs.FileInfo, error) {
	info, err := os.Lstat(name)
	if err == nil && info.Mode().Type() == fs.ModeSymlink && isSwap(name) {
		return os.Stat(name)
	}
	return info, err
}

// isSwap knows ..data, which a rotation replaces, and what leads through it. It
// knows none that leads out of its volume.
func isSwap(link string) bool {
	target, err := os.Readlink(link)
	if err != nil {
		return false
	}
	inside, through := strings.CutPrefix(target, dataLink+"/")
	if through {
		return !strings.Contains("/"+inside+"/", "/../")
	}
	return filepath.Base(link) == dataLink && !strings.Contains(target, "/") && target != ".."
}
