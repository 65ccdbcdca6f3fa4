package lint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// What one object may have of text. The API server's own limit is below the
// first; a state of Terraform's is one object.
const (
	maxObject = 8 << 20
	maxState  = 256 << 20
)

// tooLargeError is an object above its limit.
type tooLargeError int

func (e tooLargeError) Error() string { return fmt.Sprintf("an object of more than %d MiB", e>>20) }

// input counts the lines of a file for a decoder that reads ahead. It ends a read that goes on for too long in one
// object.
type input struct {
	r *bufio.Reader

	most     int   // bytes of an object
	read     int64 // bytes
	limit    int64 // of read; 0 for none
	lines    int   // before offset done
	newlines []int64
	failed   error
}

func (in *input) Read(p []byte) (int, error) {
	if in.limit > 0 && in.read > in.limit {
		in.failed = tooLargeError(in.most)
		return 0, in.failed
	}
	if in.limit > 0 {
		p = p[:min(int64(len(p)), in.limit-in.read+1)]
	}
	n, err := in.r.Read(p)
	for i := 0; ; {
		next := bytes.IndexByte(p[i:n], '\n')
		if next < 0 {
			break
		}
		i += next + 1
		in.newlines = append(in.newlines, in.read+int64(i))
	}
	in.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		in.failed = err
	}
	return n, err
}

// lineAt is the line of an offset, which never falls. A token's offset is that
// of its end, and no token of JSON has a line break.
func (in *input) lineAt(offset int64) int {
	passed := 0
	for passed < len(in.newlines) && in.newlines[passed] <= offset {
		passed++
	}
	in.lines += passed
	in.newlines = in.newlines[passed:] // the next append that grows it lets go of what is before
	return in.lines + 1
}

// allow lets one more object begin at offset.
func (in *input) allow(offset int64) { in.limit = offset + int64(in.most) }

// cause is the reader's own error rather than what a decoder makes of it.
func (in *input) cause(err error) error {
	if err != nil && in.failed != nil {
		return in.failed
	}
	return err
}

// counted reports how much was read from a file, through all buffers.
type counted struct {
	r        io.Reader
	read     int64
	progress func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read += int64(n)
	if c.progress != nil {
		c.progress(c.read)
	}
	return n, err
}
