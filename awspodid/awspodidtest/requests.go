package awspodidtest

import (
	"net/http"
	"strings"
	"time"
)

// logSize is how many requests are remembered.
const logSize = 10000

// Request is what is remembered of a request: never a token.
type Request struct {
	Time   time.Time // when it arrived
	Took   time.Duration
	Method string
	Host   string
	Path   string
	Status int    // of the answer; zero if there was none
	Code   string // of the refusal, such as "AccessDeniedException"; "" if it had none

	// What its token said, or would have had anybody looked.
	HadToken bool      // it carried one, good or bad
	Subject  string    // the token's sub, if it could be parsed
	TokenID  string    // its jti: tells tokens apart, and is no secret
	Expiry   time.Time // its exp
	Cached   bool      // the Agent had credentials for it

	// What an STS was asked for.
	RoleARN         string
	RoleSessionName string
	DurationSeconds string // as sent; "" if not
}

// Counts counts requests by how they ended.
type Counts struct {
	OK      int // 2xx
	Refused int // 3xx and 4xx
	Failed  int // 5xx
	Cut     int // no answer

	Cached   int // those of OK that an Agent answered from its cache
	Upstream int // an Agent's calls to EKS Auth; its own retries are not counted
}

// Total is how many requests there were.
func (c Counts) Total() int { return c.OK + c.Refused + c.Failed + c.Cut }

// requestLog is a ring of the last requests, and the counts of all.
type requestLog struct {
	ring   []Request
	next   int // where the oldest is, once the ring is full
	counts Counts
}

// Requests returns the last 10,000 requests, in the order in which they were
// answered.
func (e *endpoint) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]Request, 0, len(e.log.ring))
	list = append(list, e.log.ring[e.log.next:]...)
	return append(list, e.log.ring[:e.log.next]...)
}

// Counts returns how many requests there were, by outcome. It is cheap, and
// counts what the log has forgotten.
func (e *endpoint) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.log.counts
}

// ClearRequests empties the log and sets all counts to zero.
func (e *endpoint) ClearRequests() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = requestLog{}
}

// add remembers a request that has been answered, or not if a is nil.
func (l *requestLog) add(c *call, a *answer) {
	c.note.Took = time.Since(c.note.Time)
	if a != nil {
		c.note.Status, c.note.Code = a.status, a.code
	}
	l.count(&c.note)
	if len(l.ring) < logSize {
		l.ring = append(l.ring, c.note)
		return
	}
	l.ring[l.next] = c.note
	l.next = (l.next + 1) % logSize
}

func (l *requestLog) count(r *Request) {
	switch {
	case r.Status == 0:
		l.counts.Cut++
	case r.Status < http.StatusMultipleChoices:
		l.counts.OK++
		if r.Cached {
			l.counts.Cached++
		}
	case r.Status < http.StatusInternalServerError:
		l.counts.Refused++
	default:
		l.counts.Failed++
	}
}

// redact makes of a text what may be remembered, should a client put a token
// where none belongs.
func redact(text string) string {
	if i := strings.Index(text, "eyJ"); i >= 0 { // a JWT's header in base64
		return text[:i] + "REDACTED"
	}
	return text
}
