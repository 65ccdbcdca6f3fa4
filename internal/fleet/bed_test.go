package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/kubernetes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
	"github.com/podtoken/podtoken/vaultauth"
	"github.com/podtoken/podtoken/vaultauth/vaultauthtest"
)

// TestMain takes away what configures the clients from outside.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "VAULT_") || strings.HasPrefix(name, "AWS_") {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

const (
	audience = "openbao"
	roleName = "web"
)

// bed is a bubble with a login server behind a party, and the volume of the
// pods' token. All pods share the volume: their tokens, of the same second,
// would be replaced within the same minute.
type bed struct {
	*testing.T
	party  *Party
	start  time.Time
	issuer *tokenfiletest.Issuer
	volume *tokenfiletest.Volume
	server *vaultauthtest.Server

	once    sync.Once
	account *account // for those who have AWS credentials
}

// realProgram is what a pod runs until its context ends.
type realProgram func(*bed, context.Context, int)

var realPrograms = map[string]realProgram{
	"podtoken":              (*bed).session,
	"LifetimeWatcher":       (*bed).watcher,
	"a timer of 45 minutes": (*bed).timer,
	"the token read once":   (*bed).readOnce,
}

// real plays a story with the real code.
func (s story) real(t *testing.T, pods int, run realProgram) *Party {
	t.Helper()
	p := s.party(pods)
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, p)
		random := newModel(p, 1)
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for i, life := range s.lives(pods, random.uniform) {
			all.Go(func() {
				pause(ctx, life.From)
				ctx, cancel := context.WithTimeout(ctx, life.To-life.From)
				defer cancel()
				run(b, ctx, i)
			})
		}
		pause(ctx, s.length)
		cancel()
		all.Wait()
		time.Sleep(time.Minute) // a LifetimeWatcher's last request does not heed its context
	})
	return p
}

func newBed(t *testing.T, p *Party) *bed {
	b := &bed{T: t, party: p, start: time.Now(), issuer: &tokenfiletest.Issuer{}}
	require.NoError(t, b.issuer.RotateKey(tokenfiletest.ES256))
	var err error
	b.volume, err = tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	kubelet := &tokenfiletest.Kubelet{
		Issuer: b.issuer, Volume: b.volume,
		Request: tokenfiletest.Request{Audiences: []string{audience}, Pod: "web-0", Lifetime: tokenLife},
	}
	require.NoError(t, kubelet.Rotate())
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { defer close(ended); assert.NoError(t, kubelet.Run(ctx)) }()
	t.Cleanup(func() { cancel(); <-ended })

	b.server = vaultauthtest.New(b.issuer)
	b.server.LogSize = -1
	b.server.Enable("kubernetes", vaultauthtest.Mount{})
	b.server.SetRole("kubernetes", roleName, vaultauthtest.Role{
		BoundAudiences: []string{audience}, BoundServiceAccountNames: []string{"*"}, BoundServiceAccountNamespaces: []string{"*"},
		TokenTTL: leaseTTL, TokenMaxTTL: leaseMax,
	})
	return b
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// gate leads requests through the party to whoever answers them.
type gate struct {
	*bed
	base  http.RoundTripper
	valid atomic.Int64 // until when its pod's token is, as a time.Duration
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k := login
	if strings.HasSuffix(r.URL.Path, "/renew-self") {
		k = renewal
	}
	now := time.Since(g.start)
	f := g.party.ask(now, k)
	pause(ctx, f.at-now)
	if err := ctx.Err(); err != nil {
		o := f.outcome
		if o == served {
			o = late
		}
		g.party.settle(time.Since(g.start), k, o)
		return nil, err
	}
	resp, err := g.answer(r, f.outcome)
	switch {
	case err != nil || f.outcome != served:
	case resp.StatusCode != http.StatusOK:
		f.outcome = denied
	case g.account == nil: // what AWS gives is not asked about, and its gate serves all pods
		was := g.valid.Swap(int64(f.at + g.lease(resp)))
		g.party.gap(Span{time.Duration(was), f.at})
	}
	g.party.settle(f.at, k, f.outcome)
	return resp, err
}

// lease is what an answer gives.
func (g *gate) lease(resp *http.Response) time.Duration {
	body, err := io.ReadAll(resp.Body)
	assert.NoError(g, err)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var answer struct {
		Auth struct {
			Lease int `json:"lease_duration"`
		}
	}
	assert.NoError(g, json.Unmarshal(body, &answer))
	return time.Duration(answer.Auth.Lease) * time.Second
}

// end is that of the gate's pod.
func (g *gate) end() {
	g.party.gap(Span{time.Duration(g.valid.Load()), time.Since(g.start)})
}

func (g *gate) answer(r *http.Request, o outcome) (*http.Response, error) {
	switch o {
	case down:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case full:
		return &http.Response{
			Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r,
		}, nil
	}
	return g.base.RoundTrip(r)
}

// client is Vault's own. Call end when its pod ends.
func (b *bed) client() (client *api.Client, end func()) {
	config, end := b.config()
	client, err := api.NewClient(config)
	require.NoError(b, err)
	return client, end
}

func (b *bed) config() (config *api.Config, end func()) {
	g := &gate{bed: b, base: b.server.Transport()}
	g.valid.Store(int64(time.Since(b.start)))
	config = api.DefaultConfig()
	config.HttpClient = &http.Client{Transport: g}
	return config, g.end
}

// session is this project's client.
func (b *bed) session(ctx context.Context, _ int) {
	config, end := b.config()
	defer end()
	session, err := vaultauth.NewSession(config, &vaultauth.Method{
		Role: roleName, Source: &tokenfile.Source{Path: b.volume.Path(), Audience: audience},
	})
	if assert.NoError(b, err) {
		assert.ErrorIs(b, session.Run(ctx), ctx.Err())
	}
}

// peer is Vault's own auth method, which reads the token now and never again.
func (b *bed) peer() api.AuthMethod {
	method, err := kubernetes.NewKubernetesAuth(roleName, kubernetes.WithServiceAccountTokenPath(b.volume.Path()))
	require.NoError(b, err)
	return method
}

// enter logs in, however often that takes, and returns nil when ctx has ended.
func (b *bed) enter(ctx context.Context, client *api.Client, method func() api.AuthMethod) *api.Secret {
	for ctx.Err() == nil {
		if secret, err := client.Auth().Login(ctx, method()); err == nil {
			return secret
		}
		pause(ctx, afterFailure)
	}
	return nil
}

func (b *bed) readOnce(ctx context.Context, _ int) {
	client, end := b.client()
	defer end()
	method := b.peer()
	for b.enter(ctx, client, func() api.AuthMethod { return method }) != nil {
		pause(ctx, leaseTTL*9/10)
	}
}

func (b *bed) timer(ctx context.Context, _ int) {
	client, end := b.client()
	defer end()
	start := time.Now()
	for b.enter(ctx, client, b.peer) != nil {
		pause(ctx, everyTick-time.Since(start)%everyTick)
	}
}

func (b *bed) watcher(ctx context.Context, number int) {
	client, end := b.client()
	defer end()
	// The default seed is the nanosecond of the clock, which stands still in a
	// bubble while all of a fleet are at work.
	random := rand.New(rand.NewSource(int64(number)))
	for {
		secret := b.enter(ctx, client, b.peer)
		if secret == nil {
			return
		}
		watcher, err := client.NewLifetimeWatcher(&api.LifetimeWatcherInput{Secret: secret, Rand: random})
		require.NoError(b, err)
		go watcher.Start()
		select {
		case <-watcher.DoneCh():
		case <-ctx.Done():
		}
		watcher.Stop()
	}
}
