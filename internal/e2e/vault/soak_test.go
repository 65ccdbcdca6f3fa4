//go:build linux

package vault

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

const (
	soakTime = 2 * time.Minute
	readTick = 20 * time.Millisecond

	// The token in the file is replaced at four fifths of its life, as by the
	// kubelet, so that a string that was read once dies in the first minute.
	soakLifetime = 20 * time.Second
	soakRotation = soakLifetime * 4 / 5

	// recovery is how long after the server's return a session without a token
	// may be late: the longest of its pauses after a few failed attempts.
	recovery = 10 * time.Second
)

// For two minutes, programs read a secret every 20 ms, while the token in
// their file is replaced, leases of ten seconds and lives of 25 end, and the
// administrator seals the server, crashes it and revokes their tokens. Nothing
// fails but while the server is down.
func TestAReadEveryTwentyMillisecondsFailsOnlyWhileTheServerIsDown(t *testing.T) {
	role := vaultauthtest.Role{TokenTTL: shortTTL, TokenMaxTTL: shortMaxTTL}
	batch, mute := role, role
	batch.Batch, mute.NoDefaultPolicy = true, true
	p := newPod(t, role)
	p.setRole(t, byKeys, "batch", batch)
	p.setRole(t, byKeys, "mute", mute)
	k := &keeper{pod: p}
	require.NoError(t, k.rotate(t.Context()))

	programs := []*program{
		newProgram(t, p, "kubernetes, by TokenReview", p.method(byReview, "app")),
		newProgram(t, p, "jwt, by the API server's jwks_uri, read by a clone", p.method(byKeysURL, "app")),
		newProgram(t, p, "jwt, batch tokens", p.method(byKeys, "batch")),
		newProgram(t, p, "jwt, renewals forbidden by policy", p.method(byKeys, "mute")),
	}
	clone, err := programs[1].session.Client.Clone()
	require.NoError(t, err)
	clone.SetToken(programs[1].session.Client.Token())
	programs[1].client = clone
	control := newPeer(t, p)

	ctx, cancel := context.WithTimeout(t.Context(), soakTime)
	defer cancel()
	var group errgroup.Group
	group.Go(func() error { return k.keep(ctx) })
	group.Go(func() error { return control.run(ctx) })
	group.Go(func() error { return control.reads.readUntil(ctx, control.client, p.namespace, nil) })
	for _, program := range programs {
		group.Go(func() error {
			return program.reads.readUntil(ctx, program.client, p.namespace, program.session.Ready)
		})
	}
	down := p.disturb(t, ctx, programs)
	require.NoError(t, group.Wait())

	for _, d := range down {
		t.Logf("down for %v: %s", d.end.Sub(d.start).Round(time.Millisecond), d.name)
	}
	for _, program := range programs {
		stats := program.session.Stats()
		within, after, unexplained := program.reads.judge(down)
		t.Logf("%s: %d reads, %d logins, %d renewals, %d deaths; failed: %d while the server was down, %d before the next login after that, %d else",
			program.name, program.reads.total, stats.Logins, stats.Renewals, stats.Deaths, within, after, len(unexplained))
		for _, f := range unexplained[:min(len(unexplained), 5)] {
			t.Errorf("%s: after %v: %v", program.name, f.start.Sub(program.reads.start).Round(time.Millisecond), f.err)
		}
		assert.Greater(t, program.reads.total, int(soakTime/readTick/10), "%s: reads", program.name)
		assert.GreaterOrEqual(t, stats.Logins, uint64(soakTime/shortMaxTTL), "%s: logins", program.name)
		renews := strings.Contains(program.name, "uri") || strings.Contains(program.name, "TokenReview")
		assert.Equal(t, renews, stats.Renewals > 0, "%s: renewals", program.name)
		for _, f := range program.reads.failures {
			p.secrets.requireAbsent(t, f.err.Error())
		}
	}
	assert.Greater(t, k.rotations, int(soakTime/soakRotation/2), "rotations of the file")

	within, _, unexplained := control.reads.judge(down)
	t.Logf("the control, api/auth/kubernetes with a LifetimeWatcher: %d reads, %d logins, %d refused; failed: %d while the server was down, %d else",
		control.reads.total, control.logins, control.refused, within, len(unexplained))
	assert.NotEmpty(t, unexplained, "a program that reads its token once does not live through this: "+
		"if it did, neither would this test show that podtoken does better")
}

// A keeper replaces the token in the file.
type keeper struct {
	*pod
	rotations int
}

func (k *keeper) rotate(ctx context.Context) error {
	token, err := k.short(ctx, soakLifetime)
	if err != nil {
		return err
	}
	k.rotations++
	k.secrets.add(strings.Split(token, ".")...)
	return k.volume.Write(token)
}

func (k *keeper) keep(ctx context.Context) error {
	for sleep(ctx, soakRotation) {
		if err := k.rotate(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("replacing the token: %w", err)
		}
	}
	return nil
}

// sleep waits, and tells whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// A program reads by the client of a session, or by a clone of it.
type program struct {
	name    string
	session *vaultauth.Session
	client  *api.Client
	reads   reads
}

func newProgram(t *testing.T, p *pod, name string, method *vaultauth.Method) *program {
	t.Helper()
	s := p.session(t, method)
	return &program{name: name, session: s, client: s.Client}
}

// reads are one reader's.
type reads struct {
	start    time.Time
	total    int
	failures []failure
}

type failure struct {
	start, end time.Time
	ready      bool // the session thought that it had a token
	err        error
}

// readUntil reads at each tick until ctx ends.
func (r *reads) readUntil(ctx context.Context, client *api.Client, secret string, ready func(context.Context) error) error {
	r.start = time.Now()
	ticker := time.NewTicker(readTick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		start := time.Now()
		_, err := client.KVv2(kvMount).Get(ctx, secret)
		if ctx.Err() != nil {
			return nil
		}
		r.total++
		if err != nil {
			f := failure{start: start, end: time.Now(), err: err}
			f.ready = ready != nil && ready(ctx) == nil
			r.failures = append(r.failures, f)
		}
	}
}

// A downtime is a while in which the server does not serve.
type downtime struct {
	name       string
	start, end time.Time
}

// judge counts the failures during downtimes, and those after one of a session
// whose token did not live to the end of it, until its next login. What is
// left, nothing explains.
func (r *reads) judge(down []downtime) (within, after int, unexplained []failure) {
	for _, f := range r.failures {
		switch {
		case overlaps(f, down, 0):
			within++
		case !f.ready && overlaps(f, down, recovery):
			after++
		default:
			unexplained = append(unexplained, f)
		}
	}
	return within, after, unexplained
}

func overlaps(f failure, down []downtime, longer time.Duration) bool {
	for _, d := range down {
		if f.start.Before(d.end.Add(longer)) && f.end.After(d.start) {
			return true
		}
	}
	return false
}

// disturb does to the server what happens to servers, and returns when it was
// down.
func (p *pod) disturb(t *testing.T, ctx context.Context, programs []*program) (down []downtime) {
	t.Helper()
	interrupt := func(name string, do func() error) {
		d := downtime{name: name, start: time.Now()}
		assert.NoError(t, do(), name)
		d.end = time.Now()
		down = append(down, d)
	}
	seal := func() error {
		if err := p.server.sealNow(t.Context()); err != nil {
			return err
		}
		sleep(t.Context(), time.Second)
		return p.server.unsealNow(t.Context())
	}
	crash := func() error { return p.server.restart(t.Context()) }

	// The events are at any point of a token's life, and at another one for
	// each program.
	if p.server.unseal == "" {
		t.Logf("LEFT OUT: sealing, for which %s gives no key", unsealVar)
	} else if sleep(ctx, 20*time.Second) {
		interrupt("sealed", seal)
	}
	if sleep(ctx, 25*time.Second) {
		p.revokeAll(t, programs)
	}
	if p.server.process == nil {
		t.Logf("LEFT OUT: a crash of the server of %s", addressVar)
	} else if sleep(ctx, 17*time.Second) {
		interrupt("crashed and restarted", crash)
	}
	if p.server.unseal != "" && sleep(ctx, 17*time.Second) {
		interrupt("sealed again", seal)
	}
	// Long enough after a downtime that nothing is put down to it.
	if sleep(ctx, 2*recovery) {
		p.revokeAll(t, programs)
	}
	return down
}

// revokeAll revokes the tokens that the programs have now. Batch tokens cannot
// be revoked.
func (p *pod) revokeAll(t *testing.T, programs []*program) {
	t.Helper()
	var once sync.WaitGroup
	for _, program := range programs {
		token := program.session.Client.Token()
		once.Go(func() {
			a, err := p.server.ask(t.Context(), p.server.root, http.MethodPost, "auth/token/revoke", object{"token": token})
			if assert.NoError(t, err) && a.status != http.StatusBadRequest {
				assert.NoError(t, a.failure(), program.name)
			}
		})
	}
	once.Wait()
}
