//go:build linux

package vault

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/internal/e2e/bed"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/vaultauth"
)

func TestAPodsTokenReadsASecret(t *testing.T) {
	p := newPod(t, hour)
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			p.write(t, p.token(t, openbao))
			client := p.client(t)
			secret, err := client.Auth().Login(t.Context(), p.method(way, "app"))
			require.NoError(t, err)
			assert.Equal(t, 3600, secret.Auth.LeaseDuration)
			got, err := client.KVv2(kvMount).Get(t.Context(), p.namespace)
			require.NoError(t, err)
			assert.Equal(t, object{"user": "app"}, got.Data)
		})
	}
}

// What the token file refuses is never sent; what it cannot know, the server
// refuses, and the error says which mistake it is.
func TestATokenOfTheWrongAudienceIsRefused(t *testing.T) {
	p := newPod(t, hour)
	for _, way := range ways {
		t.Run(way+": the default token", func(t *testing.T) {
			p.write(t, p.token(t, bed.APIAudience))
			_, err := p.method(way, "app").Login(t.Context(), p.client(t))
			refused := requireLoginError(t, err, vaultauth.TokenFile)
			var audience *tokenfile.AudienceError
			require.ErrorAs(t, refused, &audience)
			assert.Equal(t, []string{bed.APIAudience}, audience.Got)
		})
		t.Run(way+": the role wants another one", func(t *testing.T) {
			other := hour
			other.BoundAudiences = []string{"vault"}
			p.setRole(t, way, "other", other)
			p.write(t, p.token(t, openbao))
			_, err := p.method(way, "other").Login(t.Context(), p.client(t))
			refused := requireLoginError(t, err, vaultauth.AudienceRefused)
			assert.Equal(t, []string{openbao}, refused.Audience)
			assert.Equal(t, p.subject(), refused.Subject)
		})
	}
}

func TestAnExpiredTokenIsRefused(t *testing.T) {
	p := newPod(t, hour)
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			token, err := p.short(t.Context(), -2*time.Minute)
			require.NoError(t, err)
			p.write(t, token)
			_, err = p.method(way, "app").Login(t.Context(), p.client(t))
			var late *tokenfile.ExpiredError
			require.ErrorAs(t, requireLoginError(t, err, vaultauth.TokenFile), &late)

			// The server would not have let it in either.
			status, text := http.StatusBadRequest, badJWT+expired
			if way == byReview {
				status, text = http.StatusForbidden, expired
			}
			got, err := p.server.ask(t.Context(), "", http.MethodPut, "auth/"+p.mounts[way]+"/login",
				object{"role": "app", "jwt": token})
			require.NoError(t, err)
			assert.Equal(t, status, got.status)
			assert.Equal(t, []string{text}, got.errors())
		})
	}
}

func TestAnotherAccountsTokenIsRefused(t *testing.T) {
	p, other := newPod(t, hour), newAccount(t)
	p.write(t, other.token(t, openbao))
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			_, err := p.method(way, "app").Login(t.Context(), p.client(t))
			assert.Equal(t, other.subject(), requireLoginError(t, err, vaultauth.NotBound).Subject)
		})
	}
}

func TestATokenOfADeletedPod(t *testing.T) {
	p := newPod(t, hour)
	uid := p.pod(t, "app-0")
	p.write(t, p.boundToken(t, "app-0", uid))
	client := p.client(t)
	for _, way := range ways {
		_, err := p.method(way, "app").Login(t.Context(), client)
		require.NoError(t, err, way)
	}
	p.deletePod(t, "app-0")

	// The API server remembers for ten seconds that the token was good. What
	// it says then does not reach the client.
	var err error
	require.NoError(t, eventually(func() error {
		if _, err = p.method(byReview, "app").Login(t.Context(), client); err == nil {
			return errors.New("the token still logs in")
		}
		return nil
	}))
	requireLoginError(t, err, vaultauth.PermissionDenied)

	for _, way := range []string{byKeys, byKeysURL} {
		_, err := p.method(way, "app").Login(t.Context(), client)
		assert.NoError(t, err, "%s: a signature does not end with the pod", way)
	}
}

func TestALoginAtASealedServer(t *testing.T) {
	p := newPod(t, hour)
	p.server.skipUnlessSealable(t)
	p.write(t, p.token(t, openbao))
	require.NoError(t, p.server.sealNow(t.Context()))
	for _, way := range ways {
		_, err := p.method(way, "app").Login(t.Context(), p.client(t))
		requireLoginError(t, err, vaultauth.Sealed)
	}
	require.NoError(t, p.server.unsealNow(t.Context()))
	for _, way := range ways {
		_, err := p.method(way, "app").Login(t.Context(), p.client(t))
		assert.NoError(t, err, way)
	}
}

// requireLoginError returns the reason for a failed login, which names the
// mount and the server, and keeps the client's own error.
func requireLoginError(t *testing.T, err error, want vaultauth.Reason) *vaultauth.LoginError {
	t.Helper()
	var failed *vaultauth.LoginError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, want, failed.Reason, "%v", err)
	if want != vaultauth.TokenFile {
		var answered *api.ResponseError
		require.ErrorAs(t, err, &answered)
	}
	return failed
}
