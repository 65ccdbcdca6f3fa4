//go:build linux

package vault

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/kubernetes"
	"github.com/stretchr/testify/require"
)

// A peer keeps a client logged in as Vault's documentation shows: its own auth
// method, a LifetimeWatcher, and a new login when that ends.
type peer struct {
	client  *api.Client
	method  api.AuthMethod
	reads   reads
	logins  int
	refused int
}

func newPeer(t *testing.T, p *pod) *peer {
	t.Helper()
	method, err := kubernetes.NewKubernetesAuth("app",
		kubernetes.WithMountPath(p.mounts[byReview]), kubernetes.WithServiceAccountTokenPath(p.volume.Path()))
	require.NoError(t, err)
	return &peer{client: p.client(t), method: method}
}

func (p *peer) run(ctx context.Context) error {
	for ctx.Err() == nil {
		secret, err := p.client.Auth().Login(ctx, p.method)
		if err != nil {
			p.refused++
			sleep(ctx, time.Second) // or it would log in as fast as it can
			continue
		}
		p.logins++
		if err := p.watch(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// watch returns when the watcher has given up.
func (p *peer) watch(ctx context.Context, secret *api.Secret) error {
	watcher, err := p.client.NewLifetimeWatcher(&api.LifetimeWatcherInput{Secret: secret})
	if err != nil {
		return err
	}
	go watcher.Start()
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-watcher.DoneCh():
			return nil
		case _, ok := <-watcher.RenewCh():
			if !ok {
				return errors.New("the watcher closed its channel")
			}
		}
	}
}
