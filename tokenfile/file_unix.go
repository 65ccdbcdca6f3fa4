//go:build unix

package tokenfile

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readFile reads the file into b, by plain system calls: package os makes ten
// of them for what takes three here.
//
// If the bytes equal last, that is all it does, unless inspect is set. If not,
// it looks at the open file as well, refuses one that is not regular, and
// reads on to the end.
func (b *buffer) readFile(path, last string, inspect bool) (f file, err error) {
	fd, err := open(path)
	if err != nil {
		return f, explain(path, err)
	}
	defer unix.Close(fd)
	if last != "" {
		if len(last) >= len(b.data) {
			b.grow()
		}
		b.n, err = read(fd, b.data)
		f.same = err == nil && string(b.bytes()) == last
		if f.same && !inspect {
			return f, nil
		}
	}
	if err := f.inspect(fd, path); err != nil || f.same {
		return f, err
	}
	f.mounted = last == "" && isMountRoot(fd) // it does not become one later
	if err := b.fill(f.size, func(to []byte) (int, error) { return read(fd, to) }); err != nil {
		return f, explain(path, err)
	}
	f.same = last != "" && string(b.bytes()) == last
	return f, nil
}

// open never blocks, not on a FIFO either, and never makes a terminal ours.
func open(path string) (fd int, err error) {
	for {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// read returns how many bytes it put in to, which is never negative.
func read(fd int, to []byte) (n int, err error) {
	for {
		n, err = unix.Read(fd, to)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// inspect fills in what the open file says of itself and refuses all but
// regular files.
func (f *file) inspect(fd int, path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return explain(path, err)
	}
	if kind := uint32(st.Mode) & unix.S_IFMT; kind != unix.S_IFREG {
		return &kindError{kinds[kind]}
	}
	f.inspected = true
	f.size = st.Size
	f.modified = time.Unix(st.Mtim.Unix())
	f.unlinked = st.Nlink == 0
	return nil
}

// owner returns whose file info describes.
func owner(info fs.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}

// kinds are the files that are not regular, as package fs has them.
var kinds = map[uint32]fs.FileMode{
	unix.S_IFDIR:  fs.ModeDir,
	unix.S_IFIFO:  fs.ModeNamedPipe,
	unix.S_IFSOCK: fs.ModeSocket,
	unix.S_IFBLK:  fs.ModeDevice,
	unix.S_IFCHR:  fs.ModeDevice | fs.ModeCharDevice,
}

// process returns the ids that the kernel checks file access with.
func process() (uid, gid int) { return os.Geteuid(), os.Getegid() }
