package vaultauthtest

import (
	"crypto/sha256"
	"time"
)

// digest stands for a token's text, which the server does not keep.
type digest [sha256.Size]byte

func digestOf(text string) digest { return sha256.Sum256([]byte(text)) }

// used is the number of uses of a token that has just had its last.
const used = -1

// token is what the server knows of a token. Its text is nowhere.
type token struct {
	id          digest
	accessor    string
	namespace   string
	method      *method
	role        string
	path        string // where it was made
	displayName string
	metadata    map[string]string
	policies    []string
	entity      string
	batch       bool
	uses        int // left; 0 for any number
	numUses     int // as given
	explicitMax time.Duration
	period      time.Duration
	ttl         time.Duration // at its making
	issued      time.Time
	renewed     time.Time
	expires     time.Time
	wrapped     func() []byte // the answer that a wrapping token stands for
}

func (t *token) kind() string {
	if t.batch {
		return "batch"
	}
	return "service"
}

// expired tells whether the token is dead now. The life of a service token
// ends with a timer at the very instant, that of a batch token when somebody
// looks later.
func (t *token) expired(now time.Time) bool {
	if t.batch {
		return now.After(t.expires)
	}
	return !now.Before(t.expires)
}

// add gives a token its text, which it returns, and its accessor.
func (s *Server) add(t *token) string {
	if len(s.tokens) > s.sweepAt {
		s.sweep()
	}
	text := s.newText(t.batch)
	if !t.batch {
		t.accessor = base62(24)
	}
	if t.namespace != "" {
		suffix := "." + s.namespaces[t.namespace]
		text += suffix
		if !t.batch {
			t.accessor += suffix
		}
	}
	t.id = digestOf(text)
	s.tokens[t.id] = t
	if t.accessor != "" {
		s.accessors[t.accessor] = t.id
	}
	return text
}

// newText makes a token as long as the product's own.
func (s *Server) newText(batch bool) string {
	switch {
	case batch:
		return s.Product.batchPrefix() + "AAAAAQ" + randomText(120)
	case s.Product == OpenBao:
		return s.Product.servicePrefix() + base62(24)
	}
	return s.Product.servicePrefix() + "CAES" + randomText(87)
}

// find returns a token that is good, nil for any other.
func (s *Server) find(text string) *token {
	t := s.tokens[digestOf(text)]
	if t != nil && t.expired(time.Now()) {
		s.remove(t)
		return nil
	}
	return t
}

func (s *Server) remove(t *token) {
	delete(s.tokens, t.id)
	delete(s.accessors, t.accessor)
}

// sweep removes what has expired. It runs when the tokens have doubled since
// the last time, so that it costs each login little.
func (s *Server) sweep() {
	now := time.Now()
	for _, t := range s.tokens {
		if t.expired(now) {
			s.remove(t)
		}
	}
	s.sweepAt = 2*len(s.tokens) + 1024
}

// Revoke revokes the token with this accessor, as an administrator would, and
// tells whether there was one. Batch tokens have no accessor.
func (s *Server) Revoke(accessor string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens[s.accessors[accessor]]
	if t == nil || accessor == "" {
		return false
	}
	s.remove(t)
	return true
}

// RevokeAll revokes every token, those of type batch too.
func (s *Server) RevokeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
	clear(s.accessors)
}

// Tokens returns how many tokens are alive.
func (s *Server) Tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	return len(s.tokens)
}
