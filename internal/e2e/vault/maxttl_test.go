//go:build linux

package vault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// Near the max TTL a renewal succeeds, and gives less than before. That, and
// the end, are the same in the fake.
func TestRenewalsShrinkNearTheMaxTTL(t *testing.T) {
	app := newAccount(t)
	suffix := strings.TrimPrefix(app.namespace, "e2e-")
	f := &fixture{
		app: app, issuer: app.issuer,
		jwt: "jwt-" + suffix, kubernetes: "kubernetes-" + suffix, policy: "app-" + suffix,
	}
	real := newRealTarget(t, app.cluster)
	targets := []target{real, newFakeTarget(t, app.cluster, real.openBao())}
	histories := make([][]renewal, len(targets))
	var group errgroup.Group
	for i, to := range targets {
		to.enable(t, "jwt", f.jwt)
		to.setRole(t, f.jwt, "short", vaultauthtest.Role{BoundAudiences: []string{openbao}, TokenTTL: shortTTL, TokenMaxTTL: shortMaxTTL})
		d := &dialogue{fixture: f, t: t, target: to}
		login := time.Now()
		token := d.token(f.jwt, "short")
		group.Go(func() (err error) {
			histories[i], err = renewals(t.Context(), to, token, login)
			return err
		})
	}
	require.NoError(t, group.Wait())
	for i, r := range histories[0] {
		t.Logf("after %v: %s", r.after.Round(time.Second), r.got)
		assert.NoError(t, r.plausible(), "the real server's renewal %d", i+1)
		also := histories[1][i]
		assert.NoError(t, also.plausible(), "the fake's renewal %d", i+1)
		if r.lease == also.lease { // else a second began in between
			assert.Equal(t, r.got, also.got, "the fake's renewal %d", i+1)
		}
	}
}

const (
	shortTTL    = 10 * time.Second
	shortMaxTTL = 25 * time.Second
)

// A renewal is the answer to one, without what is random.
type renewal struct {
	before, after time.Duration // since the login
	status        int
	lease         int
	warned        bool
	got           string
}

// renewals renews a token over its whole life, and once more when it is over.
func renewals(ctx context.Context, to target, token string, login time.Time) (all []renewal, err error) {
	for _, at := range []time.Duration{5 * time.Second, 14 * time.Second, 18 * time.Second, 22 * time.Second, 27 * time.Second} {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Until(login.Add(at))):
		}
		r := renewal{before: time.Since(login)}
		a, err := to.ask(ctx, tokenHeader(token), http.MethodPut, "auth/token/renew-self", object{})
		if err != nil {
			return nil, err
		}
		r.after, r.status = time.Since(login), a.status
		lease, _ := leased(a, "lease_duration").(float64)
		r.lease = int(lease)
		warnings, _ := a.object()["warnings"].([]any)
		r.warned = len(warnings) > 0
		r.got = fmt.Sprintf("%d, lease %d, renewable %v, warnings %q, errors %q",
			a.status, r.lease, leased(a, "renewable"), warnings, a.errors())
		all = append(all, r)
	}
	return all, nil
}

func leased(a *answer, name string) any { return at(a.object(), "auth", name) }

// plausible says what is wrong with an answer at its time. The server counts
// in whole seconds.
func (r renewal) plausible() error {
	most := min(shortTTL, shortMaxTTL-r.before.Truncate(time.Second)+time.Second)
	least := min(shortTTL, shortMaxTTL-r.after.Truncate(time.Second)-time.Second)
	lease := time.Duration(r.lease) * time.Second
	switch {
	case most < 0 && r.status != http.StatusForbidden:
		return fmt.Errorf("after %v: %s", r.before, r.got)
	case least > 0 && (r.status != http.StatusOK || lease < least || lease > most):
		return fmt.Errorf("after %v, where a lease of %v to %v is due: %s", r.before, least, most, r.got)
	case r.status == http.StatusOK && r.warned != (lease < shortTTL):
		return fmt.Errorf("after %v: %s", r.before, r.got)
	}
	return nil
}
