//go:build linux

package kubernetes

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// identityLabel is what a pod opts in with.
const (
	identityLabel  = "podtoken.dev/require-aws-identity"
	skipAnnotation = "eks.amazonaws.com/skip-containers"
)

// An identity is what the EKS webhook injects.
type identity struct {
	label     string
	variables [2]string // the second one's value is the token's file
	volume    string
	audience  string
	dir, file string
}

var (
	podIdentity = identity{
		label:     "pod-identity",
		variables: [2]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"},
		volume:    "eks-pod-identity-token",
		audience:  "pods.eks.amazonaws.com",
		dir:       "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount",
		file:      "eks-pod-identity-token",
	}
	irsa = identity{
		label:     "irsa",
		variables: [2]string{"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE"},
		volume:    "aws-iam-token",
		audience:  "sts.amazonaws.com",
		dir:       "/var/run/secrets/eks.amazonaws.com/serviceaccount",
		file:      "token",
	}
)

// askingFor is a pod that opted in, before the webhook sees it.
func askingFor(label string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "app-", Labels: map[string]string{identityLabel: label}},
		Spec: corev1.PodSpec{
			ServiceAccountName:           "app",
			AutomountServiceAccountToken: ptr.To(false),
			Containers:                   []corev1.Container{{Name: "app", Image: "app"}},
		},
	}
}

// inject does what the webhook does to the named containers, or to all.
func (i identity) inject(pod *corev1.Pod, names ...string) *corev1.Pod {
	pod.Spec.Volumes = append(pod.Spec.Volumes, i.tokenVolume())
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for n := range containers {
			if c := &containers[n]; len(names) == 0 || slices.Contains(names, c.Name) {
				i.injectContainer(c)
			}
		}
	}
	return pod
}

func (i identity) injectContainer(c *corev1.Container) {
	c.Env = append(c.Env,
		corev1.EnvVar{Name: "AWS_REGION", Value: "eu-central-1"},
		corev1.EnvVar{Name: i.variables[0], Value: "http://169.254.170.23/v1/credentials"},
		corev1.EnvVar{Name: i.variables[1], Value: path.Join(i.dir, i.file)})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: i.volume, MountPath: i.dir, ReadOnly: true})
}

func (i identity) tokenVolume() corev1.Volume {
	token := &corev1.ServiceAccountTokenProjection{Audience: i.audience, ExpirationSeconds: ptr.To(int64(86400)), Path: i.file}
	return corev1.Volume{Name: i.volume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: token}}},
	}}
}

// with adds containers to a pod.
func with(pod *corev1.Pod, names ...string) *corev1.Pod {
	for _, name := range names {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: "app"})
	}
	return pod
}

// withInit adds an init container, which stays on as a sidecar if it restarts.
func withInit(pod *corev1.Pod, name string, policy *corev1.ContainerRestartPolicy) *corev1.Pod {
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: name, Image: "app", RestartPolicy: policy})
	return pod
}

func annotated(pod *corev1.Pod, key, value string) *corev1.Pod {
	pod.Annotations = map[string]string{key: value}
	return pod
}

// changed is a pod with something broken in its first container.
func changed(pod *corev1.Pod, change func(*corev1.Pod, *corev1.Container)) *corev1.Pod {
	change(pod, &pod.Spec.Containers[0])
	return pod
}
