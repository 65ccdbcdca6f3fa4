package main

import (
	"context"

	"github.com/openbao/openbao/api/v2"

	"github.com/podtoken/podtoken/baoauth"
)

// keepBaoClient keeps a client that was logged in once.
func keepBaoClient(v *volume, url string) (kept, error) {
	client, _, err := baoLoggedIn(v, url)
	return kept{it: client, rest: func() { restBao(client) }}, err
}

// keepBaoWatcher keeps one whose token the library's own watcher renews.
func keepBaoWatcher(v *volume, url string) (kept, error) {
	client, secret, err := baoLoggedIn(v, url)
	if err != nil {
		return kept{}, err
	}
	watcher, err := client.NewLifetimeWatcher(&api.LifetimeWatcherInput{Secret: secret})
	if err != nil {
		return kept{}, err
	}
	go watcher.Start()
	<-watcher.RenewCh() // it renews at once, and then not for an hour
	return kept{
		it: client, rest: func() { restBao(client) },
		close: func() { watcher.Stop(); <-watcher.DoneCh() },
	}, nil
}

func baoLoggedIn(v *volume, url string) (*api.Client, *api.Secret, error) {
	client, err := api.NewClient(baoConfig(url))
	if err != nil {
		return nil, nil, err
	}
	secret, err := client.Auth().Login(context.Background(), baoMethod(v.path()))
	return client, secret, err
}

// keepBaoSession keeps a session, which may run.
func keepBaoSession(run bool) func(*volume, string) (kept, error) {
	return func(v *volume, url string) (kept, error) {
		session, err := baoauth.NewSession(baoConfig(url), baoMethod(v.path()))
		if err != nil {
			return kept{}, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		if err := session.Login(ctx); err != nil {
			cancel()
			return kept{}, err
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if run {
				_ = session.Run(ctx) // ends by cancel
			}
		}()
		return kept{
			it: session, rest: func() { restBao(session.Client) },
			close: func() { cancel(); <-done },
		}, nil
	}
}

// restBao closes the client's connection, which is the server's too.
func restBao(client *api.Client) { client.CloneConfig().HttpClient.CloseIdleConnections() }
