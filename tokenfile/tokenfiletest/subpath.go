package tokenfiletest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// SubPath makes link a path to the token as it is now, for ever: what a
// container sees that mounts the token by subPath. The kubelet binds such a
// mount to the file that is there when the container starts; rotations
// replace the file in the volume, and the bound one keeps the old token, with
// a link count of zero.
//
// It needs Linux and returns an error that is errors.ErrUnsupported
// elsewhere. On Linux, link is a symbolic link to an open descriptor of this
// process, which Close releases. It also fails if no token is mounted or link
// exists.
func (v *Volume) SubPath(link string) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("tokenfiletest: subPath on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	file, err := os.Open(v.Path())
	if err != nil {
		return err
	}
	if err := os.Symlink(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd()), link); err != nil {
		return errors.Join(err, file.Close())
	}
	if v.frozen == nil {
		v.frozen = map[string]*os.File{}
	}
	v.frozen[link] = file
	return nil
}

// Close releases what SubPath holds and removes its links. The volume itself
// stays, and can still be used.
func (v *Volume) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var errs []error
	for link, file := range v.frozen {
		errs = append(errs, unlink(link), file.Close())
	}
	clear(v.frozen)
	return errors.Join(errs...)
}

// unlink removes a link that a test's clean-up may have removed already.
func unlink(link string) error {
	if err := os.Remove(link); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
