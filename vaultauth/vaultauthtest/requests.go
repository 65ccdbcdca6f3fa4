package vaultauthtest

import (
	"strings"
	"time"
)

// Request is what the server remembers of a request: never a token.
type Request struct {
	Time      time.Time // when it arrived
	Method    string
	Path      string // within the namespace, without /v1/
	Namespace string
	Accessor  string // of the client's token, if it was good; for a login, of the token that it gave
	Status    int    // of the answer; zero if there was none
	WrapTTL   bool   // it asked for a wrapped answer
	HadToken  bool   // it carried a token, good or bad
}

// Outcomes counts how requests of one kind ended.
type Outcomes struct {
	OK      int // 2xx
	Refused int // 4xx
	Failed  int // 5xx
	Cut     int // no answer
}

// Total is how many there were.
func (o Outcomes) Total() int { return o.OK + o.Refused + o.Failed + o.Cut }

// Counts counts the requests since the server was made, or since
// ClearRequests. What did not get as far as to be told apart counts among
// Others.
type Counts struct {
	Logins      Outcomes
	Renewals    Outcomes // auth/token/renew-self
	Lookups     Outcomes // auth/token/lookup-self
	Revocations Outcomes // auth/token/revoke-self
	Reads       Outcomes // of secrets
	Writes      Outcomes // of secrets
	Others      Outcomes
}

// Total is how many requests there were.
func (c Counts) Total() int {
	total := 0
	for _, o := range []Outcomes{c.Logins, c.Renewals, c.Lookups, c.Revocations, c.Reads, c.Writes, c.Others} {
		total += o.Total()
	}
	return total
}

// kind says what a request is for.
type kind int

const (
	other kind = iota
	login
	renewal
	lookup
	revocation
	read
	write
	kinds int = iota
)

// requestLog is a ring of the last requests, and the counts of all.
type requestLog struct {
	ring   []Request
	next   int // where the oldest is, once the ring is full
	counts [kinds]Outcomes
}

// Requests returns the last requests, up to LogSize, in the order in which they
// were answered.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Request, 0, len(s.log.ring))
	list = append(list, s.log.ring[s.log.next:]...)
	return append(list, s.log.ring[:s.log.next]...)
}

// Counts returns how many requests there were, by kind and outcome. It is
// cheap, and counts what the log has forgotten.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.log.counts
	return Counts{
		Logins:      counts[login],
		Renewals:    counts[renewal],
		Lookups:     counts[lookup],
		Revocations: counts[revocation],
		Reads:       counts[read],
		Writes:      counts[write],
		Others:      counts[other],
	}
}

// ClearRequests empties the log and sets all counts to zero.
func (s *Server) ClearRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = requestLog{}
}

// note remembers a request that has been answered.
func (s *Server) note(c *call) {
	s.log.count(c.kind, c.status)
	size := s.LogSize
	if size == 0 {
		size = 10000
	}
	if size < 0 {
		return
	}
	request := Request{
		Time:      c.at,
		Method:    c.Method,
		Path:      redactPath(c.path),
		Namespace: c.namespace,
		Status:    c.status,
		WrapTTL:   c.Header.Get(wrapHeader) != "",
		HadToken:  clientToken(c.Request) != "",
	}
	if c.token != nil {
		request.Accessor = c.token.accessor
	}
	if len(s.log.ring) < size {
		s.log.ring = append(s.log.ring, request)
		return
	}
	s.log.ring[s.log.next] = request
	s.log.next = (s.log.next + 1) % size
}

func (l *requestLog) count(k kind, status int) {
	outcomes := &l.counts[k]
	switch {
	case status == 0:
		outcomes.Cut++
	case status < 300:
		outcomes.OK++
	case status < 500:
		outcomes.Refused++
	default:
		outcomes.Failed++
	}
}

// redactPath makes of a path what may be logged: some clients of old put
// tokens into it.
func redactPath(path string) string {
	if !strings.Contains(path, ".") { // as nearly all
		return path
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		prefix, rest, _ := strings.Cut(segment, ".")
		switch prefix {
		case "hvs", "hvb", "s", "b":
			if len(rest) >= 20 {
				segments[i] = prefix + ".REDACTED"
			}
		}
		if strings.Count(segment, ".") >= 2 && strings.HasPrefix(segment, "ey") {
			segments[i] = "REDACTED"
		}
	}
	return strings.Join(segments, "/")
}
