//go:build linux

package kubernetes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// The policy and the binding have this name.
const policyName = "require-aws-identity.podtoken.dev"

// runbook is where whoever reads a refusal can read on.
const runbook = "https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#aws-not-injected"

// admit asks for a pod, which is not kept. The answer is the API server's.
func (a *account) admit(ctx context.Context, pod *corev1.Pod) error {
	_, err := a.server.admin.CoreV1().Pods(a.namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// enforce applies the policy, until the test ends, and waits until it is in
// force. It is out of force before the next test's is looked for.
func (a *account) enforce(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		assert.Eventually(t, func() bool { return a.admit(context.Background(), askingFor("pod-identity")) == nil },
			patience, 100*time.Millisecond, "the policy is gone")
	})
	readManifest(t, "admission-policy.yaml").apply(t, a.server, "")
	require.Eventually(t, func() bool {
		return apierrors.IsForbidden(a.admit(t.Context(), askingFor("pod-identity")))
	}, patience, 100*time.Millisecond, "the policy is in force")
}

func TestPodsWithoutTheIdentityThatTheyAskForAreRefused(t *testing.T) {
	app := newAccount(t)
	app.enforce(t)
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		says []string
	}{
		"nothing was injected": {
			askingFor("pod-identity"),
			[]string{
				"EKS Pod Identity was not injected into app, ", "service account NAMESPACE/app",
				"a ReplicaSet or a Job, creates it again by itself", "a pod that nothing owns must be created again",
				"aws eks list-pod-identity-associations --cluster-name CLUSTER --namespace NAMESPACE --service-account app must list",
				"a container that needs no AWS identity belongs into the annotation eks.amazonaws.com/skip-containers", runbook,
			},
		},
		"nothing was injected, of IRSA": {
			askingFor("irsa"),
			[]string{
				"IRSA was not injected into app, ", "creates it again by itself",
				"kubectl -n NAMESPACE get serviceaccount app -o yaml must show the annotation eks.amazonaws.com/role-arn", runbook,
			},
		},
		"it has a name of its own": {
			named(askingFor("pod-identity"), "app-0"),
			[]string{`pods "app-0" is forbidden`, "not injected into app, "},
		},
		"one of two containers was left out": {
			podIdentity.inject(with(askingFor("pod-identity"), "proxy"), "app"),
			[]string{"not injected into proxy, "},
		},
		"an init container was left out": {
			podIdentity.inject(withInit(askingFor("pod-identity"), "migrate", nil), "app"),
			[]string{"not injected into migrate, "},
		},
		"a native sidecar was left out": {
			podIdentity.inject(withInit(askingFor("pod-identity"), "proxy", ptr.To(corev1.ContainerRestartPolicyAlways)), "app"),
			[]string{"not injected into proxy, "},
		},
		"two containers and an init container": {
			with(withInit(askingFor("irsa"), "migrate", nil), "proxy"),
			[]string{"not injected into migrate, app, proxy, "},
		},
		"only the agent's address": {
			changed(podIdentity.inject(askingFor("pod-identity")), func(_ *corev1.Pod, c *corev1.Container) { c.Env = c.Env[:2] }),
			[]string{"not injected into app, "},
		},
		"only the role of IRSA": {
			changed(irsa.inject(askingFor("irsa")), func(_ *corev1.Pod, c *corev1.Container) { c.Env = c.Env[:2] }),
			[]string{"not injected into app, "},
		},
		"a variable without a value": {
			changed(irsa.inject(askingFor("irsa")), func(_ *corev1.Pod, c *corev1.Container) { c.Env[1].Value = "" }),
			[]string{"not injected into app, "},
		},
		"the variables without the mount": {
			changed(podIdentity.inject(askingFor("pod-identity")), func(_ *corev1.Pod, c *corev1.Container) { c.VolumeMounts = nil }),
			[]string{"not injected into app, "},
		},
		"the mount without the variables": {
			changed(podIdentity.inject(askingFor("pod-identity")), func(_ *corev1.Pod, c *corev1.Container) { c.Env = nil }),
			[]string{"not injected into app, "},
		},
		"a token for somebody else": {
			changed(podIdentity.inject(askingFor("pod-identity")), func(pod *corev1.Pod, _ *corev1.Container) {
				pod.Spec.Volumes[0].Projected.Sources[0].ServiceAccountToken.Audience = irsa.audience
			}),
			[]string{"not injected into app, "},
		},
		"a token for somebody else, in the volume that IRSA has": {
			changed(irsa.inject(askingFor("pod-identity")), func(_ *corev1.Pod, c *corev1.Container) {
				c.Env[1].Name, c.Env[2].Name = podIdentity.variables[0], podIdentity.variables[1]
			}),
			[]string{"EKS Pod Identity was not injected into app, "},
		},
		"a volume of the right name without a token": {
			changed(irsa.inject(askingFor("irsa")), func(pod *corev1.Pod, _ *corev1.Container) {
				pod.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
			}),
			[]string{"not injected into app, "},
		},
		"IRSA in place of Pod Identity": {
			irsa.inject(askingFor("pod-identity")),
			[]string{"EKS Pod Identity was not injected into app, "},
		},
		"Pod Identity in place of IRSA": {
			podIdentity.inject(askingFor("irsa")),
			[]string{"IRSA was not injected into app, "},
		},
		"another container is skipped": {
			annotated(with(askingFor("pod-identity"), "proxy"), skipAnnotation, "proxy"),
			[]string{"not injected into app, "},
		},
		"every container is skipped": {
			annotated(with(askingFor("pod-identity"), "proxy"), skipAnnotation, "app,proxy"),
			[]string{skipAnnotation + " names every container", "take one of the two out of the pod template"},
		},
		"an identity that there is not": {
			podIdentity.inject(askingFor("podidentity")),
			[]string{`the label podtoken.dev/require-aws-identity is "podidentity"`, "set it to pod-identity or irsa in the pod template"},
		},
		"an identity without a name": {
			askingFor(""), []string{`is ""`, "set it to pod-identity or irsa"},
		},
		"more containers than a message can name": {
			with(askingFor("pod-identity"), long(100)...),
			[]string{"the AWS identity was not injected into all containers", "creates it again by itself", runbook},
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := app.admit(t.Context(), c.pod)
			require.Error(t, err)
			for _, says := range append(c.says, "ValidatingAdmissionPolicy '"+policyName+"'") {
				assert.ErrorContains(t, err, strings.ReplaceAll(says, "NAMESPACE", app.namespace))
			}
			assert.NotContains(t, err.Error(), "\n")
			assert.NotContains(t, err.Error(), "expression")
		})
	}
}

func TestPodsWithTheIdentityThatTheyAskForAreAdmitted(t *testing.T) {
	app := newAccount(t)
	app.enforce(t)
	for name, pod := range map[string]*corev1.Pod{
		"Pod Identity":      podIdentity.inject(askingFor("pod-identity")),
		"IRSA":              irsa.inject(askingFor("irsa")),
		"a pod with a name": named(irsa.inject(askingFor("irsa")), "app-0"),
		"init containers, sidecars and containers": podIdentity.inject(with(withInit(withInit(
			askingFor("pod-identity"), "migrate", nil), "proxy", ptr.To(corev1.ContainerRestartPolicyAlways)), "other")),
		"containers that the webhook was told to skip": annotated(podIdentity.inject(with(withInit(
			askingFor("pod-identity"), "migrate", nil), "proxy"), "app"), skipAnnotation, "proxy, migrate"),
		"IRSA with the audience of the service account's annotation": changed(irsa.inject(askingFor("irsa")),
			func(pod *corev1.Pod, _ *corev1.Container) {
				pod.Spec.Volumes[0].Projected.Sources[0].ServiceAccountToken.Audience = "sts.example"
			}),
		"IRSA by hand, with a volume of another name": changed(irsa.inject(askingFor("irsa")),
			func(pod *corev1.Pod, c *corev1.Container) {
				pod.Spec.Volumes[0].Name, c.VolumeMounts[0].Name = "mine", "mine"
			}),
		"a role from a ConfigMap": changed(irsa.inject(askingFor("irsa")), func(_ *corev1.Pod, c *corev1.Container) {
			c.Env[1] = corev1.EnvVar{Name: "AWS_ROLE_ARN", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "aws"}, Key: "role"}}}
		}),
		"Windows, whose path is another": changed(podIdentity.inject(askingFor("pod-identity")),
			func(pod *corev1.Pod, c *corev1.Container) {
				pod.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "windows"}
				c.Env[2].Value = `C:\var\run\secrets\pods.eks.amazonaws.com\serviceaccount\eks-pod-identity-token`
			}),
		"a hundred containers with a hundred variables each": podIdentity.inject(changed(
			with(askingFor("pod-identity"), long(100)...), manyVariables)),
		"beside the default token, which admission mounts, and a ConfigMap": changed(podIdentity.inject(askingFor("pod-identity")),
			func(pod *corev1.Pod, _ *corev1.Container) {
				pod.Spec.AutomountServiceAccountToken = nil
				config := &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}}
				pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{
					Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ConfigMap: config}}},
				}}, corev1.Volume{Name: "scratch"})
			}),
		"it did not ask":                        changed(askingFor(""), func(pod *corev1.Pod, _ *corev1.Container) { pod.Labels = nil }),
		"it did not ask, and was half injected": changed(podIdentity.inject(askingFor("")), func(pod *corev1.Pod, c *corev1.Container) { pod.Labels, c.Env = nil, nil }),
	} {
		t.Run(name, func(t *testing.T) { assert.NoError(t, app.admit(t.Context(), pod)) })
	}
}

// What the API server cannot evaluate is not let through: failurePolicy.
func TestAPodThatIsTooLargeToBeEvaluatedIsRefused(t *testing.T) {
	app := newAccount(t)
	app.enforce(t)
	pod := with(askingFor("pod-identity"), short(400)...)
	for i := range pod.Spec.Containers {
		for n := range 400 {
			pod.Spec.Containers[i].Env = append(pod.Spec.Containers[i].Env, corev1.EnvVar{Name: fmt.Sprintf("V%d", n)})
		}
	}
	assert.ErrorContains(t, app.admit(t.Context(), podIdentity.inject(pod)), "ValidatingAdmissionPolicy '"+policyName+"'")
	pod.Labels = nil
	assert.NoError(t, app.admit(t.Context(), pod))
}

// short are names of containers.
func short(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("c%d", i))
	}
	return names
}

func named(pod *corev1.Pod, name string) *corev1.Pod {
	pod.Name, pod.GenerateName = name, ""
	return pod
}

// long are names of containers, as long as they may be.
func long(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%03d%s", i, strings.Repeat("x", 60)))
	}
	return names
}

func manyVariables(pod *corev1.Pod, _ *corev1.Container) {
	for i := range pod.Spec.Containers {
		for n := range 100 {
			pod.Spec.Containers[i].Env = append(pod.Spec.Containers[i].Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", n), Value: "x"})
		}
	}
}

// A pod that runs already is not what the policy is about: nothing could be
// injected into it any more.
func TestPodsThatRunAlreadyAreLeftAlone(t *testing.T) {
	app := newAccount(t)
	pods := app.server.admin.CoreV1().Pods(app.namespace)
	old := askingFor("")
	old.Labels = nil
	old, err := pods.Create(t.Context(), old, metav1.CreateOptions{})
	require.NoError(t, err)
	app.enforce(t)

	t.Run("the label is set later", func(t *testing.T) {
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:"pod-identity"}}}`, identityLabel)
		got, err := pods.Patch(t.Context(), old.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		require.NoError(t, err)
		assert.Equal(t, "pod-identity", got.Labels[identityLabel])
	})
	t.Run("it is debugged with an ephemeral container", func(t *testing.T) {
		pod, err := pods.Get(t.Context(), old.Name, metav1.GetOptions{})
		require.NoError(t, err)
		pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "app"},
		}}
		_, err = pods.UpdateEphemeralContainers(t.Context(), old.Name, pod, metav1.UpdateOptions{})
		assert.NoError(t, err)
	})
	t.Run("its status changes", func(t *testing.T) {
		pod, err := pods.Get(t.Context(), old.Name, metav1.GetOptions{})
		require.NoError(t, err)
		pod.Status.Phase = corev1.PodRunning
		_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		assert.NoError(t, err)
	})
	t.Run("it is deleted", func(t *testing.T) { app.deleteNow(t, old.Name) })
}

// https://github.com/aws/amazon-eks-pod-identity-webhook/issues/264: a pod
// that is admitted before the webhook knows its association is broken for
// ever. With the policy it is not admitted, and the next one is whole.
func TestAReplicaSetsPodIsBornOnceTheWebhookIsWarm(t *testing.T) {
	app := newAccount(t)
	_, err := app.server.admin.CoreV1().ServiceAccounts(app.namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	var deployment appsv1.Deployment
	readManifest(t, "init-container.yaml").into(t, "Deployment", &deployment)
	create := func() (*corev1.Pod, error) {
		return app.server.admin.CoreV1().Pods(app.namespace).Create(t.Context(), podOf(deployment.Spec.Template), metav1.CreateOptions{})
	}
	webhook := startWebhook(t, app, podIdentity)
	require.Eventually(t, func() bool { // the webhook too takes the API server a moment
		_ = app.admit(t.Context(), askingFor("pod-identity"))
		return webhook.seen.Load() > 0
	}, patience, 100*time.Millisecond)
	app.enforce(t)

	for range 3 {
		_, err := create()
		require.ErrorContains(t, err, "EKS Pod Identity was not injected into podtoken, web, ")
		assert.True(t, apierrors.IsForbidden(err), "controllers try again")
	}
	left, err := app.server.admin.CoreV1().Pods(app.namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Empty(t, left.Items, "no broken pod was born")

	webhook.warm.Store(true)
	pod, err := create()
	require.NoError(t, err)
	assert.Contains(t, pod.Spec.Containers[0].Env, corev1.EnvVar{
		Name: "AWS_CONTAINER_CREDENTIALS_FULL_URI", Value: "http://169.254.170.23/v1/credentials",
	})
}
