package vaultauthtest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// identity is who logs in, as the auth method found out.
type identity struct {
	alias    string // by which an entity is found again
	display  string
	metadata map[string]string
}

// attempt is a login that is under way.
type attempt struct {
	method *method
	name   string // of the role, as the method writes it
	role   *Role  // nil if there is none of that name
	jwt    string
}

// beginLogin reads a login. The answer is nil if it may go on.
func (s *Server) beginLogin(c *call, m *method) (*attempt, *answer) {
	c.kind = login
	c.token = s.find(clientToken(c.Request))
	if t := c.token; t != nil && t.entity != "" && !s.living[t.entity] {
		return nil, refusal(http.StatusForbidden, "permission denied")
	}
	if !c.writes() {
		return nil, refusal(http.StatusMethodNotAllowed, "unsupported operation")
	}
	a := &attempt{method: m, name: c.field("role"), jwt: c.field("jwt")}
	if m.Type == jwtType {
		a.name = strings.ToLower(a.name)
	}
	a.role = m.roles[strings.ToLower(a.name)]
	return a, nil
}

// identify lets the auth method judge a login. The answer is nil if it is
// good.
func (s *Server) identify(ctx context.Context, a *attempt) (*identity, *answer) {
	if a.method.Type == kubernetesType {
		return s.identifyServiceAccount(ctx, a)
	}
	return s.identifyJWT(a)
}

// grant makes a token by the rules of the role.
func (s *Server) grant(c *call, a *attempt, who *identity) *answer {
	now, m, role := time.Now(), a.method, a.role
	ttl, warnings, err := terms{
		ttl: role.TokenTTL, maxTTL: role.TokenMaxTTL,
		explicitMax: role.TokenExplicitMaxTTL, period: role.TokenPeriod,
	}.lease(now, now)
	if err != nil {
		return refusal(http.StatusInternalServerError, err.Error())
	}
	t := &token{
		namespace:   m.Namespace,
		method:      m,
		role:        a.name,
		path:        c.path,
		displayName: strings.ReplaceAll(m.path, "/", "-") + "-" + who.display,
		metadata:    who.metadata,
		policies:    role.Policies,
		entity:      s.entityOf(m, who.alias),
		batch:       role.Batch,
		uses:        role.NumUses,
		numUses:     role.NumUses,
		explicitMax: role.TokenExplicitMaxTTL,
		period:      role.TokenPeriod,
		ttl:         ttl,
		issued:      now,
		expires:     now.Add(ttl),
	}
	if t.batch { // whose times are whole seconds
		t.expires = now.Truncate(time.Second).Add(ttl)
	}
	text := s.add(t)
	c.token = t
	warnings = append(c.ignored(), warnings...)
	return s.wrapped(c, s.success(&reply{Warnings: warnings, Auth: t.auth(text, ttl)}, ""))
}

// ignored warns of fields that no login has.
func (c *call) ignored() []string {
	var names []string
	for name := range c.body {
		switch name {
		case "jwt", "role", "distributed_claim_access_token":
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{fmt.Sprintf("Endpoint ignored these unrecognized parameters: %v", names)}
}
