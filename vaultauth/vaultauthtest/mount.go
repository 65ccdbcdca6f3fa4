package vaultauthtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The types of auth method that a Mount can be.
const (
	jwtType        = "jwt"
	kubernetesType = "kubernetes"
)

// Mount is an auth method. The zero value is a jwt method in the root
// namespace that verifies tokens of the Server's issuer.
type Mount struct {
	// Type is "jwt" or "kubernetes". If empty, "kubernetes" for the path of
	// that name and else "jwt".
	Type string

	// Namespace is where the method is, without slashes at its ends; it exists
	// from then on. If empty, the root. Vault's community edition has no
	// other, so nobody can log in there while Product is Vault.
	Namespace string

	// BoundIssuer is, for jwt, what iss must be, if set.
	BoundIssuer string

	// KeysUnreachable plays, for jwt, a server that cannot fetch the issuer's
	// keys.
	KeysUnreachable bool

	// Reviewer is, for kubernetes, the API server that is asked about each
	// token. If nil, a good one that verifies the token with the Server's
	// issuer and knows of deleted pods.
	Reviewer Reviewer
}

// Role is a role of an auth method, in the words of its API. Times are rounded
// down to whole seconds, as they are there.
type Role struct {
	// BoundAudiences are, for jwt, of which aud must hold one; without any, a
	// token that has aud is refused. For kubernetes the first is the role's
	// audience; without one, the token's own are good.
	BoundAudiences []string

	// BoundSubject is, for jwt, what sub must be, if set.
	BoundSubject string

	// BoundClaims are, for jwt, claims with the value that each must have or
	// hold: a string, bool or number, or a list of allowed ones. A name that
	// begins with a slash is a JSON pointer, such as
	// "/kubernetes.io/namespace".
	BoundClaims map[string]any

	// BoundServiceAccountNames and BoundServiceAccountNamespaces are, for
	// kubernetes, whose tokens are good; "*" stands for any text. Without
	// any, nobody's are.
	BoundServiceAccountNames      []string
	BoundServiceAccountNamespaces []string

	// TokenTTL is the lease of a token and of each renewal. If zero, 768 h,
	// the servers' default.
	TokenTTL time.Duration

	// TokenMaxTTL bounds the whole life of a token. If zero, 768 h.
	TokenMaxTTL time.Duration

	// TokenExplicitMaxTTL bounds it too, even that of a periodic token, and
	// by the value that it had at the login.
	TokenExplicitMaxTTL time.Duration

	// TokenPeriod, if set, is the lease of a token and of each renewal, which
	// then may go on for ever.
	TokenPeriod time.Duration

	// Batch makes batch tokens, which cannot be renewed.
	Batch bool

	// NumUses is how many requests a token is good for. If zero, any number.
	NumUses int

	// Policies are those of the token, beside "default".
	Policies []string

	// NoDefaultPolicy leaves out the policy that lets a token renew, look up
	// and revoke itself.
	NoDefaultPolicy bool
}

// method is a Mount in its place. Its roles are replaced and never changed, so
// that a login may go on with one without the lock.
type method struct {
	Mount
	path  string
	roles map[string]*Role
}

// Enable adds an auth method at auth/path, in m.Namespace. One that is there is
// changed, and keeps its roles and its tokens. It panics if m.Type is neither
// "jwt" nor "kubernetes".
func (s *Server) Enable(path string, m Mount) {
	path, m.Namespace = strings.Trim(path, "/"), strings.Trim(m.Namespace, "/")
	if m.Type == "" {
		m.Type = jwtType
		if path == kubernetesType {
			m.Type = kubernetesType
		}
	}
	if m.Type != jwtType && m.Type != kubernetesType {
		panic(fmt.Sprintf("%s: cannot enable an auth method of type %q", packageName, m.Type))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addNamespace(m.Namespace)
	key, roles := join(m.Namespace, path), make(map[string]*Role)
	if old := s.methods[key]; old != nil {
		roles = old.roles // shared with the method that its tokens know
	}
	s.methods[key] = &method{Mount: m, path: path, roles: roles}
}

// SetRole makes or replaces the role of the auth method that was enabled at
// the path mount. For one in a namespace write NAMESPACE/PATH; the path
// suffices if no other method has it. Tokens that exist keep what their login
// gave them but for their TTL, max TTL and period, which a renewal takes from
// the role as it is then.
//
// It panics if there is no such method.
func (s *Server) SetRole(mount, role string, r Role) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.method(mount)
	stored := r
	stored.BoundAudiences = slices.Clone(r.BoundAudiences)
	stored.BoundClaims = maps.Clone(r.BoundClaims)
	stored.BoundServiceAccountNames = slices.Clone(r.BoundServiceAccountNames)
	stored.BoundServiceAccountNamespaces = slices.Clone(r.BoundServiceAccountNamespaces)
	stored.TokenTTL = r.TokenTTL.Truncate(time.Second)
	stored.TokenMaxTTL = r.TokenMaxTTL.Truncate(time.Second)
	stored.TokenExplicitMaxTTL = r.TokenExplicitMaxTTL.Truncate(time.Second)
	stored.TokenPeriod = r.TokenPeriod.Truncate(time.Second)
	stored.Policies = sanitize(r.Policies, !r.NoDefaultPolicy)
	m.roles[strings.ToLower(role)] = &stored
}

// DeleteRole removes a role. Tokens that it gave stay good, but can no longer
// be renewed. Mounts are written as for SetRole.
func (s *Server) DeleteRole(mount, role string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.method(mount).roles, strings.ToLower(role))
}

// method finds an auth method by what a caller calls it.
func (s *Server) method(mount string) *method {
	mount = strings.Trim(mount, "/")
	if m := s.methods[mount]; m != nil {
		return m
	}
	var found []*method
	for _, m := range s.methods {
		if m.path == mount {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		panic(fmt.Sprintf("%s: %d auth methods are enabled at %q", packageName, len(found), mount))
	}
	return found[0]
}

// login returns the auth method whose login the path is, if any.
func (s *Server) login(namespace, path string) *method {
	path, ok := strings.CutPrefix(path, "auth/")
	if !ok {
		return nil
	}
	path, ok = strings.CutSuffix(path, "/login")
	if !ok {
		return nil
	}
	m := s.methods[join(namespace, path)]
	if m == nil || m.Namespace != namespace {
		return nil
	}
	return m
}

// sanitize sorts policies and drops what is there twice, as the servers do.
func sanitize(policies []string, withDefault bool) []string {
	clean := []string{}
	for _, p := range policies {
		if p = strings.ToLower(strings.TrimSpace(p)); p != "" {
			clean = append(clean, p)
		}
	}
	if withDefault {
		clean = append(clean, "default")
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}
