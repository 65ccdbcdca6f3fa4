package tokenfile

import (
	"sync"
	"time"
)

// maxSize bounds the file: a token has one to two kilobytes, and whatever has
// more than 64 KiB is not one.
const maxSize = 64 << 10

// smallSize holds every token that Kubernetes issues.
const smallSize = 4 << 10

// file is what one read found out about the file beside its bytes.
type file struct {
	same      bool      // its bytes are the ones asked for
	inspected bool      // the fields below were looked up
	size      int64     // in bytes, 0 if the file system does not tell
	modified  time.Time // modification time
	unlinked  bool      // no directory leads to it any more
	mounted   bool      // it is a mount of its own, as a subPath makes one; looked up at the first read
}

// buffer holds the bytes of one read: pooled, because a read must not cost an
// allocation of its size, and wiped before another reader gets it.
type buffer struct {
	data []byte
	n    int
}

var buffers = sync.Pool{New: func() any { return &buffer{data: make([]byte, smallSize)} }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) bytes() []byte { return b.data[:b.n] }

func (b *buffer) free() {
	clear(b.data[:b.n])
	b.n = 0
	buffers.Put(b)
}

// fill reads from read until its end, which is size if that is not 0, into a
// larger array once the small one is full. It reports a file over the limit.
func (b *buffer) fill(size int64, read func([]byte) (int, error)) error {
	for {
		if max(int64(b.n), size) > maxSize {
			return malformed("the file has more than 64 KiB, which no token has")
		}
		if b.n > 0 && int64(b.n) == size {
			return nil
		}
		if b.n == len(b.data) {
			b.grow()
		}
		n, err := read(b.data[b.n:])
		if err != nil || n == 0 {
			return err
		}
		b.n += n
	}
}

// grow makes room for the limit and one byte more, and wipes the array that
// it leaves.
func (b *buffer) grow() {
	larger := make([]byte, maxSize+1)
	copy(larger, b.data[:b.n])
	clear(b.data)
	b.data = larger
}
