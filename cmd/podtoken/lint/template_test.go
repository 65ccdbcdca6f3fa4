package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// broken is a pod's spec with one finding: its token has no audience.
const broken = `{automountServiceAccountToken: false, containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /tokens}]}], ` +
	brokenVolumes + "}"

const brokenVolumes = "volumes: [{name: token, projected: {sources: [{serviceAccountToken: {expirationSeconds: 3600, path: token}}]}}]"

func TestTokensAreFoundInEveryKindThatMakesPods(t *testing.T) {
	for kind, spec := range map[string]string{
		"Pod":                   "spec: POD",
		"Deployment":            "spec: {selector: {}, template: {spec: POD}}",
		"ReplicaSet":            "spec: {selector: {}, template: {spec: POD}}",
		"StatefulSet":           "spec: {selector: {}, template: {spec: POD}}",
		"DaemonSet":             "spec: {selector: {}, template: {spec: POD}}",
		"Job":                   "spec: {template: {spec: POD}}",
		"CronJob":               "spec: {jobTemplate: {spec: {template: {spec: POD}}}}",
		"ReplicationController": "spec: {template: {spec: POD}}",
		"PodTemplate":           "template: {spec: POD}",
		"Rollout":               "spec: {strategy: {canary: {}}, template: {spec: POD}}",
		"Service":               "spec: {template: {spec: POD}}", // Knative's
		"DeploymentConfig":      "spec: {template: {spec: POD}}",
		"Workflow":              "spec: {templates: [{container: {volumeMounts: [{name: token, mountPath: /tokens}]}}], VOLUMES}",
		"Task":                  "spec: {stepTemplate: {volumeMounts: [{name: token, mountPath: /tokens}]}, steps: [{env: [{name: T, value: /tokens/token}]}], VOLUMES}",
		"Prometheus":            "spec: {containers: [{name: prometheus}], volumeMounts: [{name: token, mountPath: /tokens}], VOLUMES}",
		"Operated":              "spec: {podSpec: POD}",
		"RayCluster":            "spec: {workerGroupSpecs: [{template: {spec: POD}}]}",
	} {
		t.Run(kind, func(t *testing.T) {
			text := "kind: " + kind + "\nmetadata: {name: web}\n" + strings.NewReplacer("POD", broken, "VOLUMES", brokenVolumes).Replace(spec) + "\n"
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
		"a policy of Kyverno's":         "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec: {rules: [{validate: {pattern: {spec: {containers: [{name: a, image: '!*:latest'}]}}}}]}\n",
		"a mutation of Gatekeeper's":    "apiVersion: mutations.gatekeeper.sh/v1\nkind: Assign\nspec: {parameters: {assign: {value: {spec: " + broken + "}}}}\n",
		"a patch of Kustomize's":        "kind: Deployment\nspec: {template: {spec: {containers: [{name: app, env: [{name: A, value: b}]}]}}}\n",
		"a patch that adds a container": "kind: Deployment\nspec: {template: {spec: {containers: [{name: proxy, image: x}]}}}\n",
		"a patch that adds a volume":    "kind: Deployment\nspec: {template: {spec: {containers: [{name: app}], " + brokenVolumes + "}}}\n",
		"a template for an operator":    "kind: Elasticsearch\nspec: {nodeSets: [{podTemplate: {spec: {containers: [{name: proxy, image: x}]}}}]}\n",
		"a chart's test":                "kind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\nspec: {containers: [{name: wget, image: busybox}]}\n",
		"a pod that has no spec":        "kind: Pod\n",
		"values that are no objects":    "just text\n---\n- 1\n- [2, null]\n---\n7\n",
	} {
		t.Run(name, func(t *testing.T) { assert.Empty(t, findings(t, &lint.Linter{}, text)) })
	}
}

// template has a Deployment's pod spec at its end.
const template = "kind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {selector: {}, template: {spec: SPEC}}\n"

func TestPodSpecs(t *testing.T) {
	const (
		token = `{serviceAccountToken: {audience: payments, expirationSeconds: 3600, path: token}}`
		head  = `automountServiceAccountToken: false, serviceAccountName: web, `
		app   = `containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /tokens}]}]`
		vol   = `volumes: [{name: token, projected: {sources: [` + token + `]}}]`
		mode  = `volumes: [{name: token, projected: {defaultMode: 0440, sources: [` + token + `]}}]`
	)
	for name, c := range map[string]struct{ spec, want string }{
		"all is well": {head + app + ", " + vol, ""},
		"the default token that admission added, in an exported pod": {
			head + `containers: [{name: app, image: x, volumeMounts: [{name: kube-api-access-x7k2p, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}],
  volumes: [{name: kube-api-access-x7k2p, projected: {sources: [{serviceAccountToken: {expirationSeconds: 3607, path: token}}]}}]`, "",
		},
		"a legacy token in a variable": {
			head + `containers: [{name: app, image: x, env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: web-token-x7k2p, key: token}}}]}]`, "PT002:3",
		},
		"a legacy token in a projected volume": {
			head + app + `, volumes: [{name: token, projected: {sources: [{secret: {name: web-token-x7k2p}}]}}]`, "PT002:3",
		},
		"a Secret whose name only resembles one": {
			head + app + `, volumes: [{name: token, secret: {secretName: github-token-cache}}]`, "",
		},
		"a legacy token as the environment": {
			head + `containers: [{name: app, image: x, envFrom: [{secretRef: {name: web-token-x7k2p}}]}]`, "PT002:3",
		},
		"another file of the volume by subPath": {head + `containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /tokens}, {name: token, mountPath: /etc/ca.crt, subPath: ca.crt}]}], ` + vol, ""},
		"the token's folder by subPath":         {head + `containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /tokens, subPath: in}]}], ` + strings.Replace(vol, "path: token", "path: in/token", 1), "PT010:3"},
		"the API server's audience for its clients, at a path of one's own": {
			head + app + `, volumes: [{name: token, projected: {sources: [{configMap: {name: kube-root-ca.crt}}, ` + strings.Replace(token, "payments", "https://kubernetes.default.svc", 1) + `]}}]`, "",
		},
		"the default token for Vault": {
			head + `containers: [{name: app, image: x, env: [{name: VAULT_K8S_TOKEN, value: /run/secrets/kubernetes.io/serviceaccount/token}]}]`, "PT008:3",
		},
		"the default token for Consul, which takes no other": {
			head + `containers: [{name: app, image: x, env: [{name: CONSUL_LOGIN_BEARER_TOKEN_FILE, value: /var/run/secrets/kubernetes.io/serviceaccount/token}]}]`, "",
		},
		"a volume that no container mounts":         {head + `containers: [{name: app, image: x}], ` + vol, "PT011:3"},
		"a volume over the default path":            {`serviceAccountName: web, automountServiceAccountToken: true, containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /var/run/secrets}]}], ` + vol, "PT009:3"},
		"the same without the default token":        {head + `containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /var/run/secrets}]}], ` + vol, ""},
		"the same where nobody says anything of it": {`serviceAccountName: web, containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /var/run/secrets}]}], ` + vol, "PT009:3"},
		"the same in a patch":                       {`serviceAccountName: web, containers: [{name: app, volumeMounts: [{name: token, mountPath: /var/run/secrets}]}], ` + vol, ""},
		"the API server's audience at the default path": {
			head + `containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}], ` + strings.Replace(vol, "payments", "https://kubernetes.default.svc", 1), "",
		},
		"3607 s for somebody else": {head + app + ", " + strings.Replace(vol, "3600", "3607", 1), ""},
		"two tokens of a folder that is mounted by subPath": {
			head + `containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /tokens, subPath: in}]}], volumes: [{name: token, projected: {sources: [` +
				strings.Replace(token, "path: token", "path: in/a", 1) + ", " + strings.Replace(token, "path: token", "path: in/b", 1) + `]}}]`, "PT010:3",
		},
		"a legacy token in a variable, commented out": {
			head + app + ", " + vol + "\n  # env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: web-token-x7k2p, key: token}}}]\n  ", "PT015:4",
		},
		"a volume in the default path":              {`serviceAccountName: web, automountServiceAccountToken: true, containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /run/secrets/kubernetes.io/serviceaccount/own}]}], ` + vol, "PT009:3"},
		"the same without the default token, in it": {head + `containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /run/secrets/kubernetes.io/serviceaccount/own}]}], ` + vol, ""},
		"a mode for everybody":                      {head + `securityContext: {runAsNonRoot: true, runAsGroup: 1000}, ` + app + ", " + strings.Replace(mode, "0440", "0444", 1), ""},
		"a path in an argument":                     {head + `containers: [{name: app, image: x, args: ["--token=/tokens/token"]}, {name: proxy, image: x, volumeMounts: [{name: token, mountPath: /tokens}]}], ` + vol, "PT011:3"},
		"an init container by subPathExpr":          {head + `initContainers: [{name: init, image: x, volumeMounts: [{name: token, mountPath: /t, subPathExpr: $(POD)}]}], containers: [{name: app, image: x}], ` + vol, "PT010:3"},
		"a mode that a group without root's":        {head + `securityContext: {runAsUser: 1000, runAsGroup: 1000}, containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /tokens}]}, {name: proxy, image: x, securityContext: {runAsUser: 0}}], ` + mode, "PT012:3"},
		"the same with fsGroup":                     {head + `securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 1}, containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /tokens}]}, {name: proxy, image: x, securityContext: {runAsUser: 0}}], ` + mode, ""},
		"the same with root's group besides":        {head + `securityContext: {runAsUser: 1000, runAsGroup: 1000, supplementalGroups: [5, 0]}, containers: [{name: app, image: x, volumeMounts: [{name: token, mountPath: /tokens}]}, {name: proxy, image: x, securityContext: {runAsUser: 0}}], ` + mode, ""},
		"a file that belongs to the container's user": {
			head + `initContainers: [{name: init, image: x, securityContext: {runAsUser: 0}}], securityContext: {runAsUser: 1000, runAsGroup: 1000}, ` + app + ", " + strings.Replace(mode, "path: token", "path: token, user: 1000", 1), "",
		},
		"a pod of Windows":                       {head + `os: {name: windows}, securityContext: {runAsNonRoot: true}, ` + app + ", " + strings.Replace(mode, "0440", "0400", 1), ""},
		"a node of Windows":                      {head + `nodeSelector: {kubernetes.io/os: windows}, securityContext: {runAsNonRoot: true}, ` + app + ", " + strings.Replace(mode, "0440", "0400", 1), ""},
		"one of Linux":                           {head + `os: {name: linux}, securityContext: {runAsNonRoot: true}, ` + app + ", " + strings.Replace(mode, "0440", "0400", 1), "PT012:3"},
		"a native sidecar that has another user": {head + `initContainers: [{name: proxy, image: x, restartPolicy: Always, securityContext: {runAsUser: 1337}}], securityContext: {runAsUser: 1000, runAsGroup: 1000}, ` + app + ", " + mode, "PT012:3"},
		"a debugging container that has no user": {head + `ephemeralContainers: [{name: debug}], containers: [{name: app, image: x, securityContext: {runAsUser: 1000, runAsGroup: 1000}, volumeMounts: [{name: token, mountPath: /tokens}]}], ` + mode, "PT012:3"},
		"the same with one user for all":         {head + `securityContext: {runAsUser: 1000, runAsGroup: 1000}, ` + app + ", " + mode, ""},
		"root may read any mode":                 {head + app + ", " + mode, ""},
		"the default service account, said":      {`serviceAccountName: default, containers: [{name: app, image: x}]`, "PT013:3"},
		"the default service account, not said":  {`containers: [{name: app, image: x}]`, "PT013:3"},
		"a service account of its own":           {`serviceAccountName: web, containers: [{name: app, image: x}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, brief(findings(t, &lint.Linter{}, strings.Replace(template, "SPEC", "{"+c.spec+"}", 1))))
		})
	}
}

func TestOneObjectExplainsAnother(t *testing.T) {
	deployment := strings.Replace(template, "SPEC", "{containers: [{name: app, image: x}], SPEC}", 1)
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
		"a binding names its group": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1) +
				"---\nkind: RoleBinding\nmetadata: {namespace: shop}\nsubjects: [{kind: Group, name: 'system:serviceaccounts:shop'}]\n", "",
		},
		"a binding names the group of all": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1) +
				"---\nkind: ClusterRoleBinding\nroleRef: {name: view}\nsubjects: [{kind: Group, name: 'system:serviceaccounts'}]\n", "",
		},
		"the binding that each cluster has": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1) +
				"---\nkind: ClusterRoleBinding\nroleRef: {name: 'system:service-account-issuer-discovery'}\nsubjects: [{kind: Group, name: 'system:serviceaccounts'}]\n", "PT013:3",
		},
		"a binding names the group of another namespace": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1) +
				"---\nkind: RoleBinding\nsubjects: [{kind: Group, name: 'system:serviceaccounts:bank'}]\n", "PT013:3",
		},
		"a binding names the account as a user": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: default", 1) +
				"---\nkind: RoleBinding\nsubjects: [{kind: User, name: 'system:serviceaccount:shop:default'}]\n", "",
		},
		"the annotation of IRSA on what is no service account": {
			"kind: Deployment\nmetadata: {name: web, namespace: shop, annotations: {eks.amazonaws.com/role-arn: x}}\n" +
				"---\nkind: PodIdentityAssociation\nspec: {namespace: shop, serviceAccount: web}\n", "",
		},
		"a Secret of another type, with the name of a legacy token": {
			strings.Replace(deployment, "SPEC", "serviceAccountName: web, volumes: [{name: t, secret: {secretName: slack-token-db42x}}]", 1) +
				"---\nkind: Secret\nmetadata: {name: slack-token-db42x, namespace: shop}\ntype: Opaque\n", "",
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
	replicaSet := "kind: ReplicaSet\nmetadata: {name: web-0, namespace: shop, ownerReferences: [{kind: Deployment, name: web, controller: true}]}\nspec: {selector: {}, template: {spec: " + broken + "}}\n---\n"
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
	replicaSet := "---\nkind: ReplicaSet\nmetadata: {name: web-7d9c5b6f4, namespace: shop}\nspec: {selector: {}, template: {spec: {serviceAccountName: web, containers: [{name: app, image: x}]}}}\n"
	assert.Equal(t, "PT016:5", brief(findings(t, &lint.Linter{}, pod+replicaSet)))
}

// What kubectl get pods prints has what admission injected, and no bindings: it
// cannot tell which pods need the API server.
func TestRunningPodsThatOthersInjected(t *testing.T) {
	pod := readFile(t, "testdata/injected.yaml")
	assert.Empty(t, findings(t, &lint.Linter{}, pod))
	bindings := "---\nkind: ClusterRoleBinding\nsubjects: [{kind: ServiceAccount, name: api, namespace: shop}]\n"
	assert.Equal(t, "PT013:11", brief(findings(t, &lint.Linter{}, pod+bindings)))
	assert.Empty(t, findings(t, &lint.Linter{}, pod+strings.Replace(bindings, "api", "web", 1)))
}

// A manifest whose service account is elsewhere has its bindings there too.
func TestAPodWithATokenOfItsOwnIsJudgedByItsServiceAccount(t *testing.T) {
	bad := readFile(t, "testdata/rules/PT013/bad.yaml")
	deployment, _, found := strings.Cut(bad, "---\napiVersion: v1\nkind: ServiceAccount")
	assert.True(t, found)
	assert.Empty(t, findings(t, &lint.Linter{}, deployment))
}
