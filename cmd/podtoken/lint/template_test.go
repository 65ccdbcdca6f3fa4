package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// broken is a pod's spec with one finding: its token has no audience.
const broken = `{automountServiceAccountToken: false, containers: [{name: app, volumeMounts: [{name: token, mountPath: /tokens}]}], ` +
	`volumes: [{name: token, projected: {sources: [{serviceAccountToken: {expirationSeconds: 3600, path: token}}]}}]}`

func TestTokensAreFoundInEveryKindThatMakesPods(t *testing.T) {
	for kind, spec := range map[string]string{
		"Pod":                   "spec: POD",
		"Deployment":            "spec: {template: {spec: POD}}",
		"ReplicaSet":            "spec: {template: {spec: POD}}",
		"StatefulSet":           "spec: {template: {spec: POD}}",
		"DaemonSet":             "spec: {template: {spec: POD}}",
		"Job":                   "spec: {template: {spec: POD}}",
		"CronJob":               "spec: {jobTemplate: {spec: {template: {spec: POD}}}}",
		"ReplicationController": "spec: {template: {spec: POD}}",
		"PodTemplate":           "template: {spec: POD}",
		"Rollout":               "spec: {strategy: {canary: {}}, template: {spec: POD}}",
		"RayCluster":            "spec: {workerGroupSpecs: [{template: {spec: POD}}]}",
	} {
		t.Run(kind, func(t *testing.T) {
			text := "kind: " + kind + "\nmetadata: {name: web}\n" + strings.ReplaceAll(spec, "POD", broken) + "\n"
			found := findings(t, &lint.Linter{}, text)
			assert.Equal(t, "PT003:3", brief(found))
			assert.Equal(t, kind+" web", found[0].Object)
		})
	}
}

func TestManifestsOfOtherThingsHaveNoFindings(t *testing.T) {
	for name, text := range map[string]string{
		"a manifest within a ConfigMap": "kind: ConfigMap\ndata:\n  pod.yaml: |\n    spec: " + broken + "\n    # secretName: web-token-x7k2p\n",
		"a CustomResourceDefinition":    "kind: CustomResourceDefinition\nspec: {versions: [{schema: {spec: " + broken + "}}]}\n",
		"an operator's own spec":        "kind: Prometheus\nspec: {containers: [{name: config-reloader}]}\n",
		"a pod that has no spec":        "kind: Pod\n",
		"values that are no objects":    "just text\n---\n- 1\n- [2, null]\n---\n7\n",
	} {
		t.Run(name, func(t *testing.T) { assert.Empty(t, findings(t, &lint.Linter{}, text)) })
	}
}

// template has a Deployment's pod spec at its end.
const template = "kind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {spec: SPEC}}\n"

func TestPodSpecs(t *testing.T) {
	const (
		token = `{serviceAccountToken: {audience: payments, expirationSeconds: 3600, path: token}}`
		head  = `automountServiceAccountToken: false, serviceAccountName: web, `
		app   = `containers: [{name: app, volumeMounts: [{name: token, mountPath: /tokens}]}]`
		vol   = `volumes: [{name: token, projected: {sources: [` + token + `]}}]`
		mode  = `volumes: [{name: token, projected: {defaultMode: 0440, sources: [` + token + `]}}]`
	)
	for name, c := range map[string]struct{ spec, want string }{
		"all is well": {head + app + ", " + vol, ""},
		"the default token that admission added, in an exported pod": {
			head + `containers: [{name: app, volumeMounts: [{name: kube-api-access-x7k2p, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}],
  volumes: [{name: kube-api-access-x7k2p, projected: {sources: [{serviceAccountToken: {expirationSeconds: 3607, path: token}}]}}]`, "",
		},
		"a legacy token in a variable": {
			head + `containers: [{name: app, env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: web-token-x7k2p, key: token}}}]}]`, "PT002:3",
		},
		"a legacy token in a projected volume": {
			head + app + `, volumes: [{name: token, projected: {sources: [{secret: {name: web-token-x7k2p}}]}}]`, "PT002:3",
		},
		"a Secret whose name only resembles one": {
			head + app + `, volumes: [{name: token, secret: {secretName: github-token-cache}}]`, "",
		},
		"the default token for Vault": {
			head + `containers: [{name: app, env: [{name: VAULT_K8S_TOKEN, value: /run/secrets/kubernetes.io/serviceaccount/token}]}]`, "PT008:3",
		},
		"a volume that no container mounts":         {head + `containers: [{name: app}], ` + vol, "PT011:3"},
		"a volume over the default path":            {`serviceAccountName: web, automountServiceAccountToken: true, containers: [{name: app, volumeMounts: [{name: token, mountPath: /var/run/secrets}]}], ` + vol, "PT009:3 PT013:3"},
		"the same without the default token":        {head + `containers: [{name: app, volumeMounts: [{name: token, mountPath: /var/run/secrets}]}], ` + vol, ""},
		"a volume in the default path":              {`serviceAccountName: web, automountServiceAccountToken: true, containers: [{name: app, volumeMounts: [{name: token, mountPath: /run/secrets/kubernetes.io/serviceaccount/own}]}], ` + vol, "PT009:3 PT013:3"},
		"the same without the default token, in it": {head + `containers: [{name: app, volumeMounts: [{name: token, mountPath: /run/secrets/kubernetes.io/serviceaccount/own}]}], ` + vol, ""},
		"a mode for everybody":                      {head + `securityContext: {runAsNonRoot: true, runAsGroup: 1000}, ` + app + ", " + strings.Replace(mode, "0440", "0444", 1), ""},
		"a path in an argument":                     {head + `containers: [{name: app, args: ["--token=/tokens/token"]}, {name: proxy, volumeMounts: [{name: token, mountPath: /tokens}]}], ` + vol, "PT011:3"},
		"an init container by subPathExpr":          {head + `initContainers: [{name: init, volumeMounts: [{name: token, mountPath: /t, subPathExpr: $(POD)}]}], containers: [{name: app}], ` + vol, "PT010:3"},
		"a mode that a group without root's":        {head + `securityContext: {runAsUser: 1000, runAsGroup: 1000}, containers: [{name: app, volumeMounts: [{name: token, mountPath: /tokens}]}, {name: proxy, securityContext: {runAsUser: 0}}], ` + mode, "PT012:3"},
		"the same with fsGroup":                     {head + `securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 1}, containers: [{name: app, volumeMounts: [{name: token, mountPath: /tokens}]}, {name: proxy, securityContext: {runAsUser: 0}}], ` + mode, ""},
		"the same with one user for all":            {head + `securityContext: {runAsUser: 1000, runAsGroup: 1000}, ` + app + ", " + mode, ""},
		"root may read any mode":                    {head + app + ", " + mode, ""},
		"the default service account, said":         {`serviceAccountName: default, containers: [{name: app}]`, "PT013:3"},
		"the default service account, not said":     {`containers: [{name: app}]`, "PT013:3"},
		"a service account of its own":              {`serviceAccountName: web, containers: [{name: app}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, brief(findings(t, &lint.Linter{}, strings.Replace(template, "SPEC", "{"+c.spec+"}", 1))))
		})
	}
}

func TestOneObjectExplainsAnother(t *testing.T) {
	deployment := strings.Replace(template, "SPEC", "{containers: [{name: app}], SPEC}", 1)
	for name, c := range map[string]struct{ text, want string }{
		"the service account says not to mount": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1) +
				"---\nkind: ServiceAccount\nmetadata: {name: default, namespace: shop}\nautomountServiceAccountToken: false\n", "",
		},
		"that of another namespace says so": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1) +
				"---\nkind: ServiceAccount\nmetadata: {name: default, namespace: bank}\nautomountServiceAccountToken: false\n", "PT013:3",
		},
		"the account is default, and the namespace not said": {
			strings.Replace(strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1), ", namespace: shop", "", 1) +
				"---\nkind: ServiceAccount\nmetadata: {name: default, namespace: shop}\nautomountServiceAccountToken: false\n", "PT013:3",
		},
		"the account is another, and the namespace not said": {
			strings.Replace(strings.Replace(deployment, "SPEC", "serviceAccountName: web, volumes: [{name: t, secret: {secretName: web-token}}]", 1), ", namespace: shop", "", 1) +
				"---\nkind: Secret\nmetadata: {name: web-token, namespace: shop}\ntype: kubernetes.io/service-account-token\n", "PT001:7 PT002:3",
		},
		"the pod insists": {
			strings.Replace(deployment, "SPEC", "automountServiceAccountToken: true", 1) +
				"---\nkind: ServiceAccount\nmetadata: {name: default, namespace: shop}\nautomountServiceAccountToken: false\n", "PT013:3",
		},
		"a binding names the account": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1) +
				"---\nkind: ClusterRoleBinding\nsubjects: [{kind: ServiceAccount, name: default, namespace: shop}]\n", "",
		},
		"a Secret of the legacy type, under a name of one's own": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: web, volumes: [{name: t, secret: {secretName: web-token}}]", 1) +
				"---\nkind: Secret\nmetadata: {name: web-token, namespace: shop}\ntype: kubernetes.io/service-account-token\n", "PT001:7 PT002:3",
		},
		"a Secret of another type": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: web, volumes: [{name: t, secret: {secretName: web-token}}]", 1) +
				"---\nkind: Secret\nmetadata: {name: web-token, namespace: shop}\ntype: Opaque\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, brief(findings(t, &lint.Linter{}, c.text))) })
	}
}

// kubectl get all prints a Deployment, its ReplicaSet and its pods: the same
// mistake three times, to be mended once.
func TestAMistakeOfATemplateIsFoundOnce(t *testing.T) {
	pod := "kind: Pod\nmetadata: {name: web-0-0, namespace: shop, ownerReferences: [{kind: ReplicaSet, name: web-0, controller: true}]}\nspec: " + broken + "\n---\n"
	replicaSet := "kind: ReplicaSet\nmetadata: {name: web-0, namespace: shop, ownerReferences: [{kind: Deployment, name: web, controller: true}]}\nspec: {template: {spec: " + broken + "}}\n---\n"
	deployment := strings.Replace(template, "SPEC", broken, 1)
	assert.Equal(t, "PT003:11", brief(findings(t, &lint.Linter{}, pod+replicaSet+deployment)))
	assert.Equal(t, "PT003:7", brief(findings(t, &lint.Linter{}, pod+replicaSet)))
	assert.Equal(t, "PT003:3", brief(findings(t, &lint.Linter{}, pod)))
	elsewhere := strings.Replace(pod, "namespace: shop", "namespace: bank", 1)
	assert.Equal(t, "PT003:3 PT003:7", brief(findings(t, &lint.Linter{}, elsewhere+replicaSet)))

	silenced := strings.Replace(pod, "namespace", "annotations: {podtoken.dev/ignore: 'PT003: a test'}, namespace", 1)
	assert.Equal(t, "PT003:7", brief(findings(t, &lint.Linter{}, silenced+replicaSet)), "a silence that the pod inherited is not pointless")
}

func TestWhatIsWrongWithAPodThatRunsIsItsOwn(t *testing.T) {
	pod := readFile(t, "testdata/rules/PT016/bad.yaml")
	assert.Contains(t, pod, "kind: ReplicaSet, name: web-7d9c5b6f4,")
	replicaSet := "---\nkind: ReplicaSet\nmetadata: {name: web-7d9c5b6f4, namespace: shop}\nspec: {template: {spec: {serviceAccountName: web, containers: [{name: app}]}}}\n"
	assert.Equal(t, "PT016:5", brief(findings(t, &lint.Linter{}, pod+replicaSet)))
}
