package tokenfiletest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// WriteInPlace overwrites the token through its links, as a shell's > does
// and the kubelet never: truncated first, then written. A reader may find the
// file empty or half written. It fails if no token is mounted.
func (v *Volume) WriteInPlace(data []byte) error {
	finish, err := v.WriteTorn(data, len(data))
	if err != nil {
		return err
	}
	return finish()
}

// WriteTorn is a WriteInPlace that stops half-way: it leaves the first n
// bytes of data in the file until finish writes the rest. Call finish, or a
// file descriptor stays open; calls after the first do nothing.
//
// The rest goes to the same file even if Write has replaced it in the
// meantime. WriteTorn fails if n is not between zero and len(data), or if no
// token is mounted.
func (v *Volume) WriteTorn(data []byte, n int) (finish func() error, err error) {
	if n < 0 || n > len(data) {
		return nil, fmt.Errorf("tokenfiletest: cannot stop after %d bytes of %d", n, len(data))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	file, err := os.OpenFile(v.Path(), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(data[:n]); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	rest := append([]byte(nil), data[n:]...)
	return sync.OnceValue(func() error {
		_, err := file.Write(rest)
		return errors.Join(err, file.Close())
	}), nil
}

// WriteUnseen overwrites the token in place with data of the same size and
// puts its modification time back, so that a look at the file's size and time
// does not show the change. It fails if the size differs, or if no token is
// mounted.
func (v *Volume) WriteUnseen(data []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	before, err := os.Stat(v.Path())
	if err != nil {
		return err
	}
	if before.Size() != int64(len(data)) {
		return fmt.Errorf("tokenfiletest: %d bytes over %d would be seen", len(data), before.Size())
	}
	if err := overwrite(v.Path(), data); err != nil {
		return err
	}
	return os.Chtimes(v.Path(), before.ModTime(), before.ModTime())
}

// overwrite writes over the start of a file without truncating it first.
func overwrite(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// Chmod changes the mode of the mounted token. It lasts until the next
// rotation, which brings Mode back. (A process of root reads a token of any
// mode.)
func (v *Volume) Chmod(mode fs.FileMode) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return os.Chmod(v.Path(), mode)
}

// Dangle removes the timestamped directory and leaves ..data leading nowhere.
// It fails if no token is mounted.
func (v *Volume) Dangle() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	dir, err := v.mounted()
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// Remove takes the token and everything that leads to it out of the
// directory, which stays. It fails if no token is mounted.
func (v *Volume) Remove() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	dir, err := v.mounted()
	if err != nil {
		return err
	}
	return errors.Join(
		os.Remove(v.Path()),
		os.Remove(filepath.Join(v.dir, dataLink)),
		os.RemoveAll(dir),
	)
}

// RemoveAll removes the whole directory, as the kubelet does with a pod's
// volume once the pod is gone. The next Write makes another one in its place.
func (v *Volume) RemoveAll() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return os.RemoveAll(v.dir)
}

// mounted is current for those who need one.
func (v *Volume) mounted() (string, error) {
	dir, err := v.current()
	if err == nil && dir == "" {
		err = &fs.PathError{Op: "mounted", Path: v.Path(), Err: fs.ErrNotExist}
	}
	return dir, err
}
