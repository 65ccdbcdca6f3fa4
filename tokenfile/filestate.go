package tokenfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// kindError is the cause when the path leads to something else than a regular
// file.
type kindError struct{ mode fs.FileMode }

func (e *kindError) Error() string {
	text := "it is " + e.kind() + ", not a regular file"
	if e.mode.IsDir() {
		return text + "; name the file in it: the volume's mountPath and serviceAccountToken.path, joined"
	}
	return text + "; name the file of a projected volume"
}

func (e *kindError) kind() string {
	switch e.mode.Type() {
	case fs.ModeDir:
		return "a directory"
	case fs.ModeNamedPipe:
		return "a FIFO"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

func (e *kindError) Unwrap() error { return fs.ErrInvalid }

// fileError is a failed system call and what probably caused it.
type fileError struct {
	hint string
	err  error // the system's
}

func (e *fileError) Error() string {
	if e.hint == "" {
		return e.err.Error()
	}
	return e.err.Error() + "; " + e.hint
}

func (e *fileError) Unwrap() error { return e.err }

// explain turns a system call's error into one that says what to change. It
// looks at the file's surroundings, which a failure has time for.
func explain(path string, err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err // the name is said once, by Error
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fileError{missing(path), err}
	case errors.Is(err, fs.ErrPermission):
		return &fileError{denied(path), err}
	case errors.Is(err, syscall.ELOOP):
		return &fileError{"its symbolic links lead in a circle: recreate the volume", err}
	case errors.Is(err, syscall.ENOTDIR):
		return &fileError{"a part of the path is a file where a directory belongs: compare it with mountPath", err}
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENAMETOOLONG):
		return &fileError{"this is no file's name: correct Source.Path", err}
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return &fileError{"the process or the node has run out of file descriptors: look for a leak, or raise the limit", err}
	}
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		return &kindError{info.Mode()} // of a socket, open says no more than ENXIO
	}
	return &fileError{"", err}
}

// missing says what of the path is not there.
func missing(path string) string {
	dir := filepath.Dir(path)
	if !filepath.IsAbs(path) {
		return "the path is not absolute, and nothing in it is expanded: name the file from the root on"
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("directory %s does not exist: no volume is mounted there in this container; "+
			"add the projected volume to the container's volumeMounts, or correct the path", printable(dir))
	}
	target, err := os.Readlink(path)
	if err == nil {
		return fmt.Sprintf("the link leads to %s, which does not exist: the volume is being set up or taken down, or it is broken; "+
			"if this lasts, recreate the pod", printable(target))
	}
	return fmt.Sprintf("directory %s has no such file: compare its name with serviceAccountToken.path of the projected volume", printable(dir))
}

// denied says who may read the file, and who tries to.
func denied(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Sprintf("a directory on the way is closed to this process%s: "+
			"mount the volume below a directory that this user may search", us())
	}
	whose := fmt.Sprintf("the file has mode %04o", info.Mode().Perm())
	if uid, gid, ok := owner(info); ok {
		whose += fmt.Sprintf(" and belongs to uid %d, gid %d", uid, gid)
	}
	if info.Mode().Perm()&0o004 != 0 {
		return whose + us() + ", which its mode allows: look for SELinux, AppArmor or a directory on the way that is closed"
	}
	return whose + us() + ": set securityContext.fsGroup in the pod's spec, so that the kubelet makes it readable to the container's group, " +
		"or runAsUser to the file's owner"
}

// us says whom this process runs as.
func us() string {
	uid, gid := process()
	if uid < 0 {
		return ""
	}
	return fmt.Sprintf(", while this process runs as uid %d, gid %d", uid, gid)
}
