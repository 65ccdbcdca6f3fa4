package tokenfiletest

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An Issuer without keys plays an API server that is down.
func TestKubeletKeepsTheOldTokenWhileTheAPIServerIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iss := &Issuer{}
		require.NoError(t, iss.RotateKey(ES256))
		vol, err := NewVolume(t.TempDir())
		require.NoError(t, err)
		k := &Kubelet{Issuer: iss, Volume: vol}
		content := func() string {
			data, err := os.ReadFile(vol.Path())
			require.NoError(t, err)
			return string(data)
		}
		require.NoError(t, k.Rotate())
		first := content()
		go k.Run(t.Context())

		time.Sleep(40 * time.Minute)
		iss.mu.Lock()
		iss.keys = nil
		iss.mu.Unlock()
		time.Sleep(2 * time.Hour)
		assert.Equal(t, first, content())
		assert.ErrorContains(t, k.Rotate(), "no key", "a restart does not help either")
		assert.Equal(t, first, content())
		assert.Zero(t, k.Rotations())

		require.NoError(t, iss.RotateKey(ES256))
		time.Sleep(90 * time.Second)
		synctest.Wait()
		_, err = iss.Verify(content(), DefaultIssuer)
		assert.NoError(t, err)
		assert.Equal(t, 1, k.Rotations())
	})
}
