package tokenfiletest

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// How the real kubelet looks after a token.
const (
	meanPeriod = 75 * time.Second // it looks every 60 to 90 s
	maxJitter  = 10 * time.Second
	maxAge     = 24 * time.Hour
)

// Kubelet keeps a Volume's token fresh by the real kubelet's rule. It looks
// at the token every 60 to 90 s, and replaces it when it is older than 24 h or
// has less than a fifth of its lifetime left, each less a jitter of up to 9 s.
// What counts is the declared lifetime: an extended token, good for a year,
// is replaced by the hour.
//
// Set Issuer, Volume and Request, and let Run run in a goroutine. Time is
// the time package's, so inside a testing/synctest bubble a day of rotations
// passes at once. In real time use lifetimes of seconds (Issuer.AllowShort):
// for a Lifetime under ten minutes the periods above shrink in proportion, as
// if it were ten minutes.
//
// The exported fields are set before first use and not changed after. The
// methods are safe for concurrent use, but there is one Run at a time.
type Kubelet struct {
	Issuer  *Issuer // required
	Volume  *Volume // required
	Request Request // which token to ask for

	// Period is the mean time between two looks; each is drawn evenly from
	// four to six fifths of it. If zero, 75 s.
	Period time.Duration

	// Jitter is the bound of what each look takes off the token's age limits:
	// nought to nine tenths of it. If zero, 10 s, hence a whole 0 to 9 s.
	Jitter time.Duration

	// OnRotate, if set, is called for each token that got into the volume,
	// the first included, from the goroutine that put it there.
	OnRotate func(Rotation)

	// Logger is told of tokens and failures, never of a token's text. If nil,
	// Kubelet is silent.
	Logger *slog.Logger

	// Rand is the source of period and jitter, for soaks that repeat exactly.
	// If nil, they differ at each run.
	Rand *rand.Rand

	mu        sync.Mutex
	token     *issued // the one to be mounted, like the kubelet's cache
	mounted   *issued // the one that was mounted last
	rotations int

	stalled atomic.Bool
}

// Rotation tells of one token that got into the volume.
type Rotation struct {
	Number int       // 0 for the token that was mounted first
	At     time.Time // when it was in place
	Expiry time.Time // as TokenRequest tells it: warnafter for an extended token, else exp
}

// Run mounts the first token, unless Rotate has, and looks after it until ctx
// ends. It returns nil then.
//
// It returns an error, at once, only if the first token cannot be issued or
// mounted; a pod would not start. What fails later is tried again at the next
// look, and the old token stays in place meanwhile, even beyond its expiry.
func (k *Kubelet) Run(ctx context.Context) error {
	if err := k.look(false); err != nil {
		return err
	}
	for k.wait(ctx) {
		if k.stalled.Load() {
			continue
		}
		if err := k.look(false); err != nil {
			k.logger().Error("token not refreshed, the old one stays", "path", k.Volume.Path(), "err", err)
		}
	}
	return nil
}

// Rotate replaces the token now, whatever its age, as a restart of the
// kubelet does. Before Run it mounts the first token. If the token cannot be
// issued or written, the old one stays and the reason is returned.
func (k *Kubelet) Rotate() error { return k.look(true) }

// Stall makes Run do nothing at its looks until Stall(false): a kubelet that
// hangs, or whose pod is terminating. The token then expires in its place.
// Rotate still works.
func (k *Kubelet) Stall(stalled bool) { k.stalled.Store(stalled) }

// Rotations returns how many times a token was replaced by a newer one.
func (k *Kubelet) Rotations() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rotations
}

// look is the kubelet's regular visit to the volume: it gets a new token if
// the one at hand is due, or else if forced, and writes the one at hand, which
// changes nothing when it is in place already.
func (k *Kubelet) look(force bool) error {
	if k.Issuer == nil || k.Volume == nil {
		return errors.New("tokenfiletest: a Kubelet needs an Issuer and a Volume")
	}
	rotation, err := k.refresh(force)
	if rotation == nil {
		return err
	}
	k.logger().Info("token mounted", "path", k.Volume.Path(), "number", rotation.Number, "expiry", rotation.Expiry)
	if k.OnRotate != nil {
		k.OnRotate(*rotation)
	}
	return err
}

// refresh is look without the telling, which must not hold the lock.
func (k *Kubelet) refresh(force bool) (*Rotation, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if force || k.token == nil || k.due(time.Now()) {
		token, err := k.Issuer.issue(k.Request)
		if err != nil {
			return nil, err
		}
		k.token = token
	}
	if err := k.Volume.Write(k.token.reveal()); err != nil {
		return nil, err
	}
	return k.count(), nil
}

// count notes that the token at hand is in place, and returns nil if it was.
func (k *Kubelet) count() *Rotation {
	if k.mounted == k.token {
		return nil
	}
	if k.mounted != nil {
		k.rotations++
	}
	k.mounted = k.token
	return &Rotation{Number: k.rotations, At: time.Now(), Expiry: k.token.expiry}
}

// due is the kubelet's rule for when to replace the token at hand.
func (k *Kubelet) due(now time.Time) bool {
	jitter := k.jitter()
	issuedAt := k.token.expiry.Add(-k.token.lifetime)
	old := issuedAt.Add(maxAge - jitter)
	last := k.token.expiry.Add(-k.token.lifetime/5 - jitter)
	return now.After(old) || now.After(last)
}

// jitter draws one of ten even steps.
func (k *Kubelet) jitter() time.Duration {
	bound := k.Jitter
	if bound == 0 {
		bound = k.scale(maxJitter)
	}
	return time.Duration(k.random()*10) * bound / 10
}

// wait waits for the next look and tells whether there is one.
func (k *Kubelet) wait(ctx context.Context) bool {
	timer := time.NewTimer(k.period())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (k *Kubelet) period() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	mean := k.Period
	if mean == 0 {
		mean = k.scale(meanPeriod)
	}
	return time.Duration((0.8 + 0.4*k.random()) * float64(mean))
}

// scale shrinks one of the kubelet's periods for a lifetime that no real
// kubelet has to do with.
func (k *Kubelet) scale(d time.Duration) time.Duration {
	lifetime := min(k.Request.lifetime(), minLifetime)
	return time.Duration(float64(d) * float64(lifetime) / float64(minLifetime))
}

func (k *Kubelet) random() float64 {
	if k.Rand != nil {
		return k.Rand.Float64()
	}
	return rand.Float64()
}

func (k *Kubelet) logger() *slog.Logger {
	if k.Logger != nil {
		return k.Logger
	}
	return slog.New(slog.DiscardHandler)
}
