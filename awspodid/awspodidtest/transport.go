package awspodidtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Transport returns a RoundTripper that hands requests over by a function
// call: whatever the host of their URL. It needs no socket and no goroutine,
// so that clients may live in a bubble of testing/synctest. While the server
// is down and when it cuts a connection it returns an error of package net, as
// a real transport would.
func (e *endpoint) Transport() http.RoundTripper { return transport{e} }

type transport struct{ endpoint *endpoint }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if err := checkHeader(r.Header); err != nil {
		return nil, err
	}
	a, err := t.endpoint.handle(r)
	if err != nil {
		return nil, err
	}
	header := a.header.Clone()
	header.Set("Content-Length", strconv.FormatInt(a.size(), 10))
	header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          a.reader(r.Context()),
		ContentLength: a.size(),
		Request:       r,
	}, nil
}

// checkHeader refuses what http.Transport refuses to send, such as a token
// with a newline at its end, in its words.
func checkHeader(header http.Header) error {
	for key, values := range header {
		for _, value := range values {
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("net/http: invalid header field value for %q", key)
			}
		}
	}
	return nil
}

// ServeHTTP answers a request that came over the network. Where Transport
// returns an error, ServeHTTP aborts the connection with the panic that
// package http has for this.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := e.handle(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for key, values := range a.header {
		w.Header()[key] = values
	}
	w.Header().Set("Content-Length", strconv.FormatInt(a.size(), 10))
	w.WriteHeader(a.status)
	body := a.reader(r.Context())
	if a.stall {
		_, err = io.CopyN(flusher{w}, body, a.pad+int64(len(a.body)/2))
	}
	if err == nil {
		_, err = io.Copy(w, body)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// flusher sends what is written at once.
type flusher struct{ http.ResponseWriter }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	return n, errors.Join(err, http.NewResponseController(f.ResponseWriter).Flush())
}

// Start serves on a port of the loopback interface, for programs that are not
// in this process, and returns the URL, which has no path. Call stop to end
// that and to wait for the requests in progress. It panics if it cannot listen.
//
// While the server is down, a connection here is made and then cut. An Agent
// refuses the host of this URL unless Agent.Hosts allows it.
func (e *endpoint) Start() (url string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	requests := &inProgress{handler: e}
	server := &http.Server{Handler: requests, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener)
	}()
	return "http://" + listener.Addr().String(), func() {
		cancel()
		server.Close()
		<-done
		requests.end()
	}
}

// inProgress knows which requests a handler has not yet answered.
type inProgress struct {
	handler http.Handler

	mu       sync.Mutex
	ended    bool
	requests sync.WaitGroup
}

func (p *inProgress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		panic(http.ErrAbortHandler)
	}
	p.requests.Add(1)
	p.mu.Unlock()
	defer p.requests.Done()
	p.handler.ServeHTTP(w, r)
}

// end waits for all requests, and lets no more in.
func (p *inProgress) end() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.requests.Wait()
}

func (a *answer) size() int64 { return a.pad + int64(len(a.body)) }

// reader is the body as a client gets it.
func (a *answer) reader(ctx context.Context) io.ReadCloser {
	b := &body{ctx: ctx, closed: make(chan struct{})}
	content := a.body
	if a.stall {
		content = content[:len(content)/2]
	}
	b.parts = io.MultiReader(io.LimitReader(spaces{}, a.pad), bytes.NewReader(content))
	b.stall = a.stall
	return b
}

// body is an answer's body on its way. Reading it ends with the request's
// context.
type body struct {
	ctx   context.Context
	parts io.Reader
	stall bool

	once   sync.Once
	closed chan struct{}
}

func (b *body) Read(p []byte) (int, error) {
	select {
	case <-b.closed:
		return 0, http.ErrBodyReadAfterClose
	default:
	}
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.parts.Read(p)
	if n > 0 || !b.stall || err != io.EOF {
		return n, err
	}
	select {
	case <-b.closed:
		return 0, http.ErrBodyReadAfterClose
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
}

func (b *body) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// spaces is an endless file of them.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
