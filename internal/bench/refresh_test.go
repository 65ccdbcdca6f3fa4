package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
)

func TestWhoWaitsWhileARefreshHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for some seconds until credentials are due")
	}
	p := plan{Callers: 8, Hang: time.Second / 2}
	for _, r := range refreshes {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got, err := p.late(t.Context(), r, newTestPlace(t))
			require.NoError(t, err)
			assert.True(t, got.Valid)
			assert.Equal(t, r.name, got.Work)
			assert.Equal(t, p.Callers, got.Callers)
			if r.name != awsPeerLate {
				assert.Zero(t, got.Waited)
				return
			}
			assert.Equal(t, p.Callers, got.Waited)
			assert.GreaterOrEqual(t, got.Median, float64(p.Hang/2))
			assert.GreaterOrEqual(t, got.Longest, got.P99)
		})
	}
}

// What is called hot must not be due for a refresh during a run.
func TestHotCredentialsAreNotDueForHours(t *testing.T) {
	place := newTestPlace(t)
	v, err := place.volume()
	require.NoError(t, err)
	for name, use := range map[string]awsUse{"SDK": awsCache, "awspodid": awsProvider, "awspodid in the SDK": awsProviderInCache} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(6 * time.Hour)
			provider, err := use(a, v.path())
			require.NoError(t, err)
			creds, err := provider.Retrieve(t.Context())
			require.NoError(t, err)
			assert.True(t, creds.HasKeys())
			if p, ok := provider.(*awspodid.Provider); ok {
				assert.Greater(t, time.Until(p.Stats().Refresh), 4*time.Hour)
			}
			if name == "SDK" {
				assert.WithinRange(t, creds.Expires, time.Now().Add(4*time.Hour), time.Now().Add(6*time.Hour))
			}
			sameToken(t, v.token(), a.token(), "another token than the file's was sent")
		})
	}
}
