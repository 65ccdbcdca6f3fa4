//go:build linux

package vault

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// A target is a login server that the table of requests is put to: a real one
// or the fake. What a case needs there is said in the fake's words.
type target interface {
	// enable mounts an auth method of the type "jwt" or "kubernetes", for
	// tokens of the cluster's issuer.
	enable(t *testing.T, kind, path string)
	// enableUnreachable mounts a jwt method that cannot fetch its keys.
	enableUnreachable(t *testing.T, path string)
	setRole(t *testing.T, mount, name string, r vaultauthtest.Role)
	deleteRole(t *testing.T, mount, name string)
	setPolicy(t *testing.T, name string, paths ...string)
	put(t *testing.T, secret string, data object)
	revoke(t *testing.T, accessor string)
	deleteEntity(t *testing.T, id string)
	limit(t *testing.T, path string, perMinute int)
	review(t *testing.T, f fault)
	gone(namespace, pod string) // there is no such pod
	seal(t *testing.T)
	unseal(t *testing.T)

	ask(ctx context.Context, header http.Header, method, path string, body any) (*answer, error)
}

// A realTarget is a real server, which asks the API server through a proxy.
type realTarget struct {
	*server
	cluster *cluster
	proxy   *proxy
	kinds   map[string]string // of the mounts
}

func newRealTarget(t *testing.T, c *cluster) *realTarget {
	t.Helper()
	return &realTarget{server: requireServer(t), cluster: c, proxy: startProxy(t, c), kinds: map[string]string{}}
}

func (r *realTarget) enable(t *testing.T, kind, path string) {
	t.Helper()
	keys, err := publicKeys(r.cluster.issuer)
	require.NoError(t, err)
	config := object{"jwt_validation_pubkeys": []string{keys}, "bound_issuer": r.cluster.issuer.URL}
	if kind == "kubernetes" {
		config = object{
			"kubernetes_host": r.proxy.url, "token_reviewer_jwt": r.cluster.reviewer, "disable_local_ca_jwt": true,
		}
	}
	r.mount(t, kind, path, config)
	r.kinds[path] = kind
}

func (r *realTarget) enableUnreachable(t *testing.T, path string) {
	t.Helper()
	r.mount(t, "jwt", path, object{"jwks_url": r.proxy.url + "/openid/v1/jwks"})
	r.kinds[path] = "jwt"
	r.proxy.set(unreachable)
	t.Cleanup(func() { r.proxy.set(noFault) })
}

// mount mounts an auth method, until the test ends.
func (s *server) mount(t *testing.T, kind, path string, config object) {
	t.Helper()
	s.must(t, http.MethodPost, "sys/auth/"+path, object{"type": kind})
	t.Cleanup(func() { _, _ = s.do(context.Background(), http.MethodDelete, "sys/auth/"+path, nil) })
	s.must(t, http.MethodPost, "auth/"+path+"/config", config)
}

func (r *realTarget) setRole(t *testing.T, mount, name string, role vaultauthtest.Role) {
	t.Helper()
	r.server.setRole(t, r.kinds[mount], mount, name, role)
}

// setRole makes a role from the fake's description of it.
func (s *server) setRole(t *testing.T, kind, mount, name string, r vaultauthtest.Role) {
	t.Helper()
	o := object{
		"token_ttl": seconds(r.TokenTTL), "token_max_ttl": seconds(r.TokenMaxTTL),
		"token_explicit_max_ttl": seconds(r.TokenExplicitMaxTTL), "token_period": seconds(r.TokenPeriod),
		"token_num_uses": r.NumUses, "token_policies": r.Policies, "token_no_default_policy": r.NoDefaultPolicy,
	}
	if r.Batch {
		o["token_type"] = "batch"
	}
	switch kind {
	case "kubernetes":
		o["bound_service_account_names"] = r.BoundServiceAccountNames
		o["bound_service_account_namespaces"] = r.BoundServiceAccountNamespaces
		o["audience"] = strings.Join(r.BoundAudiences, "")
	default:
		o["role_type"], o["user_claim"] = "jwt", "sub"
		o["bound_audiences"], o["bound_subject"], o["bound_claims"] = r.BoundAudiences, r.BoundSubject, r.BoundClaims
	}
	s.must(t, http.MethodPost, "auth/"+mount+"/role/"+name, o)
}

func seconds(d time.Duration) int { return int(d / time.Second) }

func (r *realTarget) deleteRole(t *testing.T, mount, name string) {
	t.Helper()
	r.must(t, http.MethodDelete, "auth/"+mount+"/role/"+name, nil)
}

func (r *realTarget) setPolicy(t *testing.T, name string, paths ...string) {
	t.Helper()
	r.server.setPolicy(t, name, paths...)
}

// setPolicy makes a policy, until the test ends.
func (s *server) setPolicy(t *testing.T, name string, paths ...string) {
	t.Helper()
	var rules strings.Builder
	for _, path := range paths {
		rules.WriteString(`path "` + path + `" { capabilities = ["create", "read", "update", "delete", "list"] }` + "\n")
	}
	s.must(t, http.MethodPut, "sys/policies/acl/"+name, object{"policy": rules.String()})
	t.Cleanup(func() { _, _ = s.do(context.Background(), http.MethodDelete, "sys/policies/acl/"+name, nil) })
}

func (r *realTarget) put(t *testing.T, secret string, data object) {
	t.Helper()
	r.server.put(t, secret, data)
}

func (s *server) put(t *testing.T, secret string, data object) {
	t.Helper()
	s.must(t, http.MethodPost, kvMount+"/data/"+secret, object{"data": data})
}

func (r *realTarget) revoke(t *testing.T, accessor string) {
	t.Helper()
	r.must(t, http.MethodPost, "auth/token/revoke-accessor", object{"accessor": accessor})
}

func (r *realTarget) deleteEntity(t *testing.T, id string) {
	t.Helper()
	r.must(t, http.MethodDelete, "identity/entity/id/"+id, nil)
}

func (r *realTarget) limit(t *testing.T, path string, perMinute int) {
	t.Helper()
	r.must(t, http.MethodPost, "sys/quotas/config", object{"enable_rate_limit_response_headers": true})
	name := strings.ReplaceAll(path, "/", "-")
	r.must(t, http.MethodPost, "sys/quotas/rate-limit/"+name, object{"path": path, "rate": perMinute, "interval": "1m"})
	t.Cleanup(func() { _, _ = r.do(context.Background(), http.MethodDelete, "sys/quotas/rate-limit/"+name, nil) })
}

func (r *realTarget) gone(string, string) {}

func (r *realTarget) review(_ *testing.T, f fault) { r.proxy.set(f) }

func (r *realTarget) seal(t *testing.T) {
	t.Helper()
	require.NoError(t, r.sealNow(t.Context()))
}

func (r *realTarget) unseal(t *testing.T) {
	t.Helper()
	require.NoError(t, r.unsealNow(context.Background()))
}

func (r *realTarget) ask(ctx context.Context, header http.Header, method, path string, body any) (*answer, error) {
	return call(ctx, http.DefaultClient, header, method, r.url+"/v1/"+path, body)
}
