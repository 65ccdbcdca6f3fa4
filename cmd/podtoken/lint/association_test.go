package lint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

func TestAssociationsInTheFormsThatPeopleHaveThemIn(t *testing.T) {
	web := lint.Association{Cluster: "prod", Namespace: "shop", ServiceAccount: "web"}
	plain := []lint.Association{{Namespace: "shop", ServiceAccount: "web"}, {Namespace: "bank", ServiceAccount: "api"}}
	for name, c := range map[string]struct {
		text string
		want []lint.Association
	}{
		"aws eks list-pod-identity-associations": {`{"associations": [{"clusterName": "prod", "namespace": "shop", "serviceAccount": "web",
			"associationArn": "arn:aws:eks:eu-central-1:111122223333:podidentityassociation/prod/a-1", "associationId": "a-1"}]}`, []lint.Association{web}},
		"aws eks describe-pod-identity-association": {`{"association": {"clusterName": "prod", "namespace": "shop", "serviceAccount": "web"}}`, []lint.Association{web}},
		"terraform show -json of a state": {`{"format_version": "1.0", "values": {"root_module": {
			"resources": [{"type": "kubernetes_secret", "values": {"namespace": "shop", "service_account": "other"}}],
			"child_modules": [{"child_modules": [{"resources": [{"type": "aws_eks_pod_identity_association",
				"values": {"cluster_name": "prod", "namespace": "shop", "service_account": "web"}}]}]}]}}}`, []lint.Association{web}},
		"terraform show -json of a plan": {`{"planned_values": {"root_module": {"resources": [{"type": "aws_eks_pod_identity_association",
				"values": {"cluster_name": "prod", "namespace": "shop", "service_account": "web"}}]}},
			"prior_state": {"values": {"root_module": {"resources": [{"type": "aws_eks_pod_identity_association",
				"values": {"cluster_name": "prod", "namespace": "shop", "service_account": "gone"}}]}}}}`, []lint.Association{web}},
		"terraform.tfstate": {`{"version": 4, "resources": [{"type": "aws_eks_pod_identity_association",
			"instances": [{"attributes": {"cluster_name": "prod", "namespace": "shop", "service_account": "web"}}]}]}`, []lint.Association{web}},
		"Crossplane": {"apiVersion: eks.aws.upbound.io/v1beta1\nkind: PodIdentityAssociation\nspec: {forProvider: {clusterName: prod, namespace: shop, serviceAccount: web}}\n", []lint.Association{web}},
		"ACK": {"apiVersion: eks.services.k8s.aws/v1alpha1\nkind: PodIdentityAssociation\nmetadata: {namespace: ack-system}\n" +
			"spec: {clusterName: prod, namespace: shop, serviceAccount: web}\n", []lint.Association{web}},
		"kubectl get of them": {`{"apiVersion": "v1", "items": [{"kind": "PodIdentityAssociation", "spec": {"clusterName": "prod",
			"namespace": "shop", "serviceAccount": "web"}}], "kind": "List"}`, []lint.Association{web}},
		"eksctl get podidentityassociation -o json": {`[{"AssociationARN": "arn:aws:eks:eu-central-1:111122223333:podidentityassociation/prod/a-1",
			"Namespace": "shop", "ServiceAccountName": "web", "RoleARN": "arn:aws:iam::111122223333:role/web"}]`, plain[:1]},
		"eksctl's file of a cluster": {"kind: ClusterConfig\nmetadata: {name: prod, region: eu-central-1}\niam:\n  podIdentityAssociations:\n  - {namespace: shop, serviceAccountName: web}\n", []lint.Association{web}},
		"lines":                      {"# production\nshop/web\nbank/api # since May\n", plain},
		"one line":                   {"shop/web", plain[:1]},
		"a sequence of YAML":         {"- shop/web\n- bank/api\n", plain},
		"a sequence of JSON":         {`["shop/web", "bank/api"]`, plain},
		"a sequence of mappings":     {"- {namespace: shop, serviceAccount: web}\n- {namespace: bank, serviceAccount: api}\n", plain},
		"several documents of YAML":  {"{namespace: shop, serviceAccount: web}\n---\n{namespace: bank, serviceAccount: api}\n", plain},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := lint.ReadAssociations("list", strings.NewReader(c.text))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestAFileWithoutAssociationsIsTheWrongFile(t *testing.T) {
	for _, text := range []string{"", "{}", "[]", "shop", "a/b/c", "kind: Pod\n", `{"associations": []}`, `{"values": {}}`} {
		_, err := lint.ReadAssociations("list", strings.NewReader(text))
		assert.ErrorIs(t, err, lint.ErrNoAssociations, text)
		assert.ErrorContains(t, err, "list: ")
	}
	_, err := lint.ReadAssociations("list", strings.NewReader("a: [\n"))
	assert.ErrorAs(t, err, new(*lint.DocumentError))
}

// A state of everything is larger than any object of Kubernetes.
func TestALargeTerraformState(t *testing.T) {
	state := `{"values": {"root_module": {"resources": [{"type": "x", "values": {"y": "` + strings.Repeat("z", 9<<20) + `"}},
		{"type": "aws_eks_pod_identity_association", "values": {"namespace": "shop", "service_account": "web"}}]}}}`
	got, err := lint.ReadAssociations("state", strings.NewReader(state))
	require.NoError(t, err)
	assert.Len(t, got, 1)
}

const runningPod = `kind: Pod
metadata: {name: web-0, namespace: shop, uid: x LABELS}
spec:
  serviceAccountName: web
  nodeName: n
  containers: [{name: app}, {name: proxy}]
status: {phase: Running}
`

func TestPodsThatWereNotInjected(t *testing.T) {
	web := lint.Association{Cluster: "prod", Namespace: "shop", ServiceAccount: "web"}
	for name, c := range map[string]struct {
		old, now string
		cluster  string
		want     string
		message  string
	}{
		"a pod that nothing owns":                    {"", "", "", "PT016:2", "nothing owns it, so delete it and create it again: kubectl -n shop delete pod web-0"},
		"a pod of a ReplicaSet":                      {" LABELS", ", ownerReferences: [{kind: ReplicaSet}]", "", "PT016:2", ": recreate it: kubectl -n shop delete pod web-0"},
		"on Fargate":                                 {" LABELS", ", labels: {eks.amazonaws.com/fargate-profile: p}", "", "PT016:2", "Fargate has no Pod Identity agent"},
		"with IRSA's in their place":                 {"{name: app}", "{name: app, env: [{name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /t}]}", "", "PT016:2", "it got those of IRSA"},
		"the association of this one":                {"", "", "prod", "PT016:2", ""},
		"that of another cluster":                    {"", "", "test", "", ""},
		"another namespace":                          {"namespace: shop", "namespace: bank", "", "", ""},
		"another service account":                    {"serviceAccountName: web", "serviceAccountName: api", "", "", ""},
		"injected":                                   {"{name: proxy}", "{name: proxy, env: [{name: AWS_CONTAINER_CREDENTIALS_FULL_URI, value: u}]}", "", "", ""},
		"a pod that has ended":                       {"Running", "Succeeded", "", "", ""},
		"a static pod, which has no service account": {" LABELS", ", annotations: {kubernetes.io/config.mirror: x}", "", "", ""},
		"a pod that is being deleted":                {" LABELS", ", deletionTimestamp: '2026-11-30T08:18:22Z'", "", "", ""},
		"a pod that has failed":                      {"Running", "Failed", "", "", ""},
		"a pod that the webhook shall pass by":       {" LABELS", ", labels: {eks.amazonaws.com/skip-pod-identity-webhook: ''}", "", "", ""},
		"all its containers left out":                {" LABELS", ", annotations: {eks.amazonaws.com/skip-containers: 'app, proxy'}", "", "", ""},
		"one of its containers so":                   {" LABELS", ", annotations: {eks.amazonaws.com/skip-containers: proxy}", "", "PT016:2", ""},
		"a manifest, which runs later":               {"uid: x LABELS}\nspec:\n  serviceAccountName: web\n  nodeName: n\n  containers: [{name: app}, {name: proxy}]\nstatus: {phase: Running}", "}\nspec: {serviceAccountName: web, containers: [{name: app}]}", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, runningPod, c.old)
			text := strings.Replace(strings.Replace(runningPod, c.old, c.now, 1), " LABELS", "", 1)
			found := findings(t, &lint.Linter{Associations: []lint.Association{web}, Cluster: c.cluster}, text)
			assert.Equal(t, c.want, brief(found))
			if c.want != "" {
				assert.Contains(t, found[0].String(), c.message)
			}
		})
	}
}
