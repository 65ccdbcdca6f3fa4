//go:build linux

package aws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const (
	soakTime = 75 * time.Second // at least
	soakTick = 50 * time.Millisecond

	// The token in the file is replaced at four fifths of its life, as by the
	// kubelet, so that a string that was read once dies in the first minute.
	soakLifetime = 15 * time.Second
	soakRotation = soakLifetime * 4 / 5

	// recovery is how long after the server's return a program whose
	// credentials have ended may be late: its pause, and a fetch.
	recovery = 5 * time.Second
)

// For a minute and more, a program writes and reads an object every 50 ms,
// while credentials of 20 s end, the token in the file is replaced, STS cannot
// be reached, and the server crashes twice. Nothing fails but while the whole
// server is down.
func TestAWriteEveryFiftyMillisecondsFailsOnlyWhileTheServerIsDown(t *testing.T) {
	c, w := requireCluster(t), requireWeed(t)
	volume, err := tokenfiletest.NewVolume(filepath.Join(t.TempDir(), "aws"))
	require.NoError(t, err)
	k := &keeper{cluster: c, volume: volume}
	require.NoError(t, k.rotate(t.Context()))

	metadata := newIMDS(t, w)
	subject, peer := newSoaker(t, w, ours), newSoaker(t, w, control)
	environment := map[string]string{
		"AWS_ROLE_ARN": appRole, "AWS_WEB_IDENTITY_TOKEN_FILE": volume.Path(), "AWS_REGION": region,
		"AWS_EC2_METADATA_SERVICE_ENDPOINT": metadata.url, stsVar: peer.front.url,
	}
	setEnvironment(t, environment)
	var log syncBuffer
	provider, err := awspodid.New(func(o *awspodid.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.STSOptions = append(o.STSOptions, func(o *sts.Options) { o.BaseEndpoint = sdk.String(subject.front.url) })
	})
	require.NoError(t, err)
	subject.expiry = func() time.Time { return provider.Stats().Expiry }
	subject.connect(t, config.WithCredentialsProvider(provider))
	peer.connect(t)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := time.Now()
	var running sync.WaitGroup
	running.Go(func() { subject.writeUntil(ctx) })
	running.Go(func() { peer.writeUntil(ctx) })
	running.Go(func() { k.keep(t, ctx) })
	h := &harm{weed: w, provider: provider, soakers: []*soaker{subject, peer}}
	err = h.do(ctx)
	for err == nil && time.Since(start) < soakTime {
		time.Sleep(soakTick) // the time that the test is about
	}
	cancel()
	running.Wait()
	require.NoError(t, err)

	for _, d := range h.down {
		t.Logf("%s for %v, from %v on", d.name, d.end.Sub(d.start).Round(time.Millisecond), d.start.Sub(start).Round(time.Second))
	}
	stats := provider.Stats()
	for _, s := range []*soaker{subject, peer} {
		requests, refused, _ := s.front.counts()
		v := s.judge(h.down)
		t.Logf("%s: %d times written and read in %v; failed: %d while the server was down, %d after that with credentials that had ended meanwhile, "+
			"%d while STS alone could not be reached, %d as the credentials of before ended, %d else; STS was asked %d times, refused %d",
			s.name, s.done, time.Since(start).Round(time.Second), v.down, v.late, len(v.alone), v.astride, len(v.unexplained), requests, refused)
	}
	v := subject.judge(h.down)
	for _, f := range append(v.unexplained[:min(5, len(v.unexplained))], v.alone[:min(5, len(v.alone))]...) {
		t.Errorf("%s: after %v, %v before the credentials' end, for %v: %v", ours, f.start.Sub(start).Round(time.Millisecond),
			f.expiry.Sub(f.start).Round(time.Millisecond), f.end.Sub(f.start).Round(time.Millisecond), f.err)
	}
	// One request can be under way at that moment, since they are one by one.
	assert.LessOrEqual(t, v.astride, 1, "requests that were under way when credentials ended")
	requests, refused, _ := subject.front.counts()
	t.Logf("%d credentials were fetched, %d fetches failed, %d tokens were in the file", stats.Fetches, stats.Failures, k.rotations)
	assert.GreaterOrEqual(t, stats.Fetches, uint64(3), "fetches")
	assert.Less(t, requests, 60, "requests to STS")
	assert.Zero(t, refused, "requests that STS refused")
	assert.GreaterOrEqual(t, k.rotations, 5, "rotations")
	assert.Greater(t, subject.done, 200, "times written and read")
	assert.Zero(t, metadata.count(), "requests to the instance's metadata service")
	assert.NotEmpty(t, peer.judge(h.down).alone, "the control is expected to need STS the moment that its "+
		"credentials end: if it did not, neither would this test show that podtoken does better")

	k.secrets.requireAbsent(t, log.String())
	for _, f := range subject.failures {
		k.secrets.requireAbsent(t, f.err.Error())
	}
}

// setEnvironment is a container's environment, of which AWS's part is this and
// nothing else.
func setEnvironment(t *testing.T, environment map[string]string) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // so that it is set again in the end
			require.NoError(t, os.Unsetenv(name))
		}
	}
	for name, value := range environment {
		t.Setenv(name, value)
	}
	t.Setenv("HOME", t.TempDir()) // in which there is no ~/.aws
}

// A keeper replaces the token in the file.
type keeper struct {
	cluster   *cluster
	volume    *tokenfiletest.Volume
	secrets   secrets
	rotations int
}

func (k *keeper) rotate(ctx context.Context) error {
	token, err := k.cluster.short(ctx, soakLifetime)
	if err != nil {
		return err
	}
	k.rotations++
	k.secrets.add(token)
	return k.volume.Write(token)
}

func (k *keeper) keep(t *testing.T, ctx context.Context) {
	for sleep(ctx, soakRotation) {
		if err := k.rotate(ctx); ctx.Err() == nil {
			assert.NoError(t, err, "replacing the token")
		}
	}
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

// A soaker writes and reads without end.
type soaker struct {
	name   string
	weed   *weed
	front  *front
	client *s3.Client
	expiry func() time.Time // of its credentials, if it tells

	done     int
	failures []failure
}

type failure struct {
	start, end time.Time
	expiry     time.Time // of its credentials, as known at its start
	err        error
}

// without says that there were no credentials: those before had ended.
func (f failure) without() bool {
	return errors.As(f.err, new(*awspodid.STSError)) && f.expiry.Before(f.end)
}

// astride says that the credentials ended while the request was under way.
func (f failure) astride() bool {
	var refused smithy.APIError
	return errors.As(f.err, &refused) && refused.ErrorCode() == "InvalidAccessKeyId" &&
		f.start.Before(f.expiry) && !f.end.Before(f.expiry)
}

func newSoaker(t *testing.T, w *weed, name string) *soaker {
	t.Helper()
	return &soaker{name: name, weed: w, front: newFront(t, w)}
}

// connect makes its client, which repeats nothing: each failure counts.
func (s *soaker) connect(t *testing.T, options ...func(*config.LoadOptions) error) {
	t.Helper()
	cfg, err := config.LoadDefaultConfig(t.Context(), options...)
	require.NoError(t, err)
	s.client = s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.BaseEndpoint, o.UsePathStyle, o.Retryer = sdk.String(s.weed.url), true, sdk.NopRetryer{}
	})
}

func (s *soaker) writeUntil(ctx context.Context) {
	ticker := time.NewTicker(soakTick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.write(ctx)
	}
}

func (s *soaker) write(ctx context.Context) {
	f := failure{start: time.Now()}
	if s.expiry != nil {
		f.expiry = s.expiry()
	}
	within, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	f.err = putAndGet(within, s.client, "soak/"+s.name)
	f.end = time.Now()
	switch {
	case ctx.Err() != nil:
	case f.err == nil:
		s.done++
	default:
		s.failures = append(s.failures, f)
	}
}

// A downtime is a while in which the server does not serve, or STS alone
// cannot be reached.
type downtime struct {
	name       string
	sts        bool
	start, end time.Time
}

// A soakVerdict counts failures by what explains them.
type soakVerdict struct {
	down, late  int
	astride     int       // of credentials that STS's absence had kept from being refreshed
	alone       []failure // while STS alone could not be reached
	unexplained []failure
}

func (s *soaker) judge(down []downtime) (v soakVerdict) {
	for _, f := range s.failures {
		switch {
		case f.during(down, false, 0):
			v.down++
		case f.without() && f.during(down, false, recovery):
			v.late++
		case f.astride() && f.during(down, true, lifetime):
			v.astride++
		case f.during(down, true, 0):
			v.alone = append(v.alone, f)
		default:
			v.unexplained = append(v.unexplained, f)
		}
	}
	return v
}

func (f failure) during(down []downtime, sts bool, longer time.Duration) bool {
	for _, d := range down {
		if d.sts == sts && f.start.Before(d.end.Add(longer)) && f.end.After(d.start) {
			return true
		}
	}
	return false
}

// A harm does to the programs' server what happens to servers.
type harm struct {
	weed     *weed
	provider *awspodid.Provider
	soakers  []*soaker
	down     []downtime
}

func (h *harm) do(ctx context.Context) error {
	if err := h.fetched(ctx, 1); err != nil {
		return err
	}
	end, err := h.refreshed(ctx)
	if err != nil {
		return err
	}
	if err := h.during(downtime{name: "STS could not be reached", sts: true}, func() error {
		h.cut(true)
		defer h.cut(false)
		sleep(ctx, time.Until(end))
		return nil
	}); err != nil {
		return err
	}
	// Just after a refresh: the credentials outlive the crash.
	if err := h.fetched(ctx, h.fetches()); err != nil {
		return err
	}
	if err := h.during(downtime{name: "the server had crashed"}, h.crash); err != nil {
		return err
	}
	// Just before one: they may not.
	if err := h.fetched(ctx, h.fetches()); err != nil {
		return err
	}
	sleep(ctx, time.Until(h.provider.Stats().Refresh))
	if err := h.during(downtime{name: "the server had crashed when a refresh was due"}, h.crash); err != nil {
		return err
	}
	return h.fetched(ctx, h.fetches())
}

// refreshed waits for a moment from which podtoken's credentials outlive those
// of the control, which refreshes nothing before its end. It returns until when
// STS can be out of reach then: the control's have ended, and podtoken has
// recovery left.
func (h *harm) refreshed(ctx context.Context) (end time.Time, err error) {
	err = eventually(func() error {
		_, _, theirs := h.soakers[1].front.counts()
		end = h.provider.Stats().Expiry.Add(-recovery)
		if ctx.Err() == nil && (time.Until(theirs) < time.Second || end.Sub(theirs) < time.Second) {
			return errors.New("podtoken's credentials do not outlive the control's")
		}
		return nil
	})
	return end, err
}

func (h *harm) during(d downtime, do func() error) error {
	d.start = time.Now()
	err := do()
	d.end = time.Now()
	h.down = append(h.down, d)
	return err
}

func (h *harm) cut(cut bool) {
	for _, s := range h.soakers {
		s.front.set(cut)
	}
}

// crash ends the server as a crash does and starts it again on what it stored.
func (h *harm) crash() error {
	h.weed.process.Kill()
	if err := h.weed.start(); err != nil {
		return err
	}
	return h.weed.process.Until(h.weed.ready)
}

func (h *harm) fetches() uint64 { return h.provider.Stats().Fetches }

// fetched waits until credentials were fetched more often than before.
func (h *harm) fetched(ctx context.Context, before uint64) error {
	return eventually(func() error {
		if stats := h.provider.Stats(); ctx.Err() == nil && stats.Fetches <= before {
			return fmt.Errorf("no credentials were fetched: %w", stats.LastError)
		}
		return nil
	})
}

// A syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
