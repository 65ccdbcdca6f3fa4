package vaultauthtest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// Transport returns a RoundTripper that hands requests to the server by a
// function call: whatever the host of their URL. It needs no socket and no
// goroutine, so that clients may live in a bubble of testing/synctest. While
// the server is down and when it cuts a connection it returns an error of
// package net, as a real transport would.
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ server *Server }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	a, err := t.server.handle(r)
	if err != nil {
		return nil, err
	}
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		StatusCode:    a.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        a.header,
		Body:          io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)),
		Request:       r,
	}, nil
}

// ServeHTTP answers a request that came over the network. Where Transport
// returns an error, ServeHTTP aborts the connection with the panic that
// package http has for this.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := s.handle(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for key, values := range a.header {
		w.Header()[key] = values
	}
	w.WriteHeader(a.status)
	w.Write(a.body)
}

// Start serves on a port of the loopback interface, for programs that are not
// in this process, and returns the URL. Call stop to end that and to wait for
// the requests in progress. It panics if it cannot listen.
//
// While the server is down, a connection here is made and then cut.
func (s *Server) Start() (url string, stop func()) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(fmt.Sprintf("%s: %v", packageName, err))
	}
	server := &http.Server{Handler: s}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(listener)
	}()
	return "http://" + listener.Addr().String(), func() {
		server.Close()
		<-done
	}
}
