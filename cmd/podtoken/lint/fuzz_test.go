package lint_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// FuzzLint looks for text that panics, that never ends, or that is found at a
// line which is not there.
func FuzzLint(f *testing.F) {
	err := filepath.WalkDir(filepath.Join("testdata", "rules"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		f.Add(string(text))
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{
		"", "---", "...", "%", "- &a [*a]", "&a {<<: *a}", "{\"items\": [", "[[", "{\"a\"}\n---\nb", "items:\n- a\n", "\xef\xbb\xbf{", "a: |\n # b",
		"a: \r\u2028b: 'x\u0085\r\r\n'\n", "\xff\xfea\x00:\x00", "- a\n---\n- b: c: d\n", "\xef\xbb\xbf---\n\xef\xbb\xbfa: 1\n{b}",
		"kind: Task\nspec: {volumes: [{projected: {sources: [{serviceAccountToken: {}}]}}], steps: [{volumeMounts: [{}]}]}\n",
		strings.ReplaceAll(secretJSON, "\n", "\r\n"), multiplied(8), silenced, runningPod,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		found, errs := lintAll(&lint.Linter{}, text)
		for _, finding := range found {
			if finding.Line < 1 || finding.Line > lines {
				t.Errorf("a finding at line %d of %d", finding.Line, lines)
			}
			if strings.Contains(finding.String(), "\n") {
				t.Errorf("a finding of several lines: %q", finding)
			}
		}
		for _, err := range errs {
			var document *lint.DocumentError
			if !errors.As(err, &document) {
				t.Errorf("an error without a line: %v", err)
			} else if document.Line < 1 || document.Line > lines+1 {
				t.Errorf("an error at line %d of %d: %v", document.Line, lines, err)
			}
		}
		_, _ = lint.ReadAssociations("list", strings.NewReader(text))
	})
}
