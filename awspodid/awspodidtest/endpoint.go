package awspodidtest

import (
	"bytes"
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"
)

const name = "awspodidtest"

// maxBody is what is read of a request's body. STS takes tokens of up to
// 20,000 bytes.
const maxBody = 1 << 20

// endpoint is what an Agent and an STS have in common: the way in, what may
// happen to requests there, and what is remembered of them.
type endpoint struct {
	recall      func(*call) // notes what is asked, before anything goes wrong
	serve       func(*call) (*answer, error)
	contentType func(status int) string

	mu      sync.Mutex
	down    bool
	waiting map[chan struct{}]struct{} // requests that SetDown cuts
	fault   func(*http.Request) *Fault
	log     requestLog
	ledger  ledger
}

// call is one request on its way through.
type call struct {
	*http.Request
	body   []byte
	note   Request // what will be remembered
	form   url.Values
	token  string
	claims *claims
	err    error // of parsing the token
}

// answer is what a request gets.
type answer struct {
	status int
	header http.Header
	body   []byte
	pad    int64 // spaces before the body
	stall  bool  // half of the body never comes
	code   string
}

// SetDown makes connections be refused, until SetDown(false). Requests that
// are waiting are cut.
func (e *endpoint) SetDown(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
	if !down {
		return
	}
	for waiting := range e.waiting {
		close(waiting)
	}
	clear(e.waiting)
}

// SetFault makes f decide what goes wrong with each request; nil from f lets
// the request pass, and a nil f all of them. f is called before anything else
// looks at the request, may read its body, and must be safe for concurrent use.
func (e *endpoint) SetFault(f func(*http.Request) *Fault) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fault = f
}

// handle answers a request. An error means that there is no answer, because
// the connection was refused or cut, or the caller has gone.
func (e *endpoint) handle(r *http.Request) (*answer, error) {
	c := newCall(r)
	a, err := e.meet(c)
	if err != nil {
		a = nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.add(c, a)
	return a, err
}

func newCall(r *http.Request) *call {
	c := &call{Request: r.WithContext(r.Context())} // a copy: a RoundTripper leaves requests alone
	if r.Body != nil {
		c.body, _ = io.ReadAll(io.LimitReader(r.Body, maxBody)) // what is cut short will not parse
	}
	c.Body = io.NopCloser(bytes.NewReader(c.body)) // for a fault that wants to read it
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	c.Host = host
	c.note = Request{Time: time.Now(), Method: r.Method, Host: redact(host), Path: redact(r.URL.Path)}
	return c
}

// meet takes a request through what may be in its way.
func (e *endpoint) meet(c *call) (*answer, error) {
	e.mu.Lock()
	down, fault := e.down, e.fault
	e.mu.Unlock()
	if down {
		return nil, refused()
	}
	e.recall(c)
	if fault != nil {
		if f := fault(c.Request); f != nil {
			return e.suffer(c, f)
		}
	}
	return e.serve(c)
}

// suffer does what a fault says.
func (e *endpoint) suffer(c *call, f *Fault) (*answer, error) {
	if err := e.wait(c.Context(), f.Latency); err != nil {
		return nil, err
	}
	switch {
	case f.Hang:
		return nil, e.wait(c.Context(), forever)
	case f.Reset:
		return nil, reset()
	}
	a, err := e.damaged(c, f)
	if err == nil && f.Lose {
		err = reset()
	}
	return a, err
}

// damaged is the answer that a fault leaves.
func (e *endpoint) damaged(c *call, f *Fault) (*answer, error) {
	a := &answer{status: f.Status, header: http.Header{}, body: []byte(f.Body), code: f.code}
	if f.Status == 0 {
		var err error
		if a, err = e.serve(c); err != nil {
			return nil, err
		}
		if f.Rewrite != nil && a.status == http.StatusOK {
			a.body = f.Rewrite(bytes.Clone(a.body))
		}
	} else {
		a.header.Set("Content-Type", e.contentType(f.Status))
	}
	for key, values := range f.Header {
		a.header[http.CanonicalHeaderKey(key)] = values
	}
	a.pad, a.stall = f.Pad, f.Stall
	return a, nil
}

// forever is a wait that nothing but an interruption ends.
const forever = time.Duration(math.MaxInt64)

// wait waits for d, the end of the request, or its being cut. The channel is
// made here and not once for all, because the caller may be in a bubble of
// testing/synctest and the endpoint made outside.
func (e *endpoint) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	waiting := make(chan struct{})
	e.mu.Lock()
	e.waiting[waiting] = struct{}{}
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		delete(e.waiting, waiting)
		e.mu.Unlock()
	}()
	var elapsed <-chan time.Time
	if d < forever { // else even a timer would move the clock of a bubble that is idle
		timer := time.NewTimer(d)
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-elapsed:
		return nil
	case <-waiting:
		return reset()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refused and reset are the errors of package net for a connection that is not
// made, and for one that is cut.
func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func reset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}
