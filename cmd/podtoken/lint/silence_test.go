package lint_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

const silenced = `kind: Deployment
metadata:
  name: web OBJECT
spec:
  template:
    metadata:
      labels: {app: web} TEMPLATE
    spec:
      automountServiceAccountToken: false
      containers: [{name: app, volumeMounts: [{name: token, mountPath: /tokens}]}]
      volumes:
      - name: token
        projected:
          sources:
          ABOVE
          - serviceAccountToken: {path: token} LINE
`

func TestSilences(t *testing.T) {
	for name, c := range map[string]struct{ at, text, want string }{
		"none":               {"", "", "PT003:16 PT004:16"},
		"on the line":        {"LINE", "# podtoken:ignore PT003 the API server is the relying party", "PT004:16"},
		"both on the line":   {"LINE", "# podtoken:ignore PT003, PT004 a test", ""},
		"above the line":     {"ABOVE", "# podtoken:ignore PT003 a test", "PT004:16"},
		"two above the line": {"ABOVE", "# podtoken:ignore PT003 a test\n          # podtoken:ignore PT004 a test", ""},
		"above the line, with a reason of two lines":   {"ABOVE", "# podtoken:ignore PT003 a test\n          # that goes on", "PT004:17"},
		"above a comment that is about something else": {"ABOVE", "# podtoken:ignore PT003 a test\n\n          # another", "PT003:18 PT004:18 PT902:15"},
		"on another line":                     {"TEMPLATE", "# podtoken:ignore PT003 a test", "PT003:16 PT004:16 PT902:7"},
		"by the object":                       {"OBJECT", "\n  annotations: {podtoken.dev/ignore: 'PT003: a test'}", "PT004:17"},
		"by the object, two":                  {"OBJECT", "\n  annotations: {podtoken.dev/ignore: 'PT003: a test; and more; PT004: a test'}", ""},
		"by the object, two at once":          {"OBJECT", "\n  annotations: {podtoken.dev/ignore: 'PT003, PT004: a test'}", ""},
		"by the object, on lines":             {"OBJECT", "\n  annotations:\n    podtoken.dev/ignore: |\n      PT003: a test\n      PT004: a test", ""},
		"by the template":                     {"TEMPLATE", "\n      annotations: {podtoken.dev/ignore: 'PT003: a test'}", "PT004:17"},
		"without a reason":                    {"LINE", "# podtoken:ignore PT003", "PT004:16 PT901:16"},
		"by the object, without a reason":     {"OBJECT", "\n  annotations: {podtoken.dev/ignore: 'PT003:'}", "PT901:4 PT004:17"},
		"of nothing":                          {"LINE", "# podtoken:ignore", "PT003:16 PT004:16 PT902:16"},
		"of a rule that is not there":         {"LINE", "# podtoken:ignore PT777 a test", "PT003:16 PT004:16 PT902:16"},
		"of a rule that finds nothing":        {"LINE", "# podtoken:ignore PT010 a test", "PT003:16 PT004:16 PT902:16"},
		"by the template, for its pods":       {"TEMPLATE", "\n      annotations: {podtoken.dev/ignore: 'PT016: falls back to the node on purpose'}", "PT003:17 PT004:17"},
		"within a text":                       {"OBJECT", "\n  annotations:\n    note: |\n      # podtoken:ignore PT003 a test", "PT003:19 PT004:19"},
		"a comment that is about the silence": {"LINE", "# see podtoken.dev/ignore", "PT003:16 PT004:16"},
	} {
		t.Run(name, func(t *testing.T) {
			text := silenced
			for _, at := range []string{"OBJECT", "TEMPLATE", "ABOVE", "LINE"} {
				with := "# nothing"
				if at == c.at {
					with = c.text
				}
				text = strings.Replace(text, at, with, 1)
			}
			assert.Equal(t, c.want, brief(findings(t, &lint.Linter{}, text)))
		})
	}
}

// Every rule has a line to be silenced on, or above.
func TestEachRuleIsSilencedAtItsLine(t *testing.T) {
	for _, rule := range lint.Rules() {
		if rule.ID == "PT901" || rule.ID == "PT902" {
			continue // about silences
		}
		t.Run(rule.ID, func(t *testing.T) {
			bad := readFile(t, filepath.Join("testdata", "rules", rule.ID, "bad.yaml"))
			lines := strings.Split(bad, "\n")
			at := findings(t, &lint.Linter{}, bad)[0].Line - 1
			above := slices.Insert(slices.Clone(lines), at, "# podtoken:ignore "+rule.ID+" a test")
			assert.Empty(t, findings(t, &lint.Linter{}, strings.Join(above, "\n")), "above")
			if !strings.HasPrefix(strings.TrimSpace(lines[at]), "#") {
				lines[at] += " # podtoken:ignore " + rule.ID + " a test"
				assert.Empty(t, findings(t, &lint.Linter{}, strings.Join(lines, "\n")), "on it")
			}
		})
	}
}

func TestEachBlockOfCommentsIsFoundOnce(t *testing.T) {
	const block = "# - secret:\n#     secretName: web-token-x7k2p\n# - secret:\n#     secretName: api-token-x7k2p\n"
	assert.Equal(t, "PT015:2 PT015:7", brief(findings(t, &lint.Linter{}, block+"kind: Deployment\n"+block)))
}

// A block of comments is silenced above it, wherever in it the token is.
func TestASilenceAboveABlockOfComments(t *testing.T) {
	bad := readFile(t, "testdata/rules/PT015/bad.yaml")
	const first = "      # until 2024:\n"
	assert.Contains(t, bad, first)
	silence := "      # podtoken:ignore PT015 the audit wants it\n"
	assert.Empty(t, findings(t, &lint.Linter{}, strings.Replace(bad, first, silence+first, 1)))
	apart := strings.Replace(bad, first, silence+"      terminationGracePeriodSeconds: 1\n"+first, 1)
	assert.Equal(t, "PT015:33 PT902:28", brief(findings(t, &lint.Linter{}, apart)))
}

// What was found before the rest of the input decided on it is silenced too.
func TestSilencesOfWhatIsDecidedAtTheEnd(t *testing.T) {
	text := readFile(t, "testdata/rules/PT016/bad.yaml")
	text = strings.Replace(text, "  uid:", "  annotations: {podtoken.dev/ignore: 'PT016: a canary'}\n  uid:", 1)
	assert.Empty(t, findings(t, &lint.Linter{}, text))

	without, _, _ := strings.Cut(text, "---\napiVersion: eks")
	assert.Empty(t, findings(t, &lint.Linter{}, without), "without associations nobody can tell that the silence is pointless")
}

// Pods do not inherit what is on the Deployment itself.
func TestASilenceOfRunningPodsOnTheirDeploymentIsPointless(t *testing.T) {
	text := "kind: Deployment\nmetadata:\n  name: web\n  annotations: {podtoken.dev/ignore: 'PT016: a canary'}\nspec: {template: {spec: {serviceAccountName: web, containers: [{name: app}]}}}\n"
	linter := &lint.Linter{Associations: []lint.Association{{Namespace: "shop", ServiceAccount: "web"}}}
	assert.Equal(t, "PT902:4", brief(findings(t, linter, text)))
}

// Charts of others have no place for an annotation.
func TestARuleIsSilencedEverywhere(t *testing.T) {
	plain := strings.NewReplacer("OBJECT", "", "TEMPLATE", "", "ABOVE", "# nothing", "LINE", "").Replace(silenced)
	linter := &lint.Linter{}
	require.NoError(t, linter.Ignore("PT003, PT016: charts of others"))
	assert.Equal(t, "PT004:16", brief(findings(t, linter, plain)))

	linter = &lint.Linter{}
	require.NoError(t, linter.Ignore("PT003: charts of others"))
	commented := strings.Replace(plain, "{path: token}", "{path: token} # podtoken:ignore PT003 a test", 1)
	assert.Equal(t, "PT004:16", brief(findings(t, linter, commented)), "the comment is not pointless")

	linter = &lint.Linter{}
	require.NoError(t, linter.Ignore("PT013: what the end decides on"))
	assert.Empty(t, findings(t, linter, strings.Replace(template, "SPEC", "{containers: [{name: app, image: x}]}", 1)))

	for text, want := range map[string]string{
		"":                   `"": write the rule's number and why`,
		"PT003":              `"PT003": write the rule's number and why`,
		"PT003:":             `"PT003:": write the rule's number and why`,
		"tokens of others":   "write the rule's number",
		"PT003, PT777: mine": `there is no rule "PT777"`,
	} {
		assert.ErrorContains(t, linter.Ignore(text), want)
	}
}
