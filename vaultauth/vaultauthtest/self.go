package vaultauthtest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

func unsupported() *answer {
	return refusal(http.StatusMethodNotAllowed, oneError("unsupported operation"))
}

// renewSelf extends the lease of the client's token by the rules of its role
// as it is now.
func (s *Server) renewSelf(c *call) *answer {
	if !c.writes() {
		return unsupported()
	}
	t := c.token
	increment, err := seconds(c.body["increment"])
	switch {
	case err != nil:
		return badIncrement(err.Error())
	case increment < 0:
		return badIncrement(fmt.Sprintf("cannot provide negative value '%d'", increment/time.Second))
	case t.uses == used: // the servers do not find it any more
		return refusal(http.StatusBadRequest, "token not found")
	case t.batch:
		return refusal(http.StatusBadRequest, "batch tokens cannot be renewed")
	case t.method == nil: // a wrapping token
		return refusal(http.StatusBadRequest, "lease is not renewable")
	}
	role := t.method.roles[strings.ToLower(t.role)]
	if role == nil {
		return refusal(http.StatusInternalServerError,
			oneError(fmt.Sprintf("failed to renew entry: role %s does not exist during renewal", t.role)))
	}
	now := time.Now()
	ttl, warnings, err := terms{
		increment: increment, ttl: role.TokenTTL, maxTTL: role.TokenMaxTTL,
		explicitMax: t.explicitMax, period: role.TokenPeriod,
	}.lease(now, t.issued)
	if err != nil {
		return refusal(http.StatusInternalServerError, oneError(err.Error()))
	}
	t.expires, t.renewed = now.Add(ttl), now
	return s.success(&reply{Warnings: warnings, Auth: t.auth(clientToken(c.Request), ttl)}, "token")
}

func badIncrement(why string) *answer {
	return refusal(http.StatusBadRequest,
		`Field validation failed: error converting input for field "increment": `+why)
}

// auth tells of a token and its lease.
func (t *token) auth(text string, ttl time.Duration) *auth {
	return &auth{
		ClientToken:   text,
		Accessor:      t.accessor,
		Policies:      t.policies,
		TokenPolicies: t.policies,
		Metadata:      t.metadata,
		LeaseDuration: int(ttl / time.Second),
		Renewable:     !t.batch,
		EntityID:      t.entity,
		TokenType:     t.kind(),
		Orphan:        true,
		NumUses:       t.numUses,
	}
}

func (s *Server) lookupSelf(c *call) *answer {
	if !c.reads() && !c.writes() {
		return unsupported()
	}
	t, now := c.token, time.Now()
	issued := t.issued
	if t.batch {
		issued = issued.Truncate(time.Second)
	}
	data := map[string]any{
		"id":               clientToken(c.Request),
		"accessor":         t.accessor,
		"policies":         t.policies,
		"path":             t.path,
		"meta":             t.metadata,
		"display_name":     t.displayName,
		"num_uses":         t.uses,
		"orphan":           true,
		"creation_time":    t.issued.Unix(),
		"creation_ttl":     int64(t.ttl / time.Second),
		"expire_time":      t.expires,
		"ttl":              int64(t.expires.Sub(now.Round(time.Second)) / time.Second),
		"explicit_max_ttl": int64(t.explicitMax / time.Second),
		"entity_id":        t.entity,
		"type":             t.kind(),
		"issue_time":       issued,
		"renewable":        !t.batch && t.method != nil,
	}
	if t.period > 0 {
		data["period"] = int64(t.period / time.Second)
	}
	if t.namespace != "" {
		data["namespace_path"] = t.namespace + "/"
	}
	if !t.renewed.IsZero() {
		data["last_renewal"], data["last_renewal_time"] = t.renewed, t.renewed.Unix()
	}
	return s.success(&reply{Data: data}, "token")
}

func (s *Server) revokeSelf(c *call) *answer {
	switch {
	case !c.writes():
		return unsupported()
	case c.token.batch:
		return refusal(http.StatusBadRequest, "batch tokens cannot be revoked")
	}
	s.remove(c.token)
	return nothing()
}
