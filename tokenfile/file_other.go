//go:build !unix

package tokenfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// readFile reads the file into b and reports whether the bytes equal last.
func (b *buffer) readFile(path, last string, _ bool) (f file, err error) {
	o, err := os.Open(path)
	if err != nil {
		return f, explain(path, err)
	}
	defer o.Close()
	info, err := o.Stat()
	if err != nil {
		return f, explain(path, err)
	}
	if !info.Mode().IsRegular() {
		return f, &kindError{info.Mode()}
	}
	f.inspected, f.size, f.modified = true, info.Size(), info.ModTime()
	err = b.fill(f.size, func(to []byte) (int, error) {
		n, err := o.Read(to)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	})
	if err != nil {
		return f, explain(path, err)
	}
	f.same = last != "" && string(b.bytes()) == last
	return f, nil
}

// owner is not known here.
func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// process is not asked where owner is not known.
func process() (uid, gid int) { return -1, -1 }
