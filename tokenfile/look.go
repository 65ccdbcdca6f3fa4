package tokenfile

import (
	"errors"
	"io/fs"
	"time"
)

// tornPause is how long a writer that rewrites the file in place is given to
// finish: between its truncation and its last write lie some microseconds.
const tornPause = 5 * time.Millisecond

// errUnlinked says that the file was removed between being opened and looked
// at: either the kubelet's swap in that instant, or a frozen mount for good.
var errUnlinked = errors.New("file was removed while it was read")

// look reads and checks the file, and once more where the kubelet's swap or a
// write in progress may explain what it saw.
func (s *Source) look() (*parsed, error) {
	p, err := s.lookOnce(false)
	switch {
	case err == nil:
		return p, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errUnlinked):
		// The directory went between two steps of this very read: the next
		// one follows the new link.
	case errors.Is(err, ErrMalformed):
		time.Sleep(tornPause)
	default:
		return nil, err
	}
	return s.lookOnce(true)
}

// lookOnce reads the file, parses it if its bytes are new, publishes what it
// found and checks the clock. final says that nobody will look again, so that
// an unlinked file is taken as it is.
func (s *Source) lookOnce(final bool) (*parsed, error) {
	b := newBuffer()
	defer b.free()
	began := s.stats.reads.Add(1)
	f, last, err := s.readInto(b, final)
	if err != nil {
		return nil, err
	}
	if f.inspected {
		if f.unlinked && !final {
			return nil, errUnlinked
		}
		s.inspected(f)
	}
	p := last
	if !f.same {
		if p, err = s.parse(b.bytes(), f, began); err != nil {
			return nil, err
		}
	}
	if !f.same || !s.readsEveryCall() {
		p = s.publish(p)
	}
	modified := p.modified
	if f.inspected {
		modified = f.modified
	}
	return p, s.checkClock(p, modified, time.Now())
}

// readInto reads the file into b and compares it with what was read last.
func (s *Source) readInto(b *buffer, inspect bool) (f file, last *parsed, err error) {
	if snap := s.last.Load(); snap != nil {
		last = snap.parsed
		f, err = b.readFile(s.Path, last.content, s.stats.inspectionDue(time.Now()) || inspect)
		return f, last, err
	}
	f, err = b.readFile(s.Path, "", true)
	return f, nil, err
}

// parse makes a token of bytes not seen before and checks all of it that does
// not depend on the clock.
func (s *Source) parse(content []byte, f file, began uint64) (*parsed, error) {
	p := &parsed{content: string(content), modified: f.modified, began: began}
	var err error
	if p.token, err = parseToken(p.content); err != nil {
		return nil, err
	}
	if err := s.checkClaims(p.token); err != nil {
		return nil, err
	}
	p.from, p.until = s.window(p.token)
	return p, nil
}
