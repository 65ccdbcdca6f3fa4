package vaultauthtest

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// admit finds the token of a request and counts its use. The answer is nil if
// the token is good.
func (s *Server) admit(c *call) *answer {
	text := clientToken(c.Request)
	if text == "" {
		return refusal(http.StatusForbidden, "permission denied")
	}
	c.token = s.find(text)
	if c.token == nil {
		return refusal(http.StatusForbidden, s.deadToken())
	}
	switch c.token.uses {
	case 0:
	case 1:
		c.token.uses = used
	default:
		c.token.uses--
	}
	return nil
}

// malformed is what every request is told, even a login, that comes with
// something that begins like a batch token and cannot be decoded.
func (s *Server) malformed(text string) *answer {
	encoded, batch := strings.CutPrefix(text, s.Product.batchPrefix())
	if !batch { // Vault's own prefix, too, was once the short one
		encoded, batch = strings.CutPrefix(text, OpenBao.batchPrefix())
	}
	if !batch {
		return nil
	}
	encoded, _, _ = strings.Cut(encoded, ".") // the namespace's ID
	if _, err := base64.RawURLEncoding.DecodeString(encoded); err != nil {
		return refusal(http.StatusInternalServerError, "error performing token check: "+err.Error())
	}
	return nil
}

// deadToken is what a request with an unknown, expired or revoked token is
// told.
func (s *Server) deadToken() string {
	if s.Product == OpenBao {
		return "permission denied"
	}
	return twoErrors("permission denied", "invalid token")
}

// allow asks whether the client's token may do what it wants to.
func (s *Server) allow(c *call) *answer {
	t := c.token
	if t.entity != "" && !s.living[t.entity] {
		return refusal(http.StatusForbidden, "permission denied")
	}
	path, inside := c.path, true
	if !strings.HasPrefix(path, "auth/token/") && !strings.HasPrefix(path, "sys/wrapping/") && t.namespace != c.namespace {
		path, inside = relative(t.namespace, join(c.namespace, c.path))
	}
	if !inside || !s.permits(t.policies, path, !c.reads()) {
		return refusal(http.StatusForbidden, oneError("permission denied"))
	}
	return nil
}

// relative writes a path as seen from a namespace, if it is in there.
func relative(namespace, path string) (string, bool) {
	if namespace == "" {
		return path, true
	}
	return strings.CutPrefix(path, namespace+"/")
}

// dropUsed removes a token that has had its last use.
func (s *Server) dropUsed(t *token) {
	if t.uses == used {
		s.remove(t)
	}
}
