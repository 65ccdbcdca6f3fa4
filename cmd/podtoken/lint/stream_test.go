package lint_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

const (
	secretYAML = "kind: Secret\ntype: kubernetes.io/service-account-token\nmetadata: {name: NAME}\n"
	secretJSON = "{\n \"kind\": \"Secret\",\n \"type\": \"kubernetes.io/service-account-token\",\n \"metadata\": {\"name\": \"NAME\"}\n}\n"
)

func TestInputs(t *testing.T) {
	yaml := func(name string) string { return strings.Replace(secretYAML, "NAME", name, 1) }
	json := func(name string) string { return strings.Replace(secretJSON, "NAME", name, 1) }
	indent := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":           {"", ""},
		"white space":       {"\n \n", ""},
		"one document":      {yaml("a"), "a:2"},
		"Windows line ends": {strings.ReplaceAll(yaml("a")+"---\n"+yaml("b"), "\n", "\r\n"), "a:2 b:6"},
		"a byte order mark": {"\xef\xbb\xbf" + yaml("a"), "a:2"},
		"files with byte order marks, put together": {"\xef\xbb\xbf---\n" + yaml("a") + "\xef\xbb\xbf---\n" + yaml("b") + "---\n\xef\xbb\xbf" + yaml("c"), "a:3 b:7 c:11"},
		"a typed list, whose kind is behind":        {"{\"items\": [{\"type\": \"kubernetes.io/service-account-token\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"a\"}}], \"kind\": \"SecretList\"}", "a:1"},
		"no line end at the end":                    {strings.TrimSpace(yaml("a")), "a:2"},
		"what helm template prints":                 {"---\n# Source: chart/templates/secret.yaml\n" + yaml("a") + "---\n# Source: chart/templates/empty.yaml\n---\n# Source: x\n" + yaml("b"), "a:4 b:11"},
		"documents that end":                        {yaml("a") + "...\n# and so on\n---\n" + yaml("b"), "a:2 b:8"},
		"a YAML directive":                          {"%YAML 1.2\n---\n" + yaml("a"), "a:4"},
		"a List":                                    {"apiVersion: v1\nitems:\n" + strings.Replace(indent(yaml("a")), "  ", "- ", 1) + strings.Replace(indent(yaml("b")), "  ", "- ", 1) + "kind: List\n", "a:4 b:7"},
		"a YAML sequence":                           {strings.Replace(indent(yaml("a")), "  ", "- ", 1), "a:2"},
		"JSON":                                      {json("a"), "a:3"},
		"JSON of many lines and documents":          {json("a") + "\n" + json("b"), "a:3 b:9"},
		"JSON lines":                                {strings.ReplaceAll(json("a"), "\n", "") + "\n" + strings.ReplaceAll(json("b"), "\n", "") + "\n", "a:1 b:2"},
		"JSON between dashes":                       {json("a") + "---\n" + json("b"), "a:3 b:9"},
		"JSON after dashes":                         {"---\n" + json("a") + "---\n" + json("b"), "a:4 b:10"},
		"JSON, then YAML":                           {json("a") + "---\n" + yaml("b"), "a:3 b:8"},
		"what kubectl get -o json prints":           {"{\n\"apiVersion\": \"v1\",\n\"items\": [\n" + json("a") + ",\n" + json("b") + "],\n\"kind\": \"List\"}", "a:6 b:12"},
		"a typed list, whose items say not":         {"{\"kind\": \"SecretList\", \"items\": [\n" + strings.Replace(json("a"), "\"kind\": \"Secret\",", "", 1) + "]}", "a:4"},
		"a JSON array":                              {"[" + json("a") + "," + json("b") + "]", "a:3 b:8"},
		"a flow mapping":                            {"{kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: a}}", "a:1"},
		"a List in a List":                          {"kind: List\nitems: [{kind: List, items: [{kind: Secret, metadata: {name: a},\n  type: kubernetes.io/service-account-token}]}]\n", "a:3"},
		"aliases and merge keys":                    {"kind: List\nx: &x\n  type: kubernetes.io/service-account-token\nitems:\n- <<: *x\n  kind: Secret\n  metadata: &m {name: a}\n- {<<: [*x], kind: Secret, metadata: *m}\n", "a:3 a:3"},
		"a merge key that is overridden":            {"kind: List\nx: &x {type: kubernetes.io/service-account-token}\nitems:\n- {<<: *x, type: Opaque, kind: Secret}\n", ""},
		"an anchor that holds itself":               {"kind: List\nitems: &a [*a]\n", ""},
		"aliases that multiply":                     {"- &a [x]\n- &b [*a, *a, *a, *a]\n- &c [*b, *b, *b, *b]\n" + multiplied(40), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range findings(t, &lint.Linter{}, c.text) {
				require.Equal(t, "PT001", f.Rule)
				got = append(got, fmt.Sprintf("%s:%d", strings.TrimPrefix(f.Object, "Secret "), f.Line))
			}
			assert.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

// multiplied is a document that would have four to the power of n values.
func multiplied(n int) string {
	var b strings.Builder
	for i := range n {
		before := fmt.Sprint("*n", i-1)
		if i == 0 {
			before = "*c"
		}
		fmt.Fprintf(&b, "- &n%d [%s]\n", i, strings.Join([]string{before, before, before, before}, ", "))
	}
	return b.String()
}

// A pipe gives as little at a time as it likes.
func TestInputsByteByByte(t *testing.T) {
	text := "\xef\xbb\xbf{\"a\":\n1}\n---\n" + strings.Replace(secretYAML, "NAME", "a", 1)
	var linter lint.Linter
	var got []lint.Finding
	for f, err := range linter.Lint("-", iotest.OneByteReader(strings.NewReader(text))) {
		require.NoError(t, err)
		got = append(got, f)
	}
	assert.Equal(t, "PT001:5", brief(got))
}

func TestWhatCannotBeReadIsSaidAndTheRestIsRead(t *testing.T) {
	yaml := strings.Replace(secretYAML, "NAME", "b", 1)
	json := strings.Replace(secretJSON, "NAME", "b", 1)
	for name, c := range map[string]struct {
		text, message, want string
		line                int
	}{
		"a broken document before":     {"a: [\n---\n" + yaml, "not YAML", "PT001:4", 1},
		"a broken document behind":     {yaml + "---\na: b: c\n", "not YAML", "PT001:2", 5},
		"a tab":                        {"---\na:\n\tb: c\n---\n" + yaml, "not YAML", "PT001:6", 3},
		"a Helm template":              {"{{- if .Values.x }}\na: 1\n{{- end }}\n---\n" + yaml, "looks like a template", "PT001:6", 1},
		"broken JSON":                  {"{\"a\": 1,\n \"b\": }\n" + json, "not JSON", "PT001:5", 2},
		"broken JSON, then YAML":       {"{\"a\": 1,\n \"b\": ]\n}\n---\n" + yaml, "not JSON", "PT001:6", 2},
		"JSON that ends in the middle": {json + "{\"a\": [1, 2,\n", "ends in the middle", "PT001:3", 0},
		"an item that is too large":    {"{\"items\": [" + "{\"a\": \"" + strings.Repeat("x", 9<<20) + "\"}]}\n" + json, "more than 8 MiB", "PT001:4", 1},
		"a document that is too large": {"a: " + strings.Repeat("x", 9<<20) + "\n---\n" + yaml, "more than 8 MiB", "PT001:4", 1},
		"YAML that is nested too deep": {strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n---\n" + yaml, "nested too deep", "PT001:4", 1},
		"JSON that is nested too deep": {"{\"a\":\n" + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}\n" + json, "nested too deep", "PT001:5", 2},
	} {
		t.Run(name, func(t *testing.T) {
			found, errs := lintAll(&lint.Linter{}, c.text)
			require.Len(t, errs, 1)
			var document *lint.DocumentError
			require.ErrorAs(t, errs[0], &document)
			assert.Equal(t, "test.yaml", document.File)
			assert.Contains(t, document.Error(), c.message)
			if c.line > 0 {
				assert.Equal(t, c.line, document.Line)
			}
			assert.Equal(t, c.want, brief(found))
		})
	}
}

// Not a document's fault, and not a good end either.
func TestAFileThatFailsIsAnErrorOfItsOwn(t *testing.T) {
	broken := errors.New("the disk is on fire")
	for _, text := range []string{"", "kind: Secret\n", "{\"kind\": \"Secret\",\n"} {
		var last error
		for _, err := range new(lint.Linter).Lint("a.yaml", io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))) {
			last = err
		}
		require.ErrorIs(t, last, broken)
		assert.ErrorContains(t, last, "a.yaml: ")
		assert.False(t, errors.As(last, new(*lint.DocumentError)))
	}
}

func TestZeroDocumentErrorPrints(t *testing.T) {
	assert.NotPanics(t, func() { _ = new(lint.DocumentError).Error() })
}

// A caller that has seen enough breaks the loop.
func TestTheLoopCanBeLeft(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("---\n"+secretYAML, 3), strings.Repeat(secretJSON, 3), "[" + secretJSON + "," + secretJSON + "]",
		"a: [\n---\n" + secretYAML, "{,}\n" + secretJSON,
	} {
		n := 0
		for range new(lint.Linter).Lint("a.yaml", strings.NewReader(text)) {
			n++
			break
		}
		assert.Equal(t, 1, n)
	}
}

// A list is cut into items once it is large. Neither the size of one item nor
// what is around it changes what is found.
func TestLargeLists(t *testing.T) {
	item := "- " + strings.ReplaceAll(strings.TrimSpace(secretYAML), "\n", "\n  ") + "\n"
	text := func(size int) string { // about as many bytes, in a block scalar
		return "- kind: ConfigMap\n  data:\n    text: |\n" + strings.Repeat("      - kind: Secret\n", size/20)
	}
	huge := 7 << 20
	if raceEnabled {
		t.Log("!!! items of two megabytes in place of seven, because of -race")
		huge = 2 << 20
	}
	large := strings.Repeat(item, 100) + text(5<<18) + strings.Repeat(item, 100)
	indented := func(text string) string {
		return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	for name, c := range map[string]struct {
		text        string
		found, errs int
	}{
		"what kubectl get -o yaml prints": {"apiVersion: v1\nitems:\n" + large + "kind: List\n", 200, 0},
		"dashes that are further in":      {"kind: List\nitems: # all\n" + indented(large), 200, 0},
		"what yq .items prints":           {"# pods\n" + large, 200, 0},
		"a sequence after dashes":         {"---\n" + large + "---\n" + secretYAML, 201, 0},
		"an item of megabytes":            {"items:\n" + item + text(huge) + item + "kind: List\n", 2, 0},
		"an item that is too large":       {"items:\n" + item + text(9<<20) + item + item + "kind: List\n---\n" + secretYAML, 4, 1},
		"a broken item":                   {"items:\n" + item + text(5<<18) + "- a: b: c\n" + item + "kind: List\n", 2, 1},
		"another list after the items":    {"items:\n" + large + "kind: List\nothers:\n" + item + "---\n" + secretYAML, 201, 0},
		"items that are no list":          {"items:\n  " + strings.ReplaceAll(text(9<<20), "- ", "  ") + "---\n" + secretYAML, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			found, errs := lintAll(&lint.Linter{}, c.text)
			assert.Equal(t, c.found, len(found))
			assert.Len(t, errs, c.errs)
			lines := strings.Split(c.text, "\n")
			for _, f := range found {
				require.Contains(t, lines[f.Line-1], "type: kubernetes.io/service-account-token")
			}
		})
	}
}

// Each of these took minutes or did not end: their parts were compared with one
// another, each with each.
func TestWhatIsHugeEnds(t *testing.T) {
	const n = 6_000
	pod := "kind: Pod\nmetadata: {name: x}\nspec:\n  serviceAccountName: x\n  automountServiceAccountToken: false\n"
	for name, c := range map[string]struct{ text, want string }{
		"a pod of too many containers": {pod + "  volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: a}}]}}]\n  containers:\n" +
			strings.Repeat("  - {name: a, image: x, env: [{name: A, value: /v/a}], volumeMounts: [{name: v, mountPath: /v}]}\n", n), "a pod of more than 10000 "},
		"a pod of too many volumes": {pod + "  containers: [{name: a, image: x}]\n  volumes:\n" +
			strings.Repeat("  - {name: v, projected: {sources: [{serviceAccountToken: {path: a}}]}}\n", n), "a pod of more than 10000 "},
		"volumes of no pod":          {"kind: Task\nspec:\n" + strings.Repeat("- {volumes: [{}], volumeMounts: [{}]}\n", n), "a pod of more than 10000 "},
		"silences above one another": {"kind: A\n" + strings.Repeat("# podtoken:ignore PT003 x\n", 3*n), ""},
		"a silence that is repeated": {"kind: A\nmetadata: {annotations: {podtoken.dev/ignore: '" + strings.Repeat("PT003: x; ", 3*n) + "'}}\n", ""},
		"a large mapping, merged":    {"a: &a\n" + numbered("  k%d: 1\n", 3*n) + "b: {<<: *a, k1: 2}\n", ""},
		"a mapping, merged often":    {"a: &a {" + numbered("k%d: 1, ", 1000) + "}\n" + strings.Repeat("b: {<<: *a}\n", 2100), "expands to too many values"},
	} {
		t.Run(name, func(t *testing.T) {
			if raceEnabled && name == "a mapping, merged often" {
				t.Skip("!!! left out under -race: two million values take ten seconds")
			}
			_, errs := lintAll(&lint.Linter{}, c.text)
			if c.want == "" {
				assert.Empty(t, errs)
				return
			}
			require.Len(t, errs, 1)
			assert.ErrorContains(t, errs[0], c.want)
		})
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
