package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMessageFitsWhatKubernetesKeeps(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":               {"", ""},
		"at the limit":          {strings.Repeat("x", 4096), strings.Repeat("x", 4096)},
		"one over":              {strings.Repeat("x", 4097), strings.Repeat("x", 4093) + "..."},
		"far over":              {"reason" + strings.Repeat("x", 1<<20), "reason" + strings.Repeat("x", 4087) + "..."},
		"letters at the limit":  {strings.Repeat("x", 4092) + "éé", strings.Repeat("x", 4092) + "éé"},
		"a letter would be cut": {strings.Repeat("x", 4092) + "ééé", strings.Repeat("x", 4092) + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "termination-log")
			require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("old", 5000)), 0o600))
			require.NoError(t, writeMessage(path, test.text))
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, test.want, string(got))
			assert.True(t, utf8.Valid(got))
		})
	}
}
