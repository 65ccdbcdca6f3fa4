package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README shows the first lines of run, as they are.
func TestReadmeShowsThisProgram(t *testing.T) {
	lines := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		from := strings.Index(string(text), "method := &")
		require.Positive(t, from, path)
		text = text[from:]
		end := strings.Index(string(text), `Get(ctx, "web")`)
		require.Positive(t, end, path)
		var b strings.Builder
		for line := range strings.Lines(string(text[:end])) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
		return b.String()
	}
	program := strings.ReplaceAll(lines("main.go"), "vaultauth.", "auth.")
	assert.Equal(t, program, lines("../../README.md"))
}
