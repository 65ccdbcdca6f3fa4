package vaultauthtest

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// Fault is what happens to a request in place of the server's answer.
type Fault struct {
	Status int         // of the answer; if zero, 500
	Body   string      // of the answer
	Header http.Header // of the answer, beside the usual ones

	// Drop cuts the connection without an answer.
	Drop bool

	// Lose cuts the connection too, but the server has done by then what the
	// request asks for.
	Lose bool

	// Hang lets the request wait until its context ends.
	Hang bool
}

// SetFault makes f decide what goes wrong with each request; nil from f lets
// the request pass, and a nil f all of them. f is called before the server
// looks at the request, and must be safe for concurrent use.
func (s *Server) SetFault(f func(*http.Request) *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// SetLatency makes each request wait for as long as f says before the server
// looks at it; it ends earlier with the request's context, and with SetDown
// and Restart. A nil f takes no time. f must be safe for concurrent use.
func (s *Server) SetLatency(f func(*http.Request) time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = f
}

// SetRateLimit makes the server answer 429 to more than perSecond requests a
// second and burst at once, counted over all clients; the health and the seal
// status are exempt. With retryAfter it also says when to come back, which
// the real servers do if their configuration wants it. A perSecond of zero
// lifts the limit.
func (s *Server) SetRateLimit(perSecond float64, burst int, retryAfter bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limiter, s.retryAfter = nil, retryAfter
	if perSecond > 0 {
		s.limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, burst))
	}
}

// SetDown makes connections be refused, until SetDown(false). Requests that
// are waiting are cut.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	if down {
		s.cut()
	}
}

// Restart cuts the requests that are waiting. All else is as before a restart
// of a real server that unseals itself: service tokens live on, and so do
// batch tokens.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
}

func (s *Server) cut() {
	for waiting := range s.waiting {
		close(waiting)
	}
	clear(s.waiting)
}

// trouble is what a request meets before the server looks at it.
func (s *Server) trouble(c *call) (*answer, error) {
	s.mu.Lock()
	down, latency, fault := s.down, s.latency, s.fault
	s.mu.Unlock()
	if down {
		return nil, refused()
	}
	if latency != nil {
		if err := s.wait(c.Context(), latency(c.Request)); err != nil {
			return nil, err
		}
	}
	if fault != nil {
		if f := fault(c.Request); f != nil {
			return s.suffer(c, f)
		}
	}
	return s.limit(c), nil
}

// suffer does what a fault says.
func (s *Server) suffer(c *call, f *Fault) (*answer, error) {
	switch {
	case f.Drop:
		return nil, reset()
	case f.Hang:
		return nil, s.wait(c.Context(), forever)
	case f.Lose:
		c.lost = true
		return nil, nil
	case f.Status == 0:
		return refusal(http.StatusInternalServerError), nil
	}
	a := &answer{status: f.Status, header: http.Header{"Content-Type": {"application/json"}}, body: []byte(f.Body)}
	for key, values := range f.Header {
		a.header[http.CanonicalHeaderKey(key)] = values
	}
	return a, nil
}

// forever is a wait that nothing but an interruption ends.
const forever = time.Duration(math.MaxInt64)

// wait waits for d, the end of the request, or its being cut. The channel is
// made here and not once for all, because the caller may be in a bubble of
// testing/synctest and the server made outside.
func (s *Server) wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	waiting := make(chan struct{})
	s.mu.Lock()
	s.waiting[waiting] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.waiting, waiting)
		s.mu.Unlock()
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

// limit answers 429 if there are too many requests.
func (s *Server) limit(c *call) *answer {
	if c.full == "sys/health" || c.full == "sys/seal-status" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.limiter == nil || s.limiter.AllowN(now, 1) {
		return nil
	}
	a := refusal(http.StatusTooManyRequests, fmt.Sprintf("request path %q: rate limit quota exceeded", redactPath(c.full)))
	if s.retryAfter {
		perSecond := float64(s.limiter.Limit())
		seconds := strconv.Itoa(max(1, int(math.Ceil((1-s.limiter.TokensAt(now))/perSecond))))
		a.header.Set("Retry-After", seconds)
		a.header.Set("X-Ratelimit-Limit", strconv.Itoa(max(1, int(perSecond))))
		a.header.Set("X-Ratelimit-Remaining", "0")
		a.header.Set("X-Ratelimit-Reset", seconds)
	}
	return a
}

// refused and reset are the errors of package net for a connection that is not
// made, and for one that is cut.
func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func reset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}
