package lint_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// The parser ends lines where editors, git and code scanning do not.
func TestLinesAreThoseOfAnEditor(t *testing.T) {
	const text = "kind: Secret\nmetadata:\n  name: a\n  annotations: {note: \"NOTE\"}\ntype: kubernetes.io/service-account-token\nimmutable: true\n" +
		"# and\n# so\n# on, so that a wrong line is not past the end\n"
	for name, c := range map[string]struct{ text, want string }{
		"a NEL in a text":                      {strings.Replace(text, "NOTE", "a\u0085b", 1), "PT001:5"},
		"separators of Unicode, as from chats": {strings.Replace(text, "NOTE", "a\u2028b\u2029c", 1), "PT001:5"},
		"a lone carriage return":               {strings.Replace(text, "NOTE", "a\rb", 1), "PT001:5"},
		"line ends that were converted twice":  {strings.ReplaceAll(text, "\n", "\r\r\n"), "PT001:5"},
		"one in the document before":           {"a: \"\u2028\"\n---\n" + text, "PT001:7"},
		"an old Mac's":                         {strings.ReplaceAll(text, "\n", "\r"), "PT001:1"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, brief(findings(t, &lint.Linter{}, c.text))) })
	}
}

// The second of them would be lost.
func TestDocumentsThatOnlyTheParserTellsApartAreAnError(t *testing.T) {
	mac := strings.ReplaceAll(secretYAML+"---\n"+secretYAML, "\n", "\r")
	_, errs := lintAll(&lint.Linter{}, "a: 1\n---\n"+mac)
	require.Len(t, errs, 1)
	assert.EqualError(t, errs[0], `test.yaml:3: several documents whose lines do not end with "\n": convert the file's line ends`)

	_, errs = lintAll(&lint.Linter{}, "{a: 1}\n"+secretYAML)
	require.Len(t, errs, 1)
	assert.ErrorContains(t, errs[0], "test.yaml:2: not YAML: ")
}

func TestWhereACharacterIsThatYAMLDoesNotHave(t *testing.T) {
	for name, character := range map[string]string{"Latin-1": "\xe9", "a control character": "\x01", "half a character": "\xe2\x80"} {
		_, errs := lintAll(&lint.Linter{}, "---\na: 1\nb: caf"+character+"\nc: 1\n")
		require.Len(t, errs, 1, name)
		assert.ErrorContains(t, errs[0], "test.yaml:3: not YAML: ", name)
	}
}

// Windows PowerShell writes what helm template prints as UTF-16.
func TestUTF16(t *testing.T) {
	text := "\ufeff" + secretYAML + "---\n" + secretYAML
	for name, bytes := range map[string]func(uint16) []byte{
		"little-endian": func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} },
		"big-endian":    func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} },
	} {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(text)) {
			b.Write(bytes(u))
		}
		assert.Equal(t, "PT001:2 PT001:6", brief(findings(t, &lint.Linter{}, b.String())), name)
	}
}
