package tokenfiletest_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// newIssuer makes a DefaultIssuer with a key that costs no time.
func newIssuer(t *testing.T) *tokenfiletest.Issuer {
	t.Helper()
	iss := &tokenfiletest.Issuer{}
	require.NoError(t, iss.RotateKey(tokenfiletest.ES256))
	return iss
}

func newVolume(t *testing.T) *tokenfiletest.Volume {
	t.Helper()
	vol, err := tokenfiletest.NewVolume(t.TempDir() + "/tokens")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, vol.Close()) })
	return vol
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// decode reads header and claims without a look at the signature.
func decode(t *testing.T, token string) (header, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	require.Len(t, parts, 3)
	for i, into := range []*map[string]any{&header, &claims} {
		data, err := base64.RawURLEncoding.DecodeString(parts[i])
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, into))
	}
	return header, claims
}
