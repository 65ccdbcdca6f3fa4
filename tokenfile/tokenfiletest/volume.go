package tokenfiletest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// The names that the kubelet keeps for itself in a volume.
const (
	dataLink    = "..data"     // leads to the directory that holds the token
	newDataLink = "..data_tmp" // the next ..data, for an instant
	timestamped = "..2006_01_02_15_04_05."
)

// Volume is a directory laid out like a projected volume in a pod:
//
//	token -> ..data/token
//	..data -> ..2026_11_30_08_20_23.1234567890
//	..2026_11_30_08_20_23.1234567890/token
//
// Write replaces the token as the kubelet does; most callers leave that to a
// Kubelet and use only Path. The other methods do to the volume what goes
// wrong with volumes, and the next Write mends it.
//
// NewVolume makes a Volume. The exported fields are set before first use and
// not changed after. The methods are safe for concurrent use. Where a system
// refuses to make symbolic links, as Windows may, Write returns its error.
type Volume struct {
	// FileName is the token's name in the directory. If empty, "token".
	FileName string

	// Mode is the mode of the token, whatever the umask. If zero, 0644, which
	// is the kubelet's without a security context; it uses 0600 with runAsUser
	// and 0640 with fsGroup.
	Mode fs.FileMode

	dir string

	mu     sync.Mutex
	frozen map[string]*os.File // by link, see SubPath
}

// NewVolume makes the directory dir, and those above it as needed, and
// returns an empty Volume in it: like a pod's directory before the kubelet
// mounts the token. A directory that exists already is used as it is.
func NewVolume(dir string) (*Volume, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &Volume{dir: dir}, nil
}

// Dir returns the absolute path of the directory.
func (v *Volume) Dir() string { return v.dir }

// Path returns the absolute path of the token, as a program in the pod has it
// in its configuration. The file is there after the first Write.
func (v *Volume) Path() string { return filepath.Join(v.dir, v.fileName()) }

// Write puts token into the volume by the kubelet's steps: a new timestamped
// directory, a link ..data_tmp to it, a rename of that over ..data, and only
// then the removal of the old directory. A reader sees the old token or the
// new one, or for an instant none if it followed ..data just before the
// removal. The first Write makes the link token as its last step. If the
// volume holds the very token already, nothing is written.
//
// After Remove, RemoveAll, Dangle and any write in place, Write brings the
// volume back. It returns the error of the first step that failed, and then
// leaves the old token in place.
func (v *Volume) Write(token string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := os.MkdirAll(v.dir, 0o755); err != nil {
		return err
	}
	old, err := v.current()
	if err != nil {
		return err
	}
	if old != "" && v.holds(old, token) {
		return v.link()
	}
	if err := v.publish(token); err != nil {
		return err
	}
	if err := v.link(); err != nil || old == "" {
		return err
	}
	return os.RemoveAll(old)
}

// current returns the path of the timestamped directory, "" if there is none.
func (v *Volume) current() (string, error) {
	name, err := os.Readlink(filepath.Join(v.dir, dataLink))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if filepath.Base(name) != name || !strings.HasPrefix(name, "..2") {
		return "", fmt.Errorf("tokenfiletest: %s leads to %q, which is no directory of this volume", dataLink, name)
	}
	return filepath.Join(v.dir, name), nil
}

// holds tells whether the token in the timestamped directory old is this one.
func (v *Volume) holds(old, token string) bool {
	path := filepath.Join(old, v.fileName())
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrPermission) {
		data, err = readAsRoot(path)
	}
	return err == nil && string(data) == token
}

// readAsRoot reads a file of our own in spite of its mode, like the kubelet,
// which is root.
func readAsRoot(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	return data, errors.Join(err, os.Chmod(path, info.Mode()))
}

// publish makes a timestamped directory with the token and turns ..data to it.
func (v *Volume) publish(token string) error {
	dir, err := os.MkdirTemp(v.dir, time.Now().UTC().Format(timestamped))
	if err != nil {
		return err
	}
	err = v.fill(dir, token)
	if err == nil {
		err = v.turn(filepath.Base(dir))
	}
	if err != nil {
		os.RemoveAll(dir)
	}
	return err
}

// fill gives a new timestamped directory its mode and its token.
func (v *Volume) fill(dir, token string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, v.fileName())
	if err := os.WriteFile(path, []byte(token), v.mode()); err != nil {
		return err
	}
	return os.Chmod(path, v.mode()) // the umask may have taken bits away
}

// turn makes ..data lead to the timestamped directory name.
func (v *Volume) turn(name string) error {
	data, next := filepath.Join(v.dir, dataLink), filepath.Join(v.dir, newDataLink)
	if err := os.Symlink(name, next); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // which cannot rename over a link to a directory
		if err := os.Remove(data); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, os.Remove(next))
		}
	}
	if err := os.Rename(next, data); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// link makes the link that a program reads through, if it is not there.
func (v *Volume) link() error {
	_, err := os.Readlink(v.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return os.Symlink(filepath.Join(dataLink, v.fileName()), v.Path())
	}
	return err
}

func (v *Volume) fileName() string { return or(v.FileName, "token") }

func (v *Volume) mode() fs.FileMode {
	if v.Mode == 0 {
		return 0o644
	}
	return v.Mode
}
