//go:build linux

package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// As README.md says: first it only warns.
func TestThePolicyCanBeTriedOut(t *testing.T) {
	app := newAccount(t)
	text, err := os.ReadFile(deployed("admission-policy.yaml"))
	require.NoError(t, err)
	tried := strings.Replace(string(text), "[Deny]", "[Warn, Audit]", 1)
	require.Contains(t, readmeOf(t), `sed 's/\[Deny\]/[Warn, Audit]/' deploy/admission-policy.yaml | kubectl apply -f -`)
	parseManifest(t, "admission-policy.yaml", tried).apply(t, app.server, "")

	warned := &warnings{}
	config := rest.CopyConfig(app.server.config)
	config.WarningHandler = warned
	client, err := clientset.NewForConfig(config)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Pods(app.namespace).Create(t.Context(), askingFor("pod-identity"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && strings.Contains(warned.String(), "EKS Pod Identity was not injected into app")
	}, patience, 100*time.Millisecond)

	pattern := regexp.MustCompile(counted.FindStringSubmatch(readmeOf(t))[1])
	lines := pattern.FindAllString(string(app.server.get(t, "/metrics")), -1)
	assert.Contains(t, strings.Join(lines, "\n"), `enforcement_action="warn"`)
}

// As README.md says: in an emergency, until the file is applied again.
func TestThePolicyCanBeTakenOutOfForce(t *testing.T) {
	app := newAccount(t)
	app.enforce(t)
	require.Contains(t, readmeOf(t), "kubectl delete validatingadmissionpolicybinding "+policyName+"\n")
	bindings := app.server.admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	require.NoError(t, bindings.Delete(t.Context(), policyName, metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return app.admit(t.Context(), askingFor("pod-identity")) == nil }, patience, 100*time.Millisecond)

	var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
	readManifest(t, "admission-policy.yaml").into(t, "ValidatingAdmissionPolicyBinding", &binding)
	_, err := bindings.Create(t.Context(), &binding, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return app.admit(t.Context(), askingFor("pod-identity")) != nil }, patience, 100*time.Millisecond)
}

// counted finds in README.md how to find the policy in the API server's metrics.
var counted = regexp.MustCompile(`kubectl get --raw /metrics \| grep '(.+)'`)

// The API server accepts expressions that cannot be evaluated, such as one
// with a misspelt field, and a controller that does not run here warns of them.
func TestThePolicyHasNoTypeErrors(t *testing.T) {
	server := requireAPIServer(t)
	var policy admissionregistrationv1.ValidatingAdmissionPolicy
	readManifest(t, "admission-policy.yaml").into(t, "ValidatingAdmissionPolicy", &policy)
	checker := &validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: server.admin.Discovery()},
		RestMapper:     server.mapper(t),
	}
	assert.Empty(t, checker.Check(&policy))

	policy.Spec.Validations[0].Expression = "object.spec.misspelt == ''"
	assert.NotEmpty(t, checker.Check(&policy), "the checker finds something")
}

// The snippet is a whole Deployment, in which the API server and podtoken's
// own rules find nothing wrong.
func TestTheInitContainerIsAccepted(t *testing.T) {
	app := newAccount(t)
	readManifest(t, "init-container.yaml").apply(t, app.server, app.namespace)

	files, err := filepath.Glob(deployed("*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	args := []string{"run", "-C", filepath.Join("..", "..", "..", "cmd", "podtoken"), ".", "lint"}
	for _, file := range files {
		absolute, err := filepath.Abs(file)
		require.NoError(t, err)
		args = append(args, absolute)
	}
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Env = append(os.Environ(), "GOWORK=off")
	found, err := command.CombinedOutput()
	assert.NoError(t, err, "podtoken lint:\n%s", found)
}

func TestTheKustomizationNamesFilesThatExist(t *testing.T) {
	kustomization := readManifest(t, "kustomization.yaml").objects[0]
	resources, ok := kustomization.Object["resources"].([]any)
	require.True(t, ok)
	require.NotEmpty(t, resources)
	for _, name := range resources {
		assert.NotEmpty(t, readManifest(t, name.(string)).objects)
	}
}

func readmeOf(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(deployed("README.md"))
	require.NoError(t, err)
	return string(text)
}

// warnings keeps what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.WriteString(text + "\n")
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
