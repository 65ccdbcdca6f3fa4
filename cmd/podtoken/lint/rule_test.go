package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// Each rule has a manifest that breaks it and no other, with the line of the
// finding on its first, and one that breaks none.
func TestEachRuleFindsItsBadExampleAndNotItsGoodOne(t *testing.T) {
	for _, rule := range lint.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			dir := filepath.Join("testdata", "rules", rule.ID)
			bad := readFile(t, filepath.Join(dir, "bad.yaml"))
			var line int
			_, err := fmt.Sscanf(bad, "# finding: line %d\n", &line)
			require.NoError(t, err)

			found := findings(t, &lint.Linter{}, bad)
			require.Len(t, found, 1)
			assert.Equal(t, rule.ID, found[0].Rule)
			assert.Equal(t, rule.Level, found[0].Level)
			assert.Equal(t, line, found[0].Line, found[0].Message)
			assert.NotEmpty(t, found[0].Object)
			assert.NotEmpty(t, found[0].Mend)

			assert.Empty(t, findings(t, &lint.Linter{}, readFile(t, filepath.Join(dir, "good.yaml"))))
		})
	}
}

// A folder that no rule reads would look like a test.
func TestEachExampleHasItsRule(t *testing.T) {
	dirs, err := os.ReadDir(filepath.Join("testdata", "rules"))
	require.NoError(t, err)
	var ids []string
	for _, rule := range lint.Rules() {
		ids = append(ids, rule.ID)
	}
	var folders []string
	for _, dir := range dirs {
		folders = append(folders, dir.Name())
	}
	assert.ElementsMatch(t, ids, folders)
}

func TestRulesSayWhyAndWhatToDo(t *testing.T) {
	seen := make(map[string]bool)
	for _, rule := range lint.Rules() {
		assert.Regexp(t, `^PT\d{3}$`, rule.ID)
		assert.False(t, seen[rule.ID], rule.ID)
		seen[rule.ID] = true
		assert.NotEmpty(t, rule.Title, rule.ID)
		assert.NotEmpty(t, rule.Reason, rule.ID)
		assert.NotEmpty(t, rule.Mend, rule.ID)
		assert.Contains(t, []lint.Level{lint.LevelError, lint.LevelWarning, lint.LevelNote}, rule.Level)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// findings lints text, in which nothing may be unreadable.
func findings(t *testing.T, linter *lint.Linter, text string) []lint.Finding {
	t.Helper()
	found, errs := lintAll(linter, text)
	require.Empty(t, errs)
	return found
}

func lintAll(linter *lint.Linter, text string) (found []lint.Finding, errs []error) {
	for finding, err := range linter.Lint("test.yaml", strings.NewReader(text)) {
		if err != nil {
			errs = append(errs, err)
		} else {
			found = append(found, finding)
		}
	}
	for finding := range linter.Finish() {
		found = append(found, finding)
	}
	return found, errs
}

// brief is "PT003:12 PT004:12" of findings.
func brief(found []lint.Finding) string {
	var list []string
	for _, f := range found {
		list = append(list, fmt.Sprintf("%s:%d", f.Rule, f.Line))
	}
	return strings.Join(list, " ")
}
