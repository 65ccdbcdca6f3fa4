package tokenfile_test

import (
	"bytes"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// audience is what the tests' relying party calls itself.
const audience = "openbao"

// pod is a container's view: a volume with a token in it, and a kubelet.
type pod struct {
	t       *testing.T
	issuer  *tokenfiletest.Issuer
	volume  *tokenfiletest.Volume
	kubelet *tokenfiletest.Kubelet

	verified string // the last token that the relying party accepted
}

// newPod mounts a token for audience that lives as long as lifetime.
func newPod(t *testing.T, lifetime time.Duration) *pod {
	issuer := newIssuer(t)
	volume, err := tokenfiletest.NewVolume(filepath.Join(t.TempDir(), "tokens"))
	require.NoError(t, err)
	kubelet := &tokenfiletest.Kubelet{Issuer: issuer, Volume: volume, Request: tokenfiletest.Request{
		Audiences: []string{audience}, Lifetime: lifetime, Pod: "web-0", Node: "node-1",
	}}
	require.NoError(t, kubelet.Rotate())
	return &pod{t: t, issuer: issuer, volume: volume, kubelet: kubelet}
}

func (p *pod) source() *tokenfile.Source {
	return &tokenfile.Source{Path: p.volume.Path(), Audience: audience, NoNotify: true}
}

func (p *pod) rotate() {
	p.t.Helper()
	require.NoError(p.t, p.kubelet.Rotate())
}

// token asks for a token that must be there and be acceptable to the relying
// party, and returns its text.
func (p *pod) token(s *tokenfile.Source) string {
	p.t.Helper()
	token, err := s.Token(p.t.Context())
	require.NoError(p.t, err)
	require.True(p.t, time.Now().Before(token.Expiry()))
	if token.Raw() != p.verified { // a signature is costly to verify under the race detector
		_, err = p.issuer.Verify(token.Raw(), audience)
		require.NoError(p.t, err)
		p.verified = token.Raw()
	}
	return token.Raw()
}

// signed makes a token of claims, for audience unless they say otherwise.
func (p *pod) signed(claims map[string]any) string {
	p.t.Helper()
	all := map[string]any{"aud": audience, "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	token, err := p.issuer.Sign(all)
	require.NoError(p.t, err)
	return token
}

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// count tells how many records hold text.
func (j *journal) count(text string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
