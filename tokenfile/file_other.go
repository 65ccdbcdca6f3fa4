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
		return f, &kindError{Kind: kindName(info.Mode())}
	}
	f.inspected, f.modified = true, info.ModTime()
	err = b.fill(func(to []byte) (int, error) {
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

func kindName(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return kindDirectory
	case mode&fs.ModeNamedPipe != 0:
		return kindFIFO
	case mode&fs.ModeSocket != 0:
		return kindSocket
	}
	return kindDevice
}

// owner is not known here.
func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// process is not asked where owner is not known.
func process() (uid, gid int) { return -1, -1 }
