package fleet

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// marks are what stands around a table of docs/fleet.md.
func marks(name string) (before, after string) {
	return "<!-- " + name + ": written by TestFigures -->\n", "<!-- end of " + name + " -->"
}

// withTables is the page with other tables between their marks.
func withTables(t *testing.T, page string, tables map[string]string) string {
	for name, text := range tables {
		before, after := marks(name)
		head, rest, began := strings.Cut(page, before)
		_, tail, ended := strings.Cut(rest, after)
		require.True(t, began && ended, "the page has a place for the table of %s", name)
		page = head + before + text + after + tail
	}
	return page
}

// The page has what the code does now. The stories are played anew where they
// are short; whoever changes a schedule has all of them to write.
func TestPageHasTheFiguresOfThisCode(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("!!! other processors fuse a product and a sum, and so draw other numbers now and then than those of the page")
	}
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		require.NoError(t, err)
		return content
	}
	var results []Result
	require.NoError(t, json.Unmarshal(read("fleet.json"), &results))
	page := string(read("fleet.md"))
	assert.Equal(t, page, withTables(t, page, map[string]string{"stories": table(results)}), "fleet.md and fleet.json")
	for name, c := range map[string]client{"podtoken": clients[0], "LifetimeWatcher": clients[1], "a timer of 45 minutes": clients[2]} {
		now := deepOutage.result("outage, deep queue", name, few, false, deepOutage.play(few, c, 1))
		assert.True(t, slices.Contains(results, now), "fleet.json has other figures of %s: %+v", name, now)
	}
	if underRace {
		t.Log("SKIPPED under the race detector: the tables of limits take minutes there")
		return
	}
	assert.Equal(t, page, withTables(t, page, limits()), "limits")
}
