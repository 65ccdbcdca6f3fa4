package main

import (
	"context"

	"github.com/hashicorp/vault/api"

	"github.com/podtoken/podtoken/vaultauth"
)

// keepVaultClient keeps a client that was logged in once.
func keepVaultClient(v *volume, url string) (kept, error) {
	client, _, err := vaultLoggedIn(v, url)
	return kept{it: client, rest: func() { restVault(client) }}, err
}

// keepVaultWatcher keeps one whose token the library's own watcher renews.
func keepVaultWatcher(v *volume, url string) (kept, error) {
	client, secret, err := vaultLoggedIn(v, url)
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
		it: client, rest: func() { restVault(client) },
		close: func() { watcher.Stop(); <-watcher.DoneCh() },
	}, nil
}

func vaultLoggedIn(v *volume, url string) (*api.Client, *api.Secret, error) {
	client, err := api.NewClient(vaultConfig(url))
	if err != nil {
		return nil, nil, err
	}
	secret, err := client.Auth().Login(context.Background(), vaultMethod(v.path()))
	return client, secret, err
}

// keepVaultSession keeps a session, which may run.
func keepVaultSession(run bool) func(*volume, string) (kept, error) {
	return func(v *volume, url string) (kept, error) {
		session, err := vaultauth.NewSession(vaultConfig(url), vaultMethod(v.path()))
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
			it: session, rest: func() { restVault(session.Client) },
			close: func() { cancel(); <-done },
		}, nil
	}
}

// restVault closes the client's connection, which is the server's too.
func restVault(client *api.Client) { client.CloneConfig().HttpClient.CloseIdleConnections() }
