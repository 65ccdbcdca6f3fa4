package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README shows the first lines of run, as they are but for what the stage
// puts in place of a pod.
func TestReadmeShowsThisProgram(t *testing.T) {
	lines := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		_, rest, found := strings.Cut(string(text), "provider, err := awspodid.New(")
		require.True(t, found, path)
		part, _, found := strings.Cut(rest, "client := s3.NewFromConfig(cfg")
		require.True(t, found, path)
		var b strings.Builder
		for line := range strings.Lines(part) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
		return strings.TrimSpace(b.String())
	}
	program := strings.Replace(lines("main.go"), "at.pod...)", ")", 1)
	assert.Equal(t, program, lines("../../README.md"))
}
