package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// What is in a manifest of secrets is in no finding and no error, however
// broken the manifest is around it.
func TestNothingOfASecretIsPrinted(t *testing.T) {
	const secret = "hunter2hunter2"
	token := "eyJ" + secret + ".eyJ" + secret + "." + secret
	for name, text := range map[string]string{
		"data":                      "kind: Secret\ntype: kubernetes.io/service-account-token\ndata: {token: " + secret + "}\n",
		"data in JSON":              `{"kind": "Secret", "type": "kubernetes.io/service-account-token", "data": {"token": "` + secret + `"}}`,
		"broken data":               "kind: Secret\ndata:\n  token: " + secret + ": " + secret + "\n",
		"an unknown alias":          "kind: Secret\ndata: {token: *" + secret + "}\n",
		"a strange tag":             "kind: Secret\ndata: {token: !" + secret + "! x}\n",
		"an unclosed string":        "kind: Secret\ndata: {token: \"" + secret + "\n",
		"an unclosed string, JSON":  `{"kind": "Secret", "data": {"token": "` + secret,
		"an unknown escape":         "kind: Secret\ndata: {token: \"\\" + secret + "\"}\n",
		"a bare word, JSON":         `{"kind": "Secret", "data": ` + secret + `}`,
		"a variable":                "kind: Pod\nspec: {containers: [{name: app, image: x, env: [{name: PASSWORD, value: " + secret + "}]}]}\n",
		"a path in a variable":      "kind: Pod\nspec: {containers: [{name: app, image: x, env: [{name: A, value: /" + secret + "}]}]}\n",
		"a token for an audience":   "kind: Pod\nspec: {containers: [{name: app, image: x}], volumes: [{name: t, projected: {sources: [{serviceAccountToken: {audience: 'https://kubernetes.default.svc" + token + "'}}]}}]}\n",
		"a token for a volume name": "kind: Pod\nspec: {containers: [{name: app, image: x}], volumes: [{name: " + token + ", projected: {sources: [{serviceAccountToken: {}}]}}]}\n",
		"a token for a name":        "kind: Pod\nmetadata: {name: " + token + "}\nspec: {containers: [{name: app, image: x}]}\n",
		"a comment":                 "kind: Secret\n# type: kubernetes.io/service-account-token " + secret + "\ndata: {}\n",
		"a silence":                 "kind: Secret # podtoken:ignore " + secret + "\n",
		"a reason":                  "kind: Secret # podtoken:ignore PT003 " + secret + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			found, errs := lintAll(&lint.Linter{}, text)
			assert.NotEmpty(t, len(found)+len(errs), "nothing was said, so nothing was tested")
			said := fmt.Sprintf("%v %+v %v", found, found, errs)
			assert.False(t, strings.Contains(said, secret), said)
		})
	}
}

// A message is one line, whatever is in the manifest.
func TestMessagesAreOneLine(t *testing.T) {
	found, _ := lintAll(&lint.Linter{}, "kind: \"Pod\\n\\e[31m\"\nmetadata: {name: \"a\\nb\"}\ntemplate: {spec: {containers: [{name: \"x\\ny\"}], volumes: [{name: \"v\\n\", projected: {sources: [{serviceAccountToken: {}}]}}]}}\n")
	assert.NotEmpty(t, found)
	for _, f := range found {
		assert.NotContains(t, f.String(), "\n")
		assert.NotContains(t, f.String(), "\x1b")
	}
}
