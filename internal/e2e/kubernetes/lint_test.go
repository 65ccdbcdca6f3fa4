//go:build linux

package kubernetes

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// lintExamples are the manifests with which podtoken lint shows its rules.
const lintExamples = "../../../cmd/podtoken/lint/testdata"

// refusedByDesign are the examples of what the API server itself refuses, with
// its reason.
var refusedByDesign = map[string]string{
	"rules/PT005/bad.yaml": "expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
}

// Examples that no API server would take teach nothing: each is created, as a
// dry run in which an unknown field is an error.
func TestLintsExamplesAreManifestsOfTheAPIServer(t *testing.T) {
	app := newAccount(t)
	_, err := app.server.admin.CoreV1().ServiceAccounts(app.namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	names, err := filepath.Glob(filepath.Join(lintExamples, "rules", "*", "*.yaml"))
	require.NoError(t, err)
	require.Greater(t, len(names), 30)
	kinds, refused := make(map[string]int), 0
	for _, name := range append(names, filepath.Join(lintExamples, "injected.yaml")) {
		short, err := filepath.Rel(lintExamples, name)
		require.NoError(t, err)
		t.Run(short, func(t *testing.T) {
			for _, object := range manifests(t, name) {
				kinds[object.GetKind()]++
				err := app.dryRun(t, object)
				if reason := refusedByDesign[short]; reason != "" {
					refused++
					assert.ErrorContains(t, err, reason)
					continue
				}
				assert.NoError(t, err, object.GetKind())
			}
		})
	}
	assert.Equal(t, len(refusedByDesign), refused)
	t.Logf("objects that the API server knows: %v", kinds)
}

// The control: what strict validation is for.
func TestADryRunRefusesAFieldThatIsNotThere(t *testing.T) {
	object := manifests(t, filepath.Join(lintExamples, "rules", "PT001", "good.yaml"))[0]
	object.Object["stringdata"] = map[string]any{"password": "x"}
	assert.ErrorContains(t, newAccount(t).dryRun(t, object), `unknown field "stringdata"`)
}

// manifests are a file's objects but for those of a custom resource, which only
// its operator knows.
func manifests(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var found []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		if object.GetKind() != "PodIdentityAssociation" {
			found = append(found, object)
		}
	}
}

// dryRun creates an object in the account's namespace, up to where it would be
// stored.
func (a *account) dryRun(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	object.SetNamespace(a.namespace)
	if object.GetKind() == "ServiceAccount" {
		object.SetName("example") // the name itself is taken: a pod needs its account
	}
	text, err := object.MarshalJSON()
	require.NoError(t, err)
	version := object.GroupVersionKind().GroupVersion()
	root := []string{"apis", version.Group, version.Version}
	if version.Group == "" {
		root = []string{"api", version.Version}
	}
	return a.server.admin.CoreV1().RESTClient().Post().
		AbsPath(root...).Namespace(a.namespace).Resource(strings.ToLower(object.GetKind())+"s").
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict).
		SetHeader("Content-Type", "application/json").Body(text).Do(t.Context()).Error()
}
