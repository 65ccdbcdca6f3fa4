package vaultauthtest

import (
	"net/http"
	"time"
)

// wrapped puts an answer away under a token of its own, if the request asked
// for that.
func (s *Server) wrapped(c *call, a *answer) *answer {
	if c.wrap <= 0 || a.reply == nil {
		return a
	}
	now := time.Now()
	body := a.body
	t := &token{
		namespace: c.namespace,
		path:      c.path,
		policies:  []string{wrappingPolicy},
		uses:      1,
		numUses:   1,
		ttl:       c.wrap, explicitMax: c.wrap,
		issued:  now,
		expires: now.Add(c.wrap),
		wrapped: func() []byte { return body },
	}
	info := &wrapInfo{
		Token:        s.add(t),
		TTL:          int(c.wrap / time.Second),
		CreationTime: now.Format(time.RFC3339Nano),
		CreationPath: c.path,
	}
	info.Accessor = t.accessor
	if a.reply.Auth != nil {
		info.WrappedAccessor = a.reply.Auth.Accessor
	}
	r := &reply{WrapInfo: info} // with neither a request ID nor warnings, as on the servers
	if s.Product != OpenBao {
		r.MountType = new(string)
	}
	return document(http.StatusOK, r)
}

// wrappingPolicy is the policy of a wrapping token, which lets it unwrap.
const wrappingPolicy = "response-wrapping"

// unwrap hands out what a wrapping token stands for, once. The token comes in
// the body, or as the client's own.
func (s *Server) unwrap(c *call) *answer {
	t := c.token
	if text, ok := c.body["token"].(string); ok && text != "" {
		if t = s.find(text); t != nil {
			s.remove(t)
		}
	}
	if t == nil || t.wrapped == nil {
		return refusal(http.StatusBadRequest, "wrapping token is not valid or does not exist")
	}
	return &answer{
		status: http.StatusOK,
		header: http.Header{"Content-Type": {"application/json"}},
		body:   t.wrapped(),
	}
}
