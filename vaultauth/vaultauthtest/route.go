package vaultauthtest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// handle answers a request. An error means that there is no answer, because
// the connection was refused or cut, or the caller has gone.
func (s *Server) handle(r *http.Request) (*answer, error) {
	c := &call{Request: r, at: time.Now(), full: strings.TrimPrefix(r.URL.Path, "/v1/")}
	c.path = c.full
	a, err := s.meet(c)
	if err == nil {
		c.status = a.status
		if r.Method == http.MethodHead {
			a.body = nil
		}
		a.header.Set("Cache-Control", "no-store")
		if namespace := r.Header.Get(namespaceHeader); namespace != "" {
			a.header.Set(namespaceHeader, namespace)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(c)
	return a, err
}

// meet takes a request through what may be in its way.
func (s *Server) meet(c *call) (*answer, error) {
	a, err := s.trouble(c)
	if a != nil || err != nil {
		return a, err
	}
	if a = c.decode(s.Product); a == nil {
		a = s.serve(c)
	}
	if c.lost {
		return nil, reset()
	}
	return a, nil
}

// serve answers a request that got through. Signatures are checked without the
// lock.
func (s *Server) serve(c *call) *answer {
	attempt, a := s.route(c)
	if attempt == nil {
		return a
	}
	who, a := s.identify(c.Context(), attempt)
	if a != nil {
		return a
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grant(c, attempt, who)
}

// route answers every request but a login, which it begins.
func (s *Server) route(c *call) (*attempt, *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.routeSystem(c); a != nil {
		return nil, a
	}
	var found bool
	if c.namespace, c.path, found = s.resolve(c.Request, c.full); !found {
		return nil, refusal(http.StatusNotFound, "namespace not found")
	}
	if c.Method == "LIST" { // whose paths are folders
		c.path = strings.TrimSuffix(c.path, "/") + "/"
	}
	if c.writes() && strings.HasSuffix(c.path, "/") {
		return nil, refusal(http.StatusBadRequest, "cannot write to a path ending in '/'")
	}
	if a := s.malformed(clientToken(c.Request)); a != nil {
		return nil, a
	}
	if m := s.login(c.namespace, c.path); m != nil {
		return s.beginLogin(c, m)
	}
	return nil, s.routeToken(c)
}

// routeSystem answers what a server answers in every state, and everything
// while it is in none to answer. The answer is nil if it is.
func (s *Server) routeSystem(c *call) *answer {
	switch {
	case !strings.HasPrefix(c.URL.Path, "/v1/"):
		return refusal(http.StatusNotFound)
	case c.full == "sys/health":
		return s.health(c)
	case c.full == "sys/seal-status":
		return s.sealStatus()
	case s.sealed:
		return refusal(http.StatusServiceUnavailable, "Vault is sealed")
	case s.standby:
		return refusal(http.StatusInternalServerError, "local node not active but active cluster node not found")
	}
	return nil
}

// routeToken answers a request that takes a token.
func (s *Server) routeToken(c *call) *answer {
	endpoint := s.endpoint(c)
	if a := s.admit(c); a != nil {
		return a
	}
	// The last use of a token is served before the token goes.
	defer s.dropUsed(c.token)
	if a := s.allow(c); a != nil {
		return a
	}
	if endpoint == nil {
		return refusal(http.StatusNotFound,
			fmt.Sprintf("no handler for route %q. route entry not found.", redactPath(c.path)))
	}
	return s.wrapped(c, endpoint(c))
}

// endpoint finds what a path does, and nil if nothing is there.
func (s *Server) endpoint(c *call) func(*call) *answer {
	switch c.path {
	case "auth/token/renew-self":
		c.kind = renewal
		return s.renewSelf
	case "auth/token/lookup-self":
		c.kind = lookup
		return s.lookupSelf
	case "auth/token/revoke-self":
		c.kind = revocation
		return s.revokeSelf
	case "sys/wrapping/unwrap":
		return s.unwrap
	}
	if strings.HasPrefix(c.path, secretPrefix) {
		c.kind = read
		if c.writes() {
			c.kind = write
		}
		return s.serveSecret
	}
	return nil
}
