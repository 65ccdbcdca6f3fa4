package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/openbao/openbao/api/v2"

	"github.com/podtoken/podtoken/baoauth"
	"github.com/podtoken/podtoken/tokenfile"
)

// A reader reads one secret again and again.
type reader struct {
	session *baoauth.Session
	source  *tokenfile.Source
	secret  string
	every   time.Duration
	report  *report
}

func newReader(config *api.Config, o options, r *report) (*reader, error) {
	source := &tokenfile.Source{Path: o.tokenFile, Audience: o.audience, NoNotify: o.noNotify}
	session, err := baoauth.NewSession(config, &baoauth.Method{Role: o.role, Mount: o.mount, Source: source})
	if err != nil {
		return nil, err
	}
	session.OnLogin = r.login
	session.Logger = r.logger
	session.RevokeAtEnd = true // or each rollout leaves tokens behind
	return &reader{session, source, o.secret, o.every, r}, nil
}

// run returns an error if it cannot log in, and nil when ctx ends.
func (r *reader) run(ctx context.Context) error {
	if err := r.session.Login(ctx); err != nil {
		return err // at the start, while whoever deploys is looking
	}
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(func() {
		for token, err := range r.source.Watch(ctx) { // only to tell: the session needs no help
			r.report.token(token, err)
		}
	})
	// Run takes the token away when it ends, so it ends after the last read.
	session, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	background.Go(func() { _ = r.session.Run(session) })

	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for {
		secret, err := r.session.Client.KVv2("secret").Get(ctx, r.secret)
		if ctx.Err() != nil {
			return nil
		}
		r.report.read(secret, err)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// readiness answers a readiness probe: the pod gets no requests while it could
// not serve them.
func readiness(s *baoauth.Session) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.Ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
}
