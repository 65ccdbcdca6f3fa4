//go:build linux

package kubernetes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/kubelet/token"
	"k8s.io/utils/ptr"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// The kubelet's own token manager keeps a pod's token until it is told to
// forget it, which is what a restart of the kubelet amounts to. A program that
// reads through tokenfile is at the new token as soon as it is written.
func TestTheKubeletsTokenManagerForcesARotation(t *testing.T) {
	app := newAccount(t)
	pod := app.pod(t)
	manager := token.NewManager(app.server.admin)
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	source := &tokenfile.Source{Path: volume.Path(), Audience: openbao}

	project := func() *tokenfile.Token {
		answer, err := manager.GetServiceAccountToken(app.namespace, app.name,
			&authv1.TokenRequest{Spec: boundTo(pod, projected())})
		require.NoError(t, err)
		require.NoError(t, volume.Write(answer.Status.Token))
		got, err := source.Token(t.Context())
		require.NoError(t, err)
		return got
	}
	first := project()
	assert.True(t, first.Raw() == project().Raw(), "the same token while it is fresh")
	manager.DeleteServiceAccountToken(pod.UID)
	second := project()
	assert.False(t, first.Raw() == second.Raw(), "another one once it is forgotten")
	assert.Equal(t, uint64(1), source.Stats().Rotations)
	assert.True(t, app.server.requireReview(t, second.Raw(), openbao).Authenticated)
}

// The fake kubelet must not replace tokens sooner or later than the real one
// would. Both are looked at from days of a bubble's time.
func TestTheFakeKubeletReplacesTokensAtTheRealAge(t *testing.T) {
	const jitter = 10 * time.Second
	for name, c := range map[string]struct {
		lifetime time.Duration
		due      time.Duration // 80 % of the lifetime, at most a day
	}{
		"ten minutes": {10 * time.Minute, 8 * time.Minute},
		"an hour":     {time.Hour, 48 * time.Minute},
		"two days":    {48 * time.Hour, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			period := c.lifetime / 100
			real, fake := realAges(t, c.lifetime, period), fakeAges(t, c.lifetime, period)
			for who, ages := range map[string][]time.Duration{"real": real, "fake": fake} {
				assert.GreaterOrEqual(t, slices.Min(ages), c.due-jitter, who)
				assert.LessOrEqual(t, slices.Max(ages), c.due+period*6/5+time.Second, who)
			}
			assert.InDelta(t, mean(real).Seconds(), mean(fake).Seconds(), (period / 3).Seconds())
			t.Logf("mean age: real %v, fake %v", mean(real), mean(fake))
		})
	}
}

// rotations is how many ages are compared.
const rotations = 200

// realAges are the ages at which the real manager replaced a token, when it is
// asked once in about a period.
func realAges(t *testing.T, lifetime, period time.Duration) (ages []time.Duration) {
	// Made outside of the bubble, for it starts a goroutine that never ends.
	// What is called inside reads the bubble's clock all the same. That one
	// drops expired tokens by the clock outside, so the bubble is taken to a
	// time at which none is.
	const century = 100 * 365 * 24 * time.Hour
	manager := token.NewManager(issuing())
	spec := authv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(lifetime / time.Second))}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(century)
		var current string
		var since time.Time
		for len(ages) < rotations {
			answer, err := manager.GetServiceAccountToken("default", "app", &authv1.TokenRequest{Spec: spec})
			require.NoError(t, err)
			if answer.Status.Token != current {
				if current != "" {
					ages = append(ages, time.Since(since))
				}
				current, since = answer.Status.Token, time.Now()
			}
			time.Sleep(time.Duration((0.8 + 0.4*rand.Float64()) * float64(period)))
		}
	})
	return ages
}

// issuing is an API server that issues numbers for tokens.
func issuing() *fake.Clientset {
	client := fake.NewClientset()
	issued := 0
	client.PrependReactor("create", "serviceaccounts", func(action clienttesting.Action) (bool, runtime.Object, error) {
		answer := action.(clienttesting.CreateAction).GetObject().(*authv1.TokenRequest).DeepCopy()
		issued++
		lifetime := time.Duration(*answer.Spec.ExpirationSeconds) * time.Second
		answer.Status = authv1.TokenRequestStatus{
			Token:               fmt.Sprint(issued),
			ExpirationTimestamp: metav1.NewTime(time.Now().Add(lifetime)),
		}
		return true, answer, nil
	})
	return client
}

// fakeAges are those at which the fake kubelet replaced a token.
func fakeAges(t *testing.T, lifetime, period time.Duration) (ages []time.Duration) {
	volume, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	issuer := &tokenfiletest.Issuer{}
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var since time.Time
		kubelet := &tokenfiletest.Kubelet{
			Issuer: issuer, Volume: volume, Period: period,
			Request: tokenfiletest.Request{Lifetime: lifetime},
			OnRotate: func(r tokenfiletest.Rotation) {
				if r.Number > 0 {
					ages = append(ages, r.At.Sub(since))
				}
				if since = r.At; r.Number == rotations {
					cancel()
				}
			},
		}
		require.NoError(t, kubelet.Run(ctx))
	})
	return ages
}

func mean(ages []time.Duration) time.Duration {
	var sum time.Duration
	for _, age := range ages {
		sum += age
	}
	return sum / time.Duration(len(ages))
}
