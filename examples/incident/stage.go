package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A stage is where the incident is played, before it begins.
type stage struct {
	lifetime  time.Duration // of a token; stands for one hour
	length    time.Duration // of the play
	issuer    *tokenfiletest.Issuer
	party     *relyingParty
	door      door                  // the relying party's
	declared  *tokenfiletest.Volume // of the token meant for the relying party
	inherited *tokenfiletest.Volume // of the default token
	noNotify  bool                  // see tokenfile.Source
}

// newStage makes an issuer, a relying party that trusts it, and empty volumes
// in dir. The URLs are those under which web finds the two.
func newStage(lifetime time.Duration, dir, issuerURL, partyURL string, web *http.Client) (*stage, error) {
	issuer, err := tokenfiletest.NewIssuer(issuerURL)
	if err != nil {
		return nil, err
	}
	issuer.AllowShort = true
	issuer.APIAudiences = []string{tokenfiletest.DefaultIssuer}
	s := &stage{
		lifetime: lifetime,
		length:   lifetime * 36 / 10, // four rotations
		issuer:   issuer,
		party:    &relyingParty{issuer: issuerURL, http: web},
		door:     door{url: partyURL + loginPath, http: web},
	}
	if s.declared, err = tokenfiletest.NewVolume(filepath.Join(dir, "tokens")); err != nil {
		return nil, err
	}
	s.inherited, err = tokenfiletest.NewVolume(filepath.Join(dir, "serviceaccount"))
	return s, err
}

// onLoopback makes a stage whose issuer and relying party are HTTP servers
// until the function that it returns is called.
func onLoopback(lifetime time.Duration, dir string) (*stage, func(), error) {
	var at [2]net.Listener
	for i := range at {
		var err error
		if at[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, nil, err
		}
	}
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: 10 * time.Second}
	s, err := newStage(lifetime, dir, "http://"+at[0].Addr().String(), "http://"+at[1].Addr().String(), web)
	if err != nil {
		return nil, nil, err
	}
	issuer, party := serve(at[0], s.issuer), serve(at[1], s.party)
	return s, func() { _ = errors.Join(party.Close(), issuer.Close()) }, nil
}

func serve(at net.Listener, handler http.Handler) *http.Server {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(at) }() // until Close
	return server
}

// scaled returns how long d of a real cluster lasts here, where a token lives
// for s.lifetime instead of an hour.
func (s *stage) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) * float64(s.lifetime) / float64(time.Hour))
}

// kubelet looks after the declared volume with the real one's periods.
func (s *stage) kubelet(mounted func(tokenfiletest.Rotation)) *tokenfiletest.Kubelet {
	return &tokenfiletest.Kubelet{
		Issuer:   s.issuer,
		Volume:   s.declared,
		Request:  tokenfiletest.Request{Audiences: []string{audience}, Lifetime: s.lifetime, Pod: "web-0"},
		Period:   s.scaled(75 * time.Second),
		Jitter:   s.scaled(10 * time.Second),
		OnRotate: mounted,
	}
}

// inherit mounts the default token. The API server's admission asks for one
// of 3607 s on behalf of every pod, and gets one of a year.
func (s *stage) inherit() error {
	token, err := s.issuer.Token(tokenfiletest.Request{Lifetime: 3607 * time.Second, Pod: "web-0"})
	if err != nil {
		return err
	}
	return s.inherited.Write(token)
}

// clients are those who log in; one of them reads its token right here.
func (s *stage) clients() []client {
	return []client{
		readOnce(s.declared.Path()),
		defaultToken(s.inherited.Path()),
		fromSource("every call", "reads the file at each login", s.source(0)),
		fromSource("MaxAge", "reads it again after five minutes", s.source(5*time.Minute)),
		watching("Watch", "is told when the file changes", s.source(0)),
	}
}

// source leaves a token alone that has three minutes left, on a real
// cluster's clock: it might die on its way to the relying party.
func (s *stage) source(maxAge time.Duration) *tokenfile.Source {
	return &tokenfile.Source{
		Path:     s.declared.Path(),
		Audience: audience,
		MaxAge:   s.scaled(maxAge),
		MinTTL:   s.scaled(3 * time.Minute),
		NoNotify: s.noNotify,
	}
}

// diagnose returns what podtoken says of the default token at its first use.
func (s *stage) diagnose(ctx context.Context) string {
	source := &tokenfile.Source{Path: s.inherited.Path(), Audience: audience}
	_, err := source.Token(ctx)
	var wrong *tokenfile.AudienceError
	if errors.As(err, &wrong) {
		return wrong.Error() // without the path, which is a temporary one
	}
	return fmt.Sprint(err)
}
