package tokenfiletest_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// record notes the rotations of a Kubelet.
type record struct {
	mu   sync.Mutex
	seen []tokenfiletest.Rotation
}

func (r *record) add(rotation tokenfiletest.Rotation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, rotation)
}

// ages returns how old each token was when the next one replaced it.
func (r *record) ages(lifetime time.Duration) (ages []time.Duration) {
	for i, rotation := range r.seen[1:] {
		issued := r.seen[i].Expiry.Add(-lifetime)
		ages = append(ages, rotation.At.Sub(issued))
	}
	return ages
}

// text is a log that may be read while it is written.
type text struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *text) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(line)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// soak runs a Kubelet over a volume of its own for a time of the bubble.
func soak(t *testing.T, k *tokenfiletest.Kubelet, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if k.Issuer == nil {
		k.Issuer = newIssuer(t)
	}
	if k.Volume == nil {
		k.Volume = newVolume(t)
	}
	require.NoError(t, k.Run(ctx))
}

func TestKubeletRotatesWhenTheRealOneWould(t *testing.T) {
	tests := []struct {
		name     string
		request  tokenfiletest.Request
		soak     time.Duration
		earliest time.Duration // age of a token when replaced
	}{
		{"ten minutes", tokenfiletest.Request{Lifetime: 10 * time.Minute}, 24 * time.Hour, 480 * time.Second},
		{"one hour", tokenfiletest.Request{}, 4 * 24 * time.Hour, 2880 * time.Second},
		{"extended to a year", tokenfiletest.Request{Pod: "web-0", Lifetime: 3607 * time.Second}, 4 * 24 * time.Hour, 2885 * time.Second},
		{"thirty hours", tokenfiletest.Request{Lifetime: 30 * time.Hour}, 10 * 24 * time.Hour, 24 * time.Hour},
		{"a year", tokenfiletest.Request{Lifetime: 365 * 24 * time.Hour}, 10 * 24 * time.Hour, 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var rotations record
				k := &tokenfiletest.Kubelet{Request: tt.request, OnRotate: rotations.add}
				soak(t, k, tt.soak)

				lifetime := tt.request.Lifetime
				if lifetime == 0 {
					lifetime = time.Hour
				}
				ages := rotations.ages(lifetime)
				assert.Equal(t, len(ages), k.Rotations())
				assert.GreaterOrEqual(t, len(ages), int(tt.soak/(tt.earliest+91*time.Second))-1)
				for _, age := range ages {
					assert.Greater(t, age, tt.earliest-9*time.Second)
					assert.Less(t, age, tt.earliest+92*time.Second) // a look, and the token's whole seconds
				}
				for i, rotation := range rotations.seen {
					assert.Equal(t, i, rotation.Number)
				}
			})
		})
	}
}

func TestKubeletLooksEvery60To90Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks []time.Time
		k := &tokenfiletest.Kubelet{
			Jitter:   24 * time.Hour, // every look finds the token due, or one in ten would not
			OnRotate: func(r tokenfiletest.Rotation) { looks = append(looks, r.At) },
		}
		soak(t, k, 24*time.Hour)
		require.Greater(t, len(looks), 500)
		shortest, longest := time.Hour, time.Duration(0)
		for i := range looks[1:] {
			if wait := looks[i+1].Sub(looks[i]); wait < 100*time.Second {
				shortest, longest = min(shortest, wait), max(longest, wait)
			}
		}
		assert.Greater(t, shortest, 60*time.Second-time.Nanosecond)
		assert.Less(t, shortest, 63*time.Second)
		assert.Less(t, longest, 90*time.Second)
		assert.Greater(t, longest, 87*time.Second)
	})
}

func TestKubeletScalesDownForShortLifetimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iss := newIssuer(t)
		iss.AllowShort = true
		var rotations record
		k := &tokenfiletest.Kubelet{
			Issuer:   iss,
			Request:  tokenfiletest.Request{Lifetime: 10 * time.Second}, // a sixtieth of ten minutes
			OnRotate: rotations.add,
		}
		soak(t, k, time.Hour)
		ages := rotations.ages(10 * time.Second)
		assert.Greater(t, len(ages), 3600/11)
		for _, age := range ages {
			assert.Greater(t, age, 8*time.Second-150*time.Millisecond)
			assert.Less(t, age, 8*time.Second+1500*time.Millisecond)
		}
	})
}

func TestKubeletPeriodAndJitterOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rotations record
		k := &tokenfiletest.Kubelet{
			Period:   time.Second,
			Jitter:   time.Nanosecond, // none
			OnRotate: rotations.add,
		}
		soak(t, k, 5*time.Hour)
		for _, age := range rotations.ages(time.Hour) {
			assert.Greater(t, age, 48*time.Minute)
			assert.Less(t, age, 48*time.Minute+1200*time.Millisecond)
		}
		assert.Equal(t, 6, k.Rotations())
	})
}

func TestKubeletRepeatsExactlyWithTheSameRand(t *testing.T) {
	times := func(seed uint64) (at []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			k := &tokenfiletest.Kubelet{
				Rand:     rand.New(rand.NewPCG(seed, 0)),
				OnRotate: func(r tokenfiletest.Rotation) { at = append(at, r.At.Sub(start)) },
			}
			soak(t, k, 24*time.Hour)
		})
		return at
	}
	first := times(1)
	assert.Equal(t, first, times(1))
	assert.NotEqual(t, first, times(2))
}

func TestExtendedTokenRotatesByTheHourAndSaysAYear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rotations record
		k := &tokenfiletest.Kubelet{
			Volume:   newVolume(t),
			Request:  tokenfiletest.Request{Pod: "web-0", Lifetime: 3607 * time.Second},
			OnRotate: rotations.add,
		}
		soak(t, k, time.Hour)
		_, claims := decode(t, read(t, k.Volume.Path()))
		assert.Equal(t, claims["iat"].(float64)+31536000, claims["exp"])
		require.Len(t, rotations.seen, 2)
		want := time.Unix(int64(claims["iat"].(float64))+3607, 0)
		assert.True(t, want.Equal(rotations.seen[1].Expiry), "and not a part of a second later")
	})
}

func TestKubeletRunsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		k := &tokenfiletest.Kubelet{Issuer: newIssuer(t), Volume: newVolume(t)}
		ended := make(chan error)
		go func() { ended <- k.Run(ctx) }()
		synctest.Wait()
		first := read(t, k.Volume.Path())
		select {
		case err := <-ended:
			require.Fail(t, "ended early", "%v", err)
		default:
		}
		cancel()
		require.NoError(t, <-ended)
		time.Sleep(2 * time.Hour)
		assert.Equal(t, first, read(t, k.Volume.Path()))
		assert.Zero(t, k.Rotations())
	})
}

func TestRotateIsARestartOfTheKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rotations record
		k := &tokenfiletest.Kubelet{Issuer: newIssuer(t), Volume: newVolume(t), OnRotate: rotations.add}
		require.NoError(t, k.Rotate())
		first := read(t, k.Volume.Path())
		assert.Zero(t, k.Rotations(), "the first token replaces none")

		go k.Run(t.Context())
		synctest.Wait()
		assert.Equal(t, first, read(t, k.Volume.Path()), "Run keeps what Rotate mounted")

		require.NoError(t, k.Rotate())
		assert.NotEqual(t, first, read(t, k.Volume.Path()))
		assert.Equal(t, 1, k.Rotations())
		require.Len(t, rotations.seen, 2)
		assert.Equal(t, 1, rotations.seen[1].Number)
		assert.Equal(t, time.Now(), rotations.seen[1].At)
	})
}

// https://github.com/kubernetes/kubernetes/issues/138689, and for pods that
// terminate https://github.com/kubernetes/kubernetes/issues/122568
func TestStalledKubeletLetsTheTokenExpireInItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &tokenfiletest.Kubelet{Issuer: newIssuer(t), Volume: newVolume(t)}
		require.NoError(t, k.Rotate())
		go k.Run(t.Context())
		k.Stall(true)
		first := read(t, k.Volume.Path())

		time.Sleep(2 * time.Hour)
		assert.Equal(t, first, read(t, k.Volume.Path()))
		_, err := k.Issuer.Verify(first, tokenfiletest.DefaultIssuer)
		require.ErrorIs(t, err, jwt.ErrTokenExpired)

		require.NoError(t, k.Rotate(), "a restart helps")
		second := read(t, k.Volume.Path())
		assert.NotEqual(t, first, second)

		time.Sleep(2 * time.Hour)
		assert.Equal(t, second, read(t, k.Volume.Path()))
		k.Stall(false)
		time.Sleep(90 * time.Second)
		_, err = k.Issuer.Verify(read(t, k.Volume.Path()), tokenfiletest.DefaultIssuer)
		require.NoError(t, err)
		assert.Equal(t, 2, k.Rotations())
	})
}

func TestKubeletMendsTheVolumeWithTheSameToken(t *testing.T) {
	tests := []struct {
		name string
		harm func(*tokenfiletest.Volume) error
	}{
		{"removed", (*tokenfiletest.Volume).Remove},
		{"directory removed", (*tokenfiletest.Volume).RemoveAll},
		{"..data leads nowhere", (*tokenfiletest.Volume).Dangle},
		{"overwritten", func(v *tokenfiletest.Volume) error { return v.WriteInPlace([]byte("x")) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &tokenfiletest.Kubelet{Issuer: newIssuer(t), Volume: newVolume(t)}
				require.NoError(t, k.Rotate())
				first := read(t, k.Volume.Path())
				require.NoError(t, tt.harm(k.Volume))
				go k.Run(t.Context())
				time.Sleep(90 * time.Second)
				assert.Equal(t, first, read(t, k.Volume.Path()))
				assert.Zero(t, k.Rotations())
			})
		})
	}
}

func TestRunReturnsWhatKeepsThePodFromStarting(t *testing.T) {
	t.Run("no issuer", func(t *testing.T) {
		k := &tokenfiletest.Kubelet{Volume: newVolume(t)}
		assert.ErrorContains(t, k.Run(t.Context()), "needs an Issuer and a Volume")
		assert.ErrorContains(t, k.Rotate(), "needs an Issuer and a Volume")
	})
	t.Run("no volume", func(t *testing.T) {
		k := &tokenfiletest.Kubelet{Issuer: newIssuer(t)}
		assert.ErrorContains(t, k.Run(t.Context()), "needs an Issuer and a Volume")
	})
	t.Run("a lifetime that TokenRequest refuses", func(t *testing.T) {
		k := &tokenfiletest.Kubelet{
			Issuer:  newIssuer(t),
			Volume:  newVolume(t),
			Request: tokenfiletest.Request{Lifetime: time.Minute},
		}
		assert.ErrorContains(t, k.Run(t.Context()), "less than 10 minutes")
		assert.Empty(t, tree(t, k.Volume.Dir()))
	})
	t.Run("a volume that cannot be written", func(t *testing.T) {
		k := &tokenfiletest.Kubelet{Issuer: newIssuer(t), Volume: newVolume(t)}
		require.NoError(t, os.Mkdir(k.Volume.Dir()+"/..data", 0o755))
		assert.Error(t, k.Run(t.Context()))
		assert.Zero(t, k.Rotations())
	})
}

func TestKubeletTriesAgainWhatFailsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log text
		k := &tokenfiletest.Kubelet{
			Issuer: newIssuer(t),
			Volume: newVolume(t),
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}
		require.NoError(t, k.Rotate())
		first := read(t, k.Volume.Path())
		blockade := k.Volume.Dir() + "/..data_tmp"
		require.NoError(t, os.Mkdir(blockade, 0o755))
		go k.Run(t.Context())

		time.Sleep(55 * time.Minute)
		synctest.Wait()
		assert.Equal(t, first, read(t, k.Volume.Path()), "the old token stays")
		assert.Zero(t, k.Rotations())
		assert.Contains(t, log.String(), "token not refreshed, the old one stays")

		require.NoError(t, os.Remove(blockade))
		time.Sleep(90 * time.Second)
		synctest.Wait()
		second := read(t, k.Volume.Path())
		assert.NotEqual(t, first, second)
		assert.Equal(t, 1, k.Rotations())
		for _, token := range []string{first, second} {
			assert.NotContains(t, log.String(), token[len(token)-20:])
		}
	})
}

func TestKubeletInRealTime(t *testing.T) {
	iss := newIssuer(t)
	iss.AllowShort = true
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	k := &tokenfiletest.Kubelet{
		Issuer:  iss,
		Volume:  newVolume(t),
		Request: tokenfiletest.Request{Audiences: []string{"openbao"}, Lifetime: time.Second},
		OnRotate: func(r tokenfiletest.Rotation) {
			if r.Number == 2 {
				cancel()
			}
		},
	}
	require.NoError(t, k.Run(ctx))
	assert.Equal(t, 2, k.Rotations())
}

func TestKubeletIsSafeForConcurrentUse(t *testing.T) {
	var rotations record
	k := &tokenfiletest.Kubelet{
		Issuer:   newIssuer(t),
		Volume:   newVolume(t),
		Period:   time.Millisecond,
		OnRotate: rotations.add,
		Rand:     rand.New(rand.NewPCG(1, 2)),
	}
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, k.Rotate())
	var all sync.WaitGroup
	all.Go(func() { assert.NoError(t, k.Run(ctx)) })
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 25 {
				assert.NoError(t, k.Rotate())
				k.Stall(k.Rotations()%2 == 0)
				token, err := k.Issuer.Token(k.Request)
				assert.NoError(t, err)
				_, err = k.Issuer.Verify(token, tokenfiletest.DefaultIssuer)
				assert.NoError(t, err)
				assert.NoError(t, k.Issuer.RotateKey(tokenfiletest.ES256))
				assert.NotEmpty(t, fmt.Sprint(k.Issuer))
			}
		})
	}
	users.Wait()
	cancel()
	all.Wait()
	assert.Equal(t, 100, k.Rotations())
	assert.Len(t, rotations.seen, 101)
}
