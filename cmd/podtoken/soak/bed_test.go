package soak_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/baoauth/baoauthtest"
	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// bed is a pod with a rotating token, and the server that it logs in to.
type bed struct {
	t       *testing.T
	kubelet *tokenfiletest.Kubelet
	server  *baoauthtest.Server
	path    string
	events  []soak.Event
}

const audience = "openbao"

var newIssuer = sync.OnceValue(func() *tokenfiletest.Issuer {
	issuer := new(tokenfiletest.Issuer)
	if err := issuer.RotateKey(tokenfiletest.ES256); err != nil {
		panic(err)
	}
	return issuer
})

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, name string, request tokenfiletest.Request, test func(t *testing.T, b *bed)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Setenv("BAO_ADDR", "https://openbao.example:8200")
		synctest.Test(t, func(t *testing.T) { test(t, newBed(t, request)) })
	})
}

func newBed(t *testing.T, request tokenfiletest.Request) *bed {
	t.Helper()
	request.Namespace, request.ServiceAccount, request.Pod = "shop", "web", "web-0"
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	b := &bed{
		t: t, path: volume.Path(), server: baoauthtest.New(newIssuer()),
		kubelet: &tokenfiletest.Kubelet{Issuer: newIssuer(), Volume: volume, Request: request},
	}
	b.server.Enable("kubernetes", baoauthtest.Mount{Type: "jwt"})
	b.server.SetRole("kubernetes", "web", baoauthtest.Role{BoundAudiences: []string{audience}, TokenTTL: time.Hour})
	require.NoError(t, b.kubelet.Rotate())
	var running sync.WaitGroup
	t.Cleanup(running.Wait) // before the folder goes
	running.Go(func() { _ = b.kubelet.Run(t.Context()) })
	synctest.Wait() // until it has looked for the first time
	return b
}

func openbao() tokenfiletest.Request { return tokenfiletest.Request{Audiences: []string{audience}} }

func (b *bed) party() party.Party {
	p, err := party.Vault(party.VaultOptions{
		Role: "web", Path: b.path, Audience: audience, HTTPClient: &http.Client{Transport: b.server.Transport()},
	})
	require.NoError(b.t, err)
	return p
}

func (b *bed) soak() *soak.Soak {
	return &soak.Soak{
		Party: b.party(), Source: &tokenfile.Source{Path: b.path, Audience: audience, NoNotify: true},
		Declared: time.Hour, Started: time.Now(),
		Secrets: func(context.Context, string) ([]string, error) { return nil, nil },
		OnEvent: func(e soak.Event) { b.events = append(b.events, e) },
	}
}

func (b *bed) run(ctx context.Context, s *soak.Soak) soak.Verdict {
	b.t.Helper()
	v, err := s.Run(ctx)
	require.NoError(b.t, err)
	b.noSecret(v.String(), string(v.SVG()))
	return v
}

// noSecret looks for a part of the token that the file holds.
func (b *bed) noSecret(texts ...string) {
	b.t.Helper()
	raw, err := os.ReadFile(b.path)
	require.NoError(b.t, err)
	for part := range strings.SplitSeq(string(raw), ".") {
		for _, text := range texts {
			assert.False(b.t, strings.Contains(text, part[:min(len(part), 20)]), "a part of the token is in a text")
		}
	}
}

// states are the points' by their names, those that held left out.
func states(v soak.Verdict) map[string]soak.State {
	got := map[string]soak.State{}
	for _, p := range v.Points {
		if p.State != soak.Held {
			got[p.Name] = p.State
		}
	}
	return got
}

func point(t *testing.T, v soak.Verdict, name string) soak.Point {
	t.Helper()
	for _, p := range v.Points {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no point %q", name)
	return soak.Point{}
}

func (b *bed) count(kind soak.Kind) int {
	n := 0
	for _, e := range b.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func subPath(t *testing.T, b *bed) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "bound")
	require.NoError(t, b.kubelet.Volume.SubPath(link))
	t.Cleanup(func() { assert.NoError(t, b.kubelet.Volume.Close()) })
	return link
}
