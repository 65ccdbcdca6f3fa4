package lint_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// A mend is pasted into the object that it is about, so it has that one's
// names and paths.
func TestMendsAreOfTheObjectItself(t *testing.T) {
	for rule, want := range map[string]string{
		"PT002": "declare a projected volume in its place: {name: token, projected: {sources: [{serviceAccountToken: {audience: AUDIENCE, expirationSeconds: 3600, path: token}}]}}",
		"PT009": "mount it elsewhere, and tell the program: mountPath: /var/run/secrets/tokens/token",
		"PT010": "mount the volume's directory instead, {name: token, mountPath: /var/run/secrets/tokens/token, readOnly: true}, and read /var/run/secrets/tokens/token/token",
		"PT011": "add it to the container's volumeMounts: {name: token, mountPath: /var/run/secrets/tokens/payments, readOnly: true}",
		"PT012": "add fsGroup: 65532 to the pod's securityContext, and the kubelet makes the file readable to that group and to nobody else",
	} {
		t.Run(rule, func(t *testing.T) {
			found := findings(t, &lint.Linter{}, readFile(t, filepath.Join("testdata", "rules", rule, "bad.yaml")))
			require.Len(t, found, 1)
			assert.Equal(t, want, found[0].Mend)
		})
	}
}

func TestMendsOfOtherForms(t *testing.T) {
	const containers = `automountServiceAccountToken: false, serviceAccountName: web, containers: [{name: app, image: x, volumeMounts: [{name: creds, mountPath: PATH}]}], volumes: [{name: creds, VOLUME}]`
	for name, c := range map[string]struct{ spec, want string }{
		"a legacy Secret where the default token is mounted": {
			strings.NewReplacer("PATH", "/run/secrets/kubernetes.io/serviceaccount/", "VOLUME", "secret: {secretName: web-token-x7k2p}").Replace(containers),
			"delete the volume and its mounts: ",
		},
		"a legacy Secret among projected sources": {
			strings.NewReplacer("PATH", "/creds", "VOLUME", "projected: {sources: [{secret: {name: web-token-x7k2p}}]}").Replace(containers),
			"put this source in its place: {serviceAccountToken: {audience: AUDIENCE, expirationSeconds: 3600, path: token}}",
		},
		"a legacy Secret in a variable": {
			"serviceAccountName: web, containers: [{name: app, image: x, env: [{name: T, valueFrom: {secretKeyRef: {name: web-token-x7k2p, key: token}}}]}]",
			"let the program read a file, and declare a projected volume: {name: token, projected: ",
		},
		"a volume that nobody mounts": {
			"automountServiceAccountToken: false, serviceAccountName: web, containers: [{name: app, image: x}], volumes: [{name: creds, projected: {sources: [{serviceAccountToken: {audience: payments, expirationSeconds: 3600, path: token}}]}}]",
			"add it to the container's volumeMounts: {name: creds, mountPath: /var/run/secrets/tokens/creds, readOnly: true}; or delete the volume",
		},
		"a container with a group of its own": {
			strings.NewReplacer("PATH", "/creds", "VOLUME", "projected: {defaultMode: 0400, sources: [{serviceAccountToken: {audience: payments, expirationSeconds: 3600, path: token}}]}").
				Replace("initContainers: [{name: init, image: x}], securityContext: {runAsNonRoot: true, runAsGroup: 3000}, " + containers),
			"add fsGroup: 3000 to the pod's securityContext, ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := findings(t, &lint.Linter{}, strings.Replace(template, "SPEC", "{"+c.spec+"}", 1))
			require.Len(t, found, 1, brief(found))
			assert.True(t, strings.HasPrefix(found[0].Mend, c.want), found[0].Mend)
		})
	}
}

// What a mend has in braces is YAML.
func TestMendsAreYAML(t *testing.T) {
	for _, rule := range lint.Rules() {
		texts := []string{rule.Mend}
		for _, f := range findings(t, &lint.Linter{}, readFile(t, filepath.Join("testdata", "rules", rule.ID, "bad.yaml"))) {
			texts = append(texts, f.Mend)
		}
		for _, text := range texts {
			if first, last := strings.Index(text, "{"), strings.LastIndex(text, "}"); first >= 0 {
				assert.NoError(t, yaml.Unmarshal([]byte(text[first:last+1]), new(map[string]any)), "%s: %s", rule.ID, text)
				assert.NotContains(t, text, "…", rule.ID)
			}
		}
	}
}

// The volume is for a container that a webhook adds, and only an annotation
// tells.
func TestAVolumeForAContainerThatAWebhookAdds(t *testing.T) {
	const deployment = "kind: Deployment\nmetadata: {name: web}\nspec: {selector: {}, template: {metadata: {annotations: {KEY: 'VALUE'}}, spec: {automountServiceAccountToken: false, serviceAccountName: web, containers: [{name: app, image: x}],\n" +
		"  volumes: [{name: vault-token, projected: {sources: [{serviceAccountToken: {audience: vault, expirationSeconds: 3600, path: token}}]}}]}}}\n"
	for name, c := range map[string]struct{ key, value, want string }{
		"Vault's agent":                {"vault.hashicorp.com/agent-service-account-token-volume-name", "vault-token", ""},
		"Istio's sidecar":              {"sidecar.istio.io/userVolumeMount", `[{"name":"vault-token", "mountPath":"/etc/vault"}]`, ""},
		"Dapr's sidecar":               {"dapr.io/volume-mounts", "certs:/etc/certs, vault-token:/etc/vault", ""},
		"another volume":               {"dapr.io/volume-mounts", "certs:/etc/certs", "PT011:4"},
		"a sentence":                   {"example.com/note", "uses vault-token one day", "PT011:4"},
		"the object as it was applied": {"kubectl.kubernetes.io/last-applied-configuration", `{"volumes":[{"name":"vault-token"}]}`, "PT011:4"},
		"a silence":                    {"podtoken.dev/ignore", "PT011: vault-token, a test", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("KEY", c.key, "VALUE", c.value).Replace(deployment)
			assert.Equal(t, c.want, brief(findings(t, &lint.Linter{}, text)))
		})
	}
}
