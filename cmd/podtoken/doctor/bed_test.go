//go:build linux

package doctor_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/container/containertest"
	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const (
	defaultDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	apiServer  = "https://kubernetes.default.svc.cluster.local"
)

// pod is a container that started half an hour ago.
type pod struct {
	t *testing.T
	*containertest.Container
	issuer  *tokenfiletest.Issuer
	options doctor.Options
	secrets []string // all tokens that were ever in it
}

func newPod(t *testing.T) *pod {
	t.Helper()
	c, err := containertest.New(t.TempDir(), time.Now().Add(-30*time.Minute))
	require.NoError(t, err)
	p := &pod{t: t, Container: c, issuer: new(tokenfiletest.Issuer)}
	require.NoError(t, p.issuer.RotateKey(tokenfiletest.ES256))
	p.options = doctor.Options{Root: c.Root, Environment: []string{}}
	return p
}

// life is a token's age, lifetime and, if it was extended, the lifetime that
// was asked for.
type life struct{ age, total, asked time.Duration }

var healthy = life{age: 10 * time.Minute, total: time.Hour}

// sign makes a token of shop/web for an audience.
func (p *pod) sign(audience string, l life) string {
	p.t.Helper()
	return p.signBy(apiServer, audience, l)
}

// signBy does so as an issuer.
func (p *pod) signBy(issuer, audience string, l life) string {
	p.t.Helper()
	issued := time.Now().Add(-l.age)
	bound := map[string]any{
		"namespace": "shop", "serviceaccount": map[string]any{"name": "web", "uid": "u"},
		"pod": map[string]any{"name": "web-0", "uid": "u"}, "node": map[string]any{"name": "n1", "uid": "u"},
	}
	if l.asked != 0 {
		bound["warnafter"] = issued.Add(l.asked).Unix()
	}
	token, err := p.issuer.Sign(map[string]any{
		"iss": issuer, "sub": "system:serviceaccount:shop:web", "aud": []string{audience},
		"iat": issued.Unix(), "nbf": issued.Unix(), "exp": issued.Add(l.total).Unix(), "kubernetes.io": bound,
	})
	require.NoError(p.t, err)
	p.secrets = append(p.secrets, token)
	return token
}

// mount puts a token into a volume, written when it was issued.
func (p *pod) mount(dir, audience string, l life) *tokenfiletest.Volume {
	p.t.Helper()
	return p.put(dir, p.sign(audience, l), l.age)
}

func (p *pod) put(dir, content string, age time.Duration) *tokenfiletest.Volume {
	p.t.Helper()
	volume, err := p.Volume(dir)
	require.NoError(p.t, err)
	require.NoError(p.t, volume.Write(content))
	written := time.Now().Add(-age)
	require.NoError(p.t, os.Chtimes(volume.Path(), written, written))
	return volume
}

// subPath binds a token to a path by itself.
func (p *pod) subPath(path, token string) {
	p.t.Helper()
	require.NoError(p.t, p.File(path, token))
	written := time.Now().Add(-time.Hour)
	require.NoError(p.t, os.Chtimes(filepath.Join(p.Root, path), written, written))
	require.NoError(p.t, p.Mount(path, "/..2026_11_30_08_20_23.1/token", "tmpfs"))
}

func (p *pod) setenv(variables ...string) {
	p.options.Environment = append(p.options.Environment, variables...)
}

// examine looks at the pod, and for parts of tokens in what it says.
func (p *pod) examine() *doctor.Report {
	p.t.Helper()
	report := doctor.Examine(p.t.Context(), p.options)
	p.hidesTokens(report)
	return report
}

// prober is a relying party that answers what it is told to.
type prober func(context.Context) error

func (prober) String() string                    { return "the party" }
func (p prober) Login(ctx context.Context) error { return p(ctx) }

func ruleIDs(findings []doctor.Finding) (ids string) {
	var list []string
	for _, f := range findings {
		list = append(list, f.Rule)
	}
	return strings.Join(list, " ")
}
