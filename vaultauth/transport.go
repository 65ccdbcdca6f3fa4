package vaultauth

import (
	"bytes"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
)

// Transport returns a RoundTripper that gives each request the session's
// current token, and repeats a request once that got a 403 because its token
// is dead (see Do). It leaves alone requests with a token that is none of this
// session's. If base is nil, it is http.DefaultTransport.
//
// A client that has it, and every client made from that one by Clone or
// WithNamespace, follows all logins of the session. [NewSession] sets it.
func (s *Session) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{session: s, base: base}
}

type transport struct {
	session *Session
	base    http.RoundTripper
}

var _ http.RoundTripper = (*transport)(nil)

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	token := t.session.tokenFor(req)
	if token == "" {
		return t.base.RoundTrip(req) // as it is
	}
	resp, err := t.base.RoundTrip(withToken(req, token))
	if err != nil || resp.StatusCode != http.StatusForbidden {
		return resp, err
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	resp.Body = &rest{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
	// Also where this request cannot be repeated, those after it gain by it.
	if !t.session.revive(req.Context(), token, string(text)) {
		return resp, nil
	}
	body, ok := again(req)
	next := t.session.token()
	if !ok || next == "" {
		return resp, nil
	}
	// The connection serves the next request only if the answer was read.
	_, _ = io.CopyN(io.Discard, resp.Body, 2*maxRefusal)
	resp.Body.Close()
	repeated := withToken(req, next)
	repeated.Body = body
	return t.base.RoundTrip(repeated)
}

// maxRefusal is how many bytes of a 403 are looked at.
const maxRefusal = 4 << 10

// rest is a body of which some was read and put back.
type rest struct {
	io.Reader
	io.Closer
}

// CloseIdleConnections is what http.Client's calls.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// tokenFor is the token to send with req, "" to leave it as it is: it is the
// session's own, has a token of somebody else, or goes to another server.
func (s *Session) tokenFor(req *http.Request) string {
	if req.Context().Value(ownRequest{}) != nil || !s.isServer(req) {
		return ""
	}
	has := req.Header.Get(tokenHeader)
	if token := s.token(); token != "" && has == token {
		return token
	}
	if has != "" {
		s.mu.Lock()
		ours := s.former.has(has)
		s.mu.Unlock()
		if !ours {
			return ""
		}
	}
	return s.await(req.Context())
}

// isServer says whether req goes to where the session's client does. Its Host
// is that of the client's address also where a name or a redirect leads to
// one of several nodes.
func (s *Session) isServer(req *http.Request) bool {
	if s.Client == nil {
		return false
	}
	address := s.Client.Address()
	server := s.server.Load()
	if server == nil || server.address != address {
		u, err := url.Parse(address)
		if err != nil {
			return false
		}
		server = &serverURL{address: address, scheme: u.Scheme, host: u.Host}
		s.server.Store(server)
	}
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	return server.host == host && server.scheme == req.URL.Scheme
}

// serverURL is the parsed address of the client.
type serverURL struct{ address, scheme, host string }

// withToken is req with token; a RoundTripper must not change what it was given.
func withToken(req *http.Request, token string) *http.Request {
	next := *req
	next.Header = req.Header.Clone()
	if next.Header == nil {
		next.Header = make(http.Header)
	}
	next.Header.Set(tokenHeader, token)
	return &next
}

// again returns the body for sending req a second time.
func again(req *http.Request) (io.ReadCloser, bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req.Body, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	return body, err == nil
}

// maxFormer is how many tokens a session knows for its own: seven years of hourly logins.
const maxFormer = 1 << 16

// formerTokens knows the tokens that this session had, without keeping them:
// clients that were made while an old one was current still carry it.
type formerTokens struct {
	seed maphash.Seed
	set  map[uint64]struct{}
	ring []uint64 // in the order of their coming, once it is full
	next int
}

func (f *formerTokens) sum(token string) uint64 {
	if f.set == nil {
		f.seed, f.set = maphash.MakeSeed(), make(map[uint64]struct{})
	}
	return maphash.String(f.seed, token)
}

func (f *formerTokens) add(token string) {
	sum := f.sum(token)
	if _, known := f.set[sum]; known || token == "" {
		return
	}
	f.set[sum] = struct{}{}
	if len(f.ring) < maxFormer {
		f.ring = append(f.ring, sum)
		return
	}
	delete(f.set, f.ring[f.next])
	f.ring[f.next] = sum
	f.next = (f.next + 1) % maxFormer
}

func (f *formerTokens) has(token string) bool {
	_, known := f.set[f.sum(token)]
	return known
}
