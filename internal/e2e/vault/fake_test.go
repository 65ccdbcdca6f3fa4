//go:build linux

package vault

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// A fakeTarget is the fake, reached as the real server is.
type fakeTarget struct {
	*vaultauthtest.Server
	url    string
	issuer string

	kubernetes string // the mount
	roles      map[string]vaultauthtest.Role
}

func newFakeTarget(t *testing.T, c *cluster, openBao bool) *fakeTarget {
	t.Helper()
	f := &fakeTarget{Server: vaultauthtest.New(c.issuer), issuer: c.issuer.URL, roles: map[string]vaultauthtest.Role{}}
	f.Product = vaultauthtest.Vault
	if openBao {
		f.Product = vaultauthtest.OpenBao
	}
	listener := httptest.NewServer(f.Server)
	t.Cleanup(listener.Close)
	f.url = listener.URL
	return f
}

func (f *fakeTarget) enable(_ *testing.T, kind, path string) {
	m := vaultauthtest.Mount{Type: kind}
	switch kind {
	case "jwt":
		m.BoundIssuer = f.issuer
	default:
		f.kubernetes = path
	}
	f.Enable(path, m)
}

func (f *fakeTarget) enableUnreachable(_ *testing.T, path string) {
	f.Enable(path, vaultauthtest.Mount{Type: "jwt", KeysUnreachable: true})
}

func (f *fakeTarget) setRole(_ *testing.T, mount, name string, r vaultauthtest.Role) {
	f.SetRole(mount, name, r)
	if mount == f.kubernetes {
		f.roles[name] = r
	}
}

// review mounts the method once more, with another answer to its questions.
func (f *fakeTarget) review(_ *testing.T, is fault) {
	f.Enable(f.kubernetes, vaultauthtest.Mount{Type: "kubernetes", Reviewer: map[fault]vaultauthtest.Reviewer{
		unauthorized: vaultauthtest.Unauthorized,
		throttled:    vaultauthtest.Throttled,
		broken:       vaultauthtest.Failing,
		unreachable:  vaultauthtest.Unreachable,
	}[is]})
	for name, role := range f.roles {
		f.SetRole(f.kubernetes, name, role)
	}
}

// gone tells the fake, which knows of no objects, of a pod.
func (f *fakeTarget) gone(namespace, pod string) { f.DeletePod(namespace, pod) }

func (f *fakeTarget) deleteRole(_ *testing.T, mount, name string) { f.DeleteRole(mount, name) }

func (f *fakeTarget) setPolicy(_ *testing.T, name string, paths ...string) {
	f.SetPolicy(name, paths...)
}

func (f *fakeTarget) put(_ *testing.T, secret string, data object) { f.Put(secret, data) }

func (f *fakeTarget) revoke(t *testing.T, accessor string) {
	t.Helper()
	require.True(t, f.Revoke(accessor), "the fake knows the accessor")
}

func (f *fakeTarget) deleteEntity(*testing.T, string) { f.DeleteEntities() }

func (f *fakeTarget) limit(t *testing.T, _ string, perMinute int) {
	f.SetRateLimit(float64(perMinute)/60, perMinute, true)
	t.Cleanup(func() { f.SetRateLimit(0, 0, false) })
}

func (f *fakeTarget) seal(*testing.T) { f.Seal() }

func (f *fakeTarget) unseal(*testing.T) { f.Unseal() }

func (f *fakeTarget) ask(ctx context.Context, header http.Header, method, path string, body any) (*answer, error) {
	return call(ctx, http.DefaultClient, header, method, f.url+"/v1/"+path, body)
}
