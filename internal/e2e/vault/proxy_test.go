//go:build linux

package vault

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fault is what the proxy in front of the API server does to a request.
type fault int32

const (
	noFault      fault = 0
	unreachable  fault = -1                             // the connection breaks
	unauthorized fault = http.StatusUnauthorized        // the reviewer's token has expired
	throttled    fault = http.StatusTooManyRequests     //
	broken       fault = http.StatusInternalServerError //
)

// A proxy stands in front of the API server, for the login server to ask it
// through.
type proxy struct {
	url   string
	fault atomic.Int32
}

func startProxy(t *testing.T, c *cluster) *proxy {
	t.Helper()
	target, err := url.Parse(c.URL)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = c.admin.Transport
	p := &proxy{}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch f := fault(p.fault.Load()); f {
		case noFault:
			forward.ServeHTTP(w, r)
		case unreachable:
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(int(f))
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"}`)
		}
	}))
	t.Cleanup(listener.Close)
	p.url = listener.URL
	return p
}

func (p *proxy) set(f fault) { p.fault.Store(int32(f)) }
