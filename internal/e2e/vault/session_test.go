//go:build linux

package vault

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/vaultauth"
)

// A token that the administrator revokes is dead from one request to the next.
// The session's callers do not notice.
func TestARevokedTokenIsReplacedWithinTheRequest(t *testing.T) {
	p := newPod(t, hour)
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			p.write(t, p.token(t, openbao))
			s := p.session(t, p.method(way, "app"))
			clone, err := s.Client.Clone()
			require.NoError(t, err)
			clone.SetToken(s.Client.Token())
			require.NoError(t, p.read(t, s.Client))

			p.server.must(t, http.MethodPost, "auth/token/revoke", object{"token": s.Client.Token()})
			assert.NoError(t, p.read(t, s.Client))
			assert.NoError(t, p.read(t, clone), "a clone with the old token")
			stats := s.Stats()
			assert.Equal(t, uint64(2), stats.Logins)
			assert.Equal(t, uint64(1), stats.Deaths)
		})
	}
}

// What a policy forbids is no reason for a login.
func TestWhatIsForbiddenStaysSo(t *testing.T) {
	p := newPod(t, hour)
	p.write(t, p.token(t, openbao))
	for _, way := range ways {
		s := p.session(t, p.method(way, "app"))
		_, err := s.Client.KVv2(kvMount).Get(t.Context(), "another's")
		var refused *api.ResponseError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, http.StatusForbidden, refused.StatusCode)
		assert.Equal(t, uint64(1), s.Stats().Logins)
		assert.Zero(t, s.Stats().Deaths)
	}
}

// A token outlives a seal and a crash of the server, so no login follows.
func TestTheTokenSurvivesTheServersDowntime(t *testing.T) {
	for name, interrupt := range map[string]func(*testing.T, *server){
		"sealed and unsealed": func(t *testing.T, s *server) {
			s.skipUnlessSealable(t)
			require.NoError(t, s.sealNow(t.Context()))
			require.NoError(t, s.unsealNow(t.Context()))
		},
		"restarted": func(t *testing.T, s *server) {
			s.skipUnlessRestartable(t)
			require.NoError(t, s.restart(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t, hour)
			p.write(t, p.token(t, openbao))
			s := p.session(t, p.method(byReview, "app"))
			require.NoError(t, p.read(t, s.Client))
			interrupt(t, p.server)
			assert.NoError(t, p.read(t, s.Client))
			assert.NoError(t, s.Ready(t.Context()))
			assert.Equal(t, uint64(1), s.Stats().Logins)
		})
	}
}

var errStillLoggedIn = errors.New("still logged in")

// A session whose file holds nothing that is good comes back by itself when
// the kubelet has replaced the token.
func TestANewTokenInTheFileLetsTheSessionIn(t *testing.T) {
	p := newPod(t, hour)
	short := hour
	short.TokenTTL, short.TokenMaxTTL = 3*time.Second, 3*time.Second
	p.setRole(t, byReview, "short", short)
	token, err := p.short(t.Context(), 2*time.Second)
	require.NoError(t, err)
	p.write(t, token)
	s := p.session(t, p.method(byReview, "short"))
	require.NoError(t, eventually(func() error {
		if s.Ready(t.Context()) == nil {
			return errStillLoggedIn
		}
		return nil
	}))
	p.write(t, p.token(t, openbao))
	require.NoError(t, eventually(func() error { return s.Ready(t.Context()) }))
	assert.NoError(t, p.read(t, s.Client))
}

// After an outage that no token survives, and of which the session was not
// told, it logs in by itself.
func TestASealLongerThanTheLeaseNeedsNoRestartOfTheProgram(t *testing.T) {
	p := newPod(t, hour)
	p.server.skipUnlessSealable(t)
	short := hour
	short.TokenTTL, short.TokenMaxTTL = 3*time.Second, time.Minute
	p.setRole(t, byReview, "short", short)
	p.write(t, p.token(t, openbao))
	s := p.session(t, p.method(byReview, "short"))
	require.NoError(t, p.server.sealNow(t.Context()))
	require.NoError(t, eventually(func() error {
		if s.Ready(t.Context()) == nil {
			return errStillLoggedIn
		}
		return nil
	}))
	require.ErrorIs(t, s.Ready(t.Context()), vaultauth.ErrNotLoggedIn)
	require.NoError(t, p.server.unsealNow(t.Context()))
	back := time.Now()
	require.NoError(t, eventually(func() error { return p.read(t, s.Client) }))
	t.Logf("the first read succeeded %v after the server's return", time.Since(back).Round(time.Millisecond))
	assert.NoError(t, s.Ready(t.Context()))
}

func TestTheTokenIsRevokedAtTheEndOfRun(t *testing.T) {
	p := newPod(t, hour)
	p.write(t, p.token(t, openbao))
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			s := p.newSession(t, p.method(way, "app"))
			s.RevokeAtEnd = true
			require.NoError(t, s.Login(t.Context()))
			token := s.Client.Token()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			assert.ErrorIs(t, s.Run(ctx), context.Canceled)
			assert.Empty(t, s.Client.Token())
			a, err := p.server.ask(t.Context(), token, http.MethodGet, "auth/token/lookup-self", nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusForbidden, a.status, "the token is dead")
		})
	}
}

// Renewals would use up a token of few uses, so none is sent, and a new login
// follows the last use.
func TestATokenOfFewUsesIsReplacedWhenUsedUp(t *testing.T) {
	p := newPod(t, hour)
	few := hour
	few.NumUses = 3
	p.setRole(t, byReview, "few", few)
	p.write(t, p.token(t, openbao))
	s := p.session(t, p.method(byReview, "few"))
	for range 6 {
		assert.NoError(t, p.read(t, s.Client))
	}
	assert.GreaterOrEqual(t, s.Stats().Logins, uint64(2))
	assert.Zero(t, s.Stats().Renewals)
}

// That a renewal has just succeeded says nothing about the token any more.
func TestATokenRevokedRightAfterItsRenewalIsReplacedWithinTheRequest(t *testing.T) {
	p := newPod(t, hour)
	short := hour
	short.TokenTTL, short.TokenMaxTTL = 3*time.Second, time.Minute
	p.setRole(t, byReview, "short", short)
	p.write(t, p.token(t, openbao))
	s := p.session(t, p.method(byReview, "short"))
	require.NoError(t, eventually(func() error {
		if s.Stats().Renewals == 0 {
			return errors.New("not renewed yet")
		}
		return nil
	}))
	p.server.must(t, http.MethodPost, "auth/token/revoke", object{"token": s.Client.Token()})
	assert.NoError(t, p.read(t, s.Client))
}

// A second revocation in a minute is no reason to make callers wait, when the
// tokens in between were good.
func TestTokensThatAreRevokedNowAndThenAreReplacedWithinTheRequest(t *testing.T) {
	p := newPod(t, hour)
	short := hour
	short.TokenTTL, short.TokenMaxTTL, short.NoDefaultPolicy = 2*time.Second, time.Minute, true
	p.setRole(t, byReview, "mute", short)
	p.write(t, p.token(t, openbao))
	s := p.session(t, p.method(byReview, "mute"))
	for range 2 {
		logins := s.Stats().Logins
		require.NoError(t, eventually(func() error {
			if s.Stats().Logins < logins+2 {
				return errors.New("no two logins yet")
			}
			return nil
		}))
		p.server.must(t, http.MethodPost, "auth/token/revoke", object{"token": s.Client.Token()})
		assert.NoError(t, p.read(t, s.Client))
	}
}
