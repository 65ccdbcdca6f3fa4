package peers

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// loop is what Vault's documentation tells programs to do: log in, watch the
// token, and log in again when the watcher ends. It goes on until ctx ends.
func (s *stage) loop(ctx context.Context, client *api.Client) {
	for ctx.Err() == nil {
		secret, err := client.Auth().Login(ctx, s.peer()) // made anew, so that its token is not the matter here
		if err != nil {
			return // the example ends the program
		}
		if !secret.Auth.Renewable {
			continue
		}
		watcher, err := client.NewLifetimeWatcher(&api.LifetimeWatcherInput{Secret: secret})
		require.NoError(s, err)
		go watcher.Start()
		select {
		case <-watcher.DoneCh():
		case <-ctx.Done():
		}
		watcher.Stop()
	}
}

// https://github.com/hashicorp/vault/issues/11030
// https://github.com/concourse/concourse/issues/3586
func TestBatchTokens(t *testing.T) {
	role := vaultauthtest.Role{TokenTTL: time.Hour, Batch: true}
	var peer, ours int
	play(t, role, func(s *stage) {
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		defer cancel()
		s.loop(ctx, s.client())
		peer = s.server.Counts().Logins.OK
	})
	play(t, role, func(s *stage) {
		session := s.session()
		time.Sleep(10 * time.Second)
		ours = s.server.Counts().Total()
		assert.Equal(s, http.StatusOK, read(s.Context(), session.Client))
		time.Sleep(time.Hour) // the next lease is there before the first ends
		assert.Equal(s, http.StatusOK, read(s.Context(), session.Client))
	})
	asReported(t, peer > 1000, "it logs in without a pause: %d", peer)
	assert.Equal(t, 1, ours)
	row(t, "logins in ten seconds with batch tokens of an hour, 5 ms each", peer, ours)
}

// https://github.com/hashicorp/vault/issues/20645
func TestTokenIsRevokedInTheFirstMinuteOfALease(t *testing.T) {
	const lease = time.Hour
	role := vaultauthtest.Role{TokenTTL: lease}
	// failed is how many of the reads got a 403, one each ten seconds.
	failed := func(s *stage, client *api.Client) (n int) {
		time.Sleep(time.Minute)
		require.Equal(s, http.StatusOK, read(s.Context(), client))
		s.server.RevokeAll()
		for end := time.Now().Add(lease); time.Now().Before(end); time.Sleep(10 * time.Second) {
			if read(s.Context(), client) != http.StatusOK {
				n++
			}
		}
		return n
	}
	var peer, ours int
	play(t, role, func(s *stage) {
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		client := s.client()
		go s.loop(ctx, client)
		peer = failed(s, client)
	})
	play(t, role, func(s *stage) { ours = failed(s, s.session().Client) })
	asReported(t, peer > 200, "reads fail until the lease would have been nearly over: %d", peer)
	assert.Zero(t, ours)
	row(t, "of 360 reads in the hour after the token was revoked, refused", peer, ours)
}

func TestCloneFromBeforeTheNextLogin(t *testing.T) {
	role := vaultauthtest.Role{TokenTTL: 10 * time.Minute, TokenMaxTTL: 10 * time.Minute}
	// clones are made early and used when the first token has ended.
	clones := func(s *stage, client *api.Client) (statuses [2]int) {
		time.Sleep(time.Second)
		client.SetCloneToken(true)
		clone, err := client.Clone()
		require.NoError(s, err)
		other := client.WithNamespace("")
		require.Equal(s, http.StatusOK, read(s.Context(), clone))
		require.Equal(s, http.StatusOK, read(s.Context(), other))
		time.Sleep(15 * time.Minute)
		require.Equal(s, http.StatusOK, read(s.Context(), client), "the client itself has the new token")
		return [2]int{read(s.Context(), clone), read(s.Context(), other)}
	}
	var peer, ours [2]int
	play(t, role, func(s *stage) {
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		client := s.client()
		go s.loop(ctx, client)
		peer = clones(s, client)
	})
	play(t, role, func(s *stage) { ours = clones(s, s.session().Client) })
	asReported(t, peer == [2]int{http.StatusForbidden, http.StatusForbidden}, "clones keep the first token: %v", peer)
	assert.Equal(t, [2]int{http.StatusOK, http.StatusOK}, ours)
	row(t, "a clone from before the last login reads", peer[0], ours[0])
}
