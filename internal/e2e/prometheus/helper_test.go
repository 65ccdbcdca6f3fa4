package prometheus

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

var repeated = regexp.MustCompile(`x(\d+)$`)

// lengthOf is how many minutes the longest of the series has values for.
func lengthOf(series []string) int {
	longest := 0
	for _, s := range series {
		_, values, _ := strings.Cut(s, "} ")
		n := 0
		for _, value := range strings.Fields(values) {
			n++
			if times := repeated.FindStringSubmatch(value); times != nil {
				more, _ := strconv.Atoi(times[1])
				n += more
				if strings.HasPrefix(value, "_") {
					n-- // a gap of so many, where a value is itself and so many more
				}
			}
		}
		longest = max(longest, n)
	}
	return longest
}

// shell runs commands as a user does, in the root of the repository.
func shell(t *testing.T, script string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
	command.Dir = filepath.Join("..", "..", "..")
	printed, err := command.CombinedOutput()
	require.NoError(t, err, "%s", printed)
	return printed
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	require.NoError(t, yaml.Unmarshal(text, into), "%s", text)
}
