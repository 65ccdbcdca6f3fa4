package peers

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/kubernetes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// withEach plays act with the auth method of either side.
func withEach[T any](t *testing.T, act func(*stage, api.AuthMethod) T) (peer, ours T) {
	t.Helper()
	play(t, vaultauthtest.Role{}, func(s *stage) { peer = act(s, s.peer()) })
	play(t, vaultauthtest.Role{}, func(s *stage) { ours = act(s, s.ours()) })
	return peer, ours
}

// status is that of the answer which err tells of, 200 if it is nil.
func status(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return http.StatusOK
	}
	var refused *api.ResponseError
	require.ErrorAs(t, err, &refused)
	return refused.StatusCode
}

// https://github.com/hashicorp/vault/issues/24498
// https://github.com/hashicorp/vault/issues/15390
func TestLoginAfterARotation(t *testing.T) {
	type outcome struct {
		sentOld        bool
		fresh, expired int // statuses, before and after the end of the old token
	}
	peer, ours := withEach(t, func(s *stage, method api.AuthMethod) (o outcome) {
		old, client := s.held(), s.client()
		time.Sleep(48 * time.Minute) // when the kubelet replaces a token of an hour
		s.rotate()
		_, err := method.Login(s.Context(), client)
		o.fresh = status(s.T, err)
		o.sentOld = s.logins.all()[0] == old
		time.Sleep(14 * time.Minute) // its end, the minute that servers allow, and one more
		_, err = method.Login(s.Context(), client)
		o.expired = status(s.T, err)
		return o
	})
	asReported(t, peer.sentOld, "it sends the token that it read at construction")
	asReported(t, peer.fresh == http.StatusOK, "and that is not noticed at once")
	asReported(t, peer.expired == http.StatusForbidden, "and is refused once that token has expired")
	assert.Equal(t, outcome{fresh: http.StatusOK, expired: http.StatusOK}, ours)
	row(t, "the token was rotated, and the first one has expired", peer.expired, ours.expired)
}

// https://github.com/cooperspencer/gickup/issues/94
func TestTrailingNewlineInTheFile(t *testing.T) {
	type outcome struct{ asItIs, trimmed bool }
	login := func(s *stage, method api.AuthMethod) outcome {
		_, err := method.Login(s.Context(), s.client())
		require.NoError(s, err, "the servers forgive it")
		sent := s.logins.all()[0]
		return outcome{sent == s.held(), sent+"\n" == s.held()}
	}
	var peer, ours outcome
	play(t, vaultauthtest.Role{}, func(s *stage) {
		require.NoError(s, s.volume.Write(s.held()+"\n"))
		peer = login(s, s.peer())
	})
	play(t, vaultauthtest.Role{}, func(s *stage) {
		require.NoError(s, s.volume.Write(s.held()+"\n"))
		ours = login(s, s.ours())
	})
	asReported(t, peer.asItIs, "it sends the newline at the end of the file")
	assert.Equal(t, outcome{trimmed: true}, ours)
	row(t, "a newline at the end of the file", "is sent", "is not sent")
}

// The API server's token would be sent to whoever the login server is.
//
// That the peer turns to it is seen from its error where there is no such
// file, and from its success where there is one: in a pod.
func TestEmptyFile(t *testing.T) {
	const apiServers = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	play(t, vaultauthtest.Role{}, func(s *stage) {
		require.NoError(s, s.volume.WriteInPlace(nil))
		_, err := kubernetes.NewKubernetesAuth(roleName, kubernetes.WithServiceAccountTokenPath(s.volume.Path()))
		_, missing := os.Stat(apiServers)
		var open *fs.PathError
		switch {
		case missing == nil:
			asReported(t, err == nil, "it takes the API server's token in place of an empty one")
		default:
			asReported(t, errors.As(err, &open) && open.Path == apiServers, "it looks for the API server's token when the file is empty")
		}
	})
	play(t, vaultauthtest.Role{}, func(s *stage) {
		require.NoError(s, s.volume.WriteInPlace(nil))
		_, err := s.ours().Login(s.Context(), s.client())
		var refused *tokenfile.Error
		require.ErrorAs(s, err, &refused)
		assert.Equal(s, s.volume.Path(), refused.Path)
		assert.ErrorIs(s, err, tokenfile.ErrMalformed)
		assert.Zero(s, s.server.Counts().Total(), "something was sent")
	})
	row(t, "the file is empty", "turns to the API server's token", "an error, nothing sent")
}

// A login is refused with the token of an entity that was deleted, however
// good the JWT is.
func TestLoginBesideAStaleToken(t *testing.T) {
	type outcome struct {
		hadToken bool
		status   int
	}
	peer, ours := withEach(t, func(s *stage, method api.AuthMethod) outcome {
		client := s.client()
		_, err := client.Auth().Login(s.Context(), method)
		require.NoError(s, err)
		s.server.DeleteEntities()
		_, err = client.Auth().Login(s.Context(), method)
		last := s.server.Requests()[1]
		return outcome{last.HadToken, status(s.T, err)}
	})
	asReported(t, peer == outcome{true, http.StatusForbidden}, "it sends the client's old token with the login: %v", peer)
	assert.Equal(t, outcome{false, http.StatusOK}, ours)
	row(t, "a second login, after the entity was deleted", peer.status, ours.status)
}

func TestRetriesOfALoginWhileTheTokenIsRotated(t *testing.T) {
	type outcome struct{ attempts, tokens int }
	peer, ours := withEach(t, func(s *stage, method api.AuthMethod) outcome {
		down := true
		s.server.SetFault(func(*http.Request) *vaultauthtest.Fault {
			s.rotate()
			if down = len(s.logins.all()) < 3; down {
				return &vaultauthtest.Fault{Status: http.StatusServiceUnavailable, Body: `{"errors":["Vault is sealed"]}`}
			}
			return nil
		})
		_, err := method.Login(s.Context(), s.client())
		require.NoError(s, err)
		require.False(s, down)
		different := make(map[string]bool)
		for _, jwt := range s.logins.all() {
			different[jwt] = true
		}
		return outcome{len(s.logins.all()), len(different)}
	})
	asReported(t, peer == outcome{attempts: 3, tokens: 1}, "its three attempts send the same token: %v", peer)
	assert.Equal(t, outcome{attempts: 3, tokens: 3}, ours)
	row(t, "different tokens in three attempts, the file rotated before each", peer.tokens, ours.tokens)
}

// https://github.com/hashicorp/vault/issues/3217
func TestWrapTTLInTheEnvironment(t *testing.T) {
	t.Setenv("VAULT_WRAP_TTL", "60s")
	type outcome struct{ askedToWrap, loggedIn bool }
	peer, ours := withEach(t, func(s *stage, method api.AuthMethod) outcome {
		_, err := s.client().Auth().Login(s.Context(), method)
		return outcome{s.server.Requests()[0].WrapTTL, err == nil}
	})
	asReported(t, peer == outcome{askedToWrap: true}, "it asks for a wrapped answer, which holds no token: %v", peer)
	assert.Equal(t, outcome{loggedIn: true}, ours)
	row(t, "VAULT_WRAP_TTL is set", "no token", "logged in")
}
