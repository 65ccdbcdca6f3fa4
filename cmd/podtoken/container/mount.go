package container

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Mount is a service-account token that is mounted in the container.
type Mount struct {
	Path       string // of the token file, as the container sees it
	MountPoint string // of the volume, or the file itself if it is mounted by itself
	SubPath    bool   // the file, or the directory in the volume that it is in, is a mount of its own: it is never replaced
	Mode       fs.FileMode
	UID, GID   uint32 // of its owner; 0 on systems without
	Modified   time.Time
}

// Find returns every service-account token that is mounted in the container,
// sorted by path: those of the mount table, not only those that variables
// name, and also those in folders of a volume. A file that may not be read is
// among them if its name is one of a token.
//
// root is "/", or another process's such as "/proc/1/root".
//
// The error says what could not be looked at. What was found is returned
// nevertheless. It is errors.ErrUnsupported where there is no mount table.
//
// Volumes of other pods, which an agent of the node sees through a hostPath,
// are left out.
func Find(root string) ([]Mount, error) {
	points, err := mountPoints(root)
	s := &search{root: root, known: map[string]bool{}, files: maxFiles, err: err}
	for _, p := range points {
		s.look(p)
	}
	slices.SortFunc(s.found, func(a, b Mount) int { return cmp.Compare(a.Path, b.Path) })
	return s.found, s.err
}

// Inspect describes a file that may be mounted or not, without MountPoint and
// SubPath.
func Inspect(root, path string) (Mount, error) {
	info, err := os.Stat(Resolve(root, path))
	if err != nil {
		return Mount{Path: path}, err
	}
	return describe(path, info), nil
}

func describe(path string, info fs.FileInfo) Mount {
	m := Mount{Path: path, Mode: info.Mode(), Modified: info.ModTime()}
	m.UID, m.GID = owner(info)
	return m
}

// maxFiles bounds how many files and folders of all volumes are looked at.
const maxFiles = 10_000

var errTooMany = errors.New("the volumes hold more than 10,000 files: not all of them were looked at")

// search is one for tokens.
type search struct {
	root  string
	found []Mount
	known map[string]bool // their paths
	files int             // that may still be looked at
	err   error
}

func (s *search) failed(err error) { s.err = errors.Join(s.err, err) }
