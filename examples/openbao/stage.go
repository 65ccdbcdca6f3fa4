package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/openbao/openbao/api/v2"

	"github.com/podtoken/podtoken/baoauth/baoauthtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const (
	length   = 20 * time.Second // of the play
	lifetime = 6 * time.Second  // of a service-account token; stands for one hour
)

// A stage is the cluster that the program runs in when it is told of none.
type stage struct {
	kubelet *tokenfiletest.Kubelet
	server  *baoauthtest.Server
	acts    []act
}

// An act is what happens at a certain time.
type act struct {
	at   time.Duration // since the beginning
	what string
	do   func()
}

// embedded plays in this process, over loopback and in real time.
func embedded(ctx context.Context, o options, r *report) error {
	dir, err := os.MkdirTemp("", "openbao")
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
	config := api.NewConfig() // does not look at the environment
	config.Address = url
	return s.play(ctx, config, s.options(o.ready), r)
}

// newStage makes a server that lets the pod's service account in, and mounts
// the pod's first token below dir.
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
				Audiences: []string{"openbao"}, Lifetime: lifetime,
				Namespace: "shop", ServiceAccount: "web", Pod: "web-0",
			},
			Period: scaled(75 * time.Second),
			Jitter: scaled(10 * time.Second),
		},
		server: baoauthtest.New(issuer),
	}
	s.server.Enable("kubernetes", baoauthtest.Mount{})
	s.role("openbao")
	s.server.SetPolicy("web", "secret/data/web")
	s.write("blue")
	s.acts = []act{
		{5 * time.Second, "someone changes the secret", func() { s.write("green") }},
		{10 * time.Second, "someone changes the secret again", func() { s.write("yellow") }},
		// By now there was a renewal for sure, and a second login.
		{15 * time.Second, "an administrator revokes every token", s.server.RevokeAll},
	}
	return s, s.kubelet.Rotate()
}

// scaled is a period of the real kubelet where a token lives for lifetime
// instead of an hour.
func scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(lifetime) / float64(time.Hour))
}

// role is the one that the pod logs in as. Servers cut leases to whole seconds:
// of five seconds four may be left, and a renewal at the latest point would
// come too late.
func (s *stage) role(audience string) {
	s.server.SetRole("kubernetes", "web", baoauthtest.Role{
		BoundAudiences:                []string{audience},
		BoundServiceAccountNames:      []string{"web"},
		BoundServiceAccountNamespaces: []string{"shop"},
		TokenTTL:                      7 * time.Second,
		TokenMaxTTL:                   9 * time.Second,
		Policies:                      []string{"web"},
	})
}

func (s *stage) write(colour string) {
	s.server.Put("web", map[string]any{"colour": colour})
}

// options are the flags that a pod on this stage would have.
func (s *stage) options(ready string) options {
	return options{
		role: "web", mount: "kubernetes", tokenFile: s.kubelet.Volume.Path(), audience: "openbao",
		secret: "web", every: 100 * time.Millisecond, ready: ready,
	}
}

// play lets the program read while things happen.
func (s *stage) play(ctx context.Context, config *api.Config, o options, r *report) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()                                   // also where the program could not begin
	background.Go(func() { _ = s.kubelet.Run(ctx) }) // fails only without a first token
	for _, a := range s.acts {
		background.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(a.at):
				r.printf("%s", a.what)
				a.do()
			}
		})
	}
	return read(ctx, config, o, r)
}
