package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

const (
	badFile  = "lint/testdata/rules/PT005/bad.yaml"
	goodFile = "lint/testdata/rules/PT005/good.yaml"
)

type result struct {
	status         int
	stdout, stderr string
}

func podtoken(stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	status := run(args, system{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr})
	return result{status, stdout.String(), stderr.String()}
}

func TestExitStatus(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	require.NoError(t, os.WriteFile(broken, []byte("a: [\n"), 0o600))
	for name, c := range map[string]struct {
		args           []string
		status         int
		stdout, stderr string // beginnings of what must be there
	}{
		"no findings":                   {[]string{"lint", goodFile}, 0, "", ""},
		"findings":                      {[]string{"lint", goodFile, badFile}, 1, badFile + ":26: PT005 Deployment shop/web: ", ""},
		"notes alone":                   {[]string{"lint", "lint/testdata/rules/PT004/bad.yaml"}, 0, "lint/testdata/rules/PT004/bad.yaml:", ""},
		"notes, which are to fail":      {[]string{"lint", "--fail-on", "note", "lint/testdata/rules/PT004/bad.yaml"}, 1, "lint/testdata/rules/PT004/bad.yaml:", ""},
		"errors are to fail, a warning": {[]string{"lint", "--fail-on", "error", "lint/testdata/rules/PT006/bad.yaml"}, 0, "lint/testdata/rules/PT006/bad.yaml:", ""},
		"a file that is not there":      {[]string{"lint", "no.yaml"}, 2, "", "open no.yaml: "},
		"a folder":                      {[]string{"lint", "lint"}, 2, "", "read lint: is a directory"},
		"a broken file, and findings":   {[]string{"lint", broken, badFile}, 2, badFile + ":26: PT005", broken + ":"},
		"no file":                       {[]string{"lint"}, 2, "", "podtoken lint: name files"},
		"no command":                    {nil, 2, "", "podtoken: error: "},
		"an unknown flag":               {[]string{"lint", "--no", goodFile}, 2, "", "podtoken: error: unknown flag --no"},
		"an unknown output":             {[]string{"lint", "-o", "xml", goodFile}, 2, "", "podtoken: error: --output"},
		"an unknown command":            {[]string{"heal"}, 2, "", "podtoken: error: "},
		"associations not there":        {[]string{"lint", "--associations", "no.json", goodFile}, 2, "", "podtoken lint: open no.json: "},
		"associations of another kind":  {[]string{"lint", "--associations", goodFile, goodFile}, 2, "", "podtoken lint: " + goodFile + ": no Pod Identity associations"},
		"standard input twice":          {[]string{"lint", "-", "-"}, 2, "", "podtoken lint: standard input can be read once"},
		"standard input twice, in all":  {[]string{"lint", "--associations", "-", "-"}, 2, "", "podtoken lint: standard input can be read once"},
		"a rule that is silenced":       {[]string{"lint", "--ignore", "PT005: a test, and more", badFile}, 0, "", ""},
		"a silence without a reason":    {[]string{"lint", "--ignore", "PT005", badFile}, 2, "", "podtoken lint: --ignore: "},
		"help":                          {[]string{"--help"}, 0, "Usage: podtoken", ""},
		"help on lint":                  {[]string{"lint", "--help"}, 0, "Usage: podtoken lint", ""},
		"version":                       {[]string{"version"}, 0, "podtoken ", ""},
		"rules":                         {[]string{"lint", "--rules"}, 0, "PT001 Secret of the service-account-token type (error)\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := podtoken("", c.args...)
			assert.Equal(t, c.status, got.status)
			for _, pair := range [][2]string{{c.stdout, got.stdout}, {c.stderr, got.stderr}} {
				if pair[0] == "" {
					assert.Empty(t, pair[1])
				} else {
					assert.True(t, strings.HasPrefix(pair[1], pair[0]), pair[1])
				}
			}
		})
	}
}

func TestStandardInput(t *testing.T) {
	text, err := os.ReadFile(badFile)
	require.NoError(t, err)
	got := podtoken(string(text), "lint", "-")
	assert.Equal(t, exitFindings, got.status)
	assert.Contains(t, got.stdout, "stdin:26: PT005 ")
	assert.Contains(t, got.stdout, "\n1 finding\n")
	assert.NotContains(t, got.stdout, "\x1b")
}

// A file's name can hold what a terminal or a log of CI obeys.
func TestNamesOfFilesAreOneLine(t *testing.T) {
	bad, err := os.ReadFile(badFile)
	require.NoError(t, err)
	strange := filepath.Join(t.TempDir(), "a\n\x1b[31m::set-output.yaml")
	require.NoError(t, os.WriteFile(strange, append(bad, "---\na: [\n"...), 0o600))
	got := podtoken("", "lint", strange, strange+".no", badFile)
	assert.Equal(t, exitUnreadable, got.status)
	assert.Equal(t, 5, strings.Count(got.stdout, "\n"), got.stdout)
	assert.Equal(t, 2, strings.Count(got.stderr, "\n"), got.stderr)
	assert.NotContains(t, got.stdout+got.stderr, "\x1b")
}

func TestRunningPodsAndTheirAssociations(t *testing.T) {
	list := filepath.Join(t.TempDir(), "associations.txt")
	require.NoError(t, os.WriteFile(list, []byte("shop/web\n"), 0o600))
	pod := `{"kind": "Pod", "metadata": {"name": "web-0", "namespace": "shop"}, "spec": {"serviceAccountName": "web",
		"nodeName": "n", "containers": [{"name": "app"}]}, "status": {"phase": "Running"}}`
	assert.Equal(t, exitGood, podtoken(pod, "lint", "-").status)
	got := podtoken(pod, "lint", "--associations", list, "-")
	assert.Equal(t, exitFindings, got.status)
	assert.Contains(t, got.stdout, "kubectl -n shop delete pod web-0")
}

func TestColoursAreForATerminal(t *testing.T) {
	var stdout bytes.Buffer
	run([]string{"lint", badFile}, system{stdout: &stdout, stderr: &bytes.Buffer{}, colours: true})
	assert.Contains(t, stdout.String(), "\x1b[31mPT005\x1b[0m")
}

func TestJSON(t *testing.T) {
	var printed struct {
		Findings []lint.Finding
		Errors   []string
	}
	got := podtoken("a: [\n", "lint", "-o", "json", badFile, "-")
	assert.Equal(t, exitUnreadable, got.status)
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &printed))
	require.Len(t, printed.Findings, 1)
	assert.Equal(t, "PT005", printed.Findings[0].Rule)
	assert.Equal(t, 26, printed.Findings[0].Line)
	require.Len(t, printed.Errors, 1)
	assert.Contains(t, printed.Errors[0], "stdin:")

	got = podtoken("", "lint", "-o", "json", goodFile)
	assert.JSONEq(t, `{"findings": [], "errors": []}`, got.stdout)

	var rules []lint.Rule
	require.NoError(t, json.Unmarshal([]byte(podtoken("", "lint", "--rules", "-o", "json").stdout), &rules))
	assert.Equal(t, len(lint.Rules()), len(rules))
}

// testdata/sarif-2.1.0.json is the schema of the standard, without its
// descriptions.
func TestSARIF(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("testdata/sarif-2.1.0.json")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		args []string
		uri  string // of the finding, if there is one
	}{
		"findings":              {[]string{badFile}, badFile},
		"no findings":           {[]string{goodFile}, ""},
		"something unreadable":  {[]string{badFile, "-"}, badFile},
		"a file with a space":   {[]string{"no such file.yaml"}, ""},
		"an absolute file name": {[]string{absolute(t, badFile)}, "file://" + filepath.ToSlash(absolute(t, badFile))},
	} {
		t.Run(name, func(t *testing.T) {
			got := podtoken("a: [\n", append([]string{"lint", "-o", "sarif"}, c.args...)...)
			document, err := jsonschema.UnmarshalJSON(strings.NewReader(got.stdout))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(document))

			var log sarifLog
			require.NoError(t, json.Unmarshal([]byte(got.stdout), &log))
			run := log.Runs[0]
			assert.Equal(t, got.status != exitUnreadable, run.Invocations[0].Successful)
			assert.Len(t, run.Tool.Driver.Rules, len(lint.Rules()))
			if c.uri == "" {
				assert.Empty(t, run.Results)
				return
			}
			require.Len(t, run.Results, 1)
			r := run.Results[0]
			assert.Equal(t, "PT005", r.RuleID)
			assert.Equal(t, "PT005", run.Tool.Driver.Rules[r.RuleIndex].ID)
			assert.Equal(t, 26, r.Locations[0].Physical.Region.StartLine)
			assert.Equal(t, c.uri, r.Locations[0].Physical.Artifact.URI)
		})
	}
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	name, err := filepath.Abs(name)
	require.NoError(t, err)
	return name
}
