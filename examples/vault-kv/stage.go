package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// A stage is the cluster that the program runs in when it is told of none: a
// kubelet that replaces the pod's token of six seconds, and a server that lets
// it in for seven, renewed up to nine.
type stage struct {
	kubelet *tokenfiletest.Kubelet
	server  *vaultauthtest.Server
}

// embedded plays in this process, over loopback and in real time.
func embedded(ctx context.Context, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "vault-kv")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := newStage(dir)
	if err != nil {
		return err
	}
	url, stop := s.server.Start()
	defer stop()
	config := api.DefaultConfig()
	config.Address = url
	return s.play(ctx, config, stdout)
}

// newStage mounts the pod's first token below dir.
func newStage(dir string) (*stage, error) {
	issuer := &tokenfiletest.Issuer{AllowShort: true}
	if err := issuer.RotateKey(tokenfiletest.ES256); err != nil {
		return nil, err
	}
	volume, err := tokenfiletest.NewVolume(dir)
	if err != nil {
		return nil, err
	}
	s := &stage{
		kubelet: &tokenfiletest.Kubelet{
			Issuer: issuer,
			Volume: volume,
			Request: tokenfiletest.Request{
				Audiences: []string{"openbao"}, Lifetime: 6 * time.Second,
				Namespace: "shop", ServiceAccount: "web",
			},
			Period: 125 * time.Millisecond, // what 75 s are to a token of an hour
		},
		server: vaultauthtest.New(issuer),
	}
	s.server.Enable("kubernetes", vaultauthtest.Mount{})
	s.role("openbao")
	s.server.SetPolicy("web", "secret/data/web")
	s.server.Put("web", map[string]any{"colour": "blue"})
	return s, s.kubelet.Rotate()
}

// role is the one that the pod logs in as.
func (s *stage) role(audience string) {
	s.server.SetRole("kubernetes", "web", vaultauthtest.Role{
		BoundAudiences:                []string{audience},
		BoundServiceAccountNames:      []string{"web"},
		BoundServiceAccountNamespaces: []string{"shop"},
		TokenTTL:                      7 * time.Second,
		TokenMaxTTL:                   9 * time.Second,
		Policies:                      []string{"web"},
	})
}

// play runs the program for long enough that it has to renew and to log in.
func (s *stage) play(ctx context.Context, config *api.Config, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 16*time.Second)
	defer cancel()
	go s.kubelet.Run(ctx)
	return run(ctx, config, s.kubelet.Volume.Path(), stdout)
}
