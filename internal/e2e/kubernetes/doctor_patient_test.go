//go:build linux

package kubernetes

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// The containers of a patient.
const (
	doctorContainer = "doctor"
	debugContainer  = "debug" // the start of the name of each
)

// A patient is a pod in which podtoken doctor runs once.
type patient struct {
	name        string
	user, group *int64 // as whom, and the fsGroup
	mode        *int32 // of the volume's files
	beside      bool   // another container runs as root, so that the file is not the user's
	subPath     bool   // the token is mounted by itself
	noVolume    bool
	config      bool // a ConfigMap is in the token's volume, too
	automount   bool // the API server's token is mounted
	arguments   []string

	node    *node
	account *account
	pod     *corev1.Pod
	debugs  int // ephemeral containers
}

func (p *patient) run(t *testing.T) {
	t.Helper()
	pod, err := p.account.server.admin.CoreV1().Pods(p.account.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec:       p.spec(t),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	p.pod = pod
}

func (p *patient) spec(t *testing.T) corev1.PodSpec {
	spec := corev1.PodSpec{
		NodeName:                      nodeName,
		HostNetwork:                   true,
		RestartPolicy:                 corev1.RestartPolicyNever,
		ServiceAccountName:            p.account.name,
		AutomountServiceAccountToken:  ptr.To(p.automount),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To(int64(1)),
		SecurityContext:               &corev1.PodSecurityContext{FSGroup: p.group},
		Containers:                    []corev1.Container{p.container(t)},
	}
	if p.beside {
		spec.Containers = append(spec.Containers, corev1.Container{
			Name: rootContainer, Image: pauseImage, ImagePullPolicy: corev1.PullNever,
		})
	}
	if !p.noVolume {
		token := corev1.ServiceAccountTokenProjection{Audience: openbao, ExpirationSeconds: ptr.To(int64(600)), Path: "token"}
		sources := []corev1.VolumeProjection{{ServiceAccountToken: &token}}
		if p.config {
			reference := corev1.LocalObjectReference{Name: p.name}
			sources = append(sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: reference}})
		}
		spec.Volumes = []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			DefaultMode: p.mode, Sources: sources,
		}}}}
	}
	return spec
}

func (p *patient) container(t *testing.T) corev1.Container {
	api, err := url.Parse(p.account.server.config.Host)
	require.NoError(t, err)
	c := corev1.Container{
		Name:            doctorContainer,
		Image:           doctorImage,
		ImagePullPolicy: corev1.PullNever,
		Args:            append([]string{"doctor", "--output=json", "--termination-message"}, p.arguments...),
		Env: []corev1.EnvVar{ // there is no network of services
			{Name: "KUBERNETES_SERVICE_HOST", Value: api.Hostname()}, {Name: "KUBERNETES_SERVICE_PORT", Value: api.Port()},
		},
		SecurityContext: &corev1.SecurityContext{RunAsUser: p.user, ReadOnlyRootFilesystem: ptr.To(true)},
	}
	switch {
	case p.noVolume:
	case p.subPath:
		c.VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/token", SubPath: "token"}}
	default:
		c.VolumeMounts = []corev1.VolumeMount{{Name: "token", MountPath: "/tokens", ReadOnly: true}}
	}
	return c
}

// debug adds an ephemeral container, as kubectl debug --target does, and returns
// its name.
func (p *patient) debug(t *testing.T, security *corev1.SecurityContext, arguments ...string) string {
	t.Helper()
	p.debugs++
	name := fmt.Sprintf("%s-%d", debugContainer, p.debugs)
	pods := p.account.server.admin.CoreV1().Pods(p.account.namespace)
	pod, err := pods.Get(t.Context(), p.name, metav1.GetOptions{})
	require.NoError(t, err)
	pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{
		TargetContainerName: doctorContainer,
		EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: name, Image: doctorImage, ImagePullPolicy: corev1.PullNever, SecurityContext: security,
			Args: append([]string{"doctor", "--output=json"}, arguments...),
		},
	})
	_, err = pods.UpdateEphemeralContainers(t.Context(), p.name, pod, metav1.UpdateOptions{})
	require.NoError(t, err)
	return name
}

// general is the security context of kubectl debug's profile of this name, with
// the user that --custom gives.
func general(user int64) *corev1.SecurityContext {
	return &corev1.SecurityContext{
		Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_PTRACE"}}, RunAsUser: &user,
	}
}

// status is that of a container, as the kubelet reported it last.
func (p *patient) status(t *testing.T, container string) (status corev1.ContainerStatus) {
	t.Helper()
	pod, err := p.account.server.admin.CoreV1().Pods(p.account.namespace).Get(t.Context(), p.name, metav1.GetOptions{})
	require.NoError(t, err)
	for _, s := range append(pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses...) {
		if s.Name == container {
			status = s
		}
	}
	return status
}

// assertStarted compares when the first process started with what the kubelet
// says: it was made before, with the container, and after the pod.
func (p *patient) assertStarted(t *testing.T, started time.Time) {
	t.Helper()
	state := p.status(t, doctorContainer).State
	latest := metav1.Time{}
	switch {
	case state.Terminated != nil:
		latest = state.Terminated.StartedAt
	case state.Running != nil:
		latest = state.Running.StartedAt
	}
	const precision = 2 * time.Second
	assert.False(t, started.After(latest.Add(precision)), "%v after %v", started, latest)
	assert.False(t, started.Before(p.pod.CreationTimestamp.Add(-precision)), "%v before %v", started, p.pod.CreationTimestamp)
}

// message is what kubectl describe pod shows.
func (p *patient) message(t *testing.T) string {
	t.Helper()
	return p.status(t, doctorContainer).State.Terminated.Message
}

// requireOutput waits until the container has ended, and returns what it wrote.
func (p *patient) requireOutput(t *testing.T, exit int32) string {
	t.Helper()
	return p.requireOutputOf(t, doctorContainer, exit)
}

func (p *patient) requireOutputOf(t *testing.T, container string, exit int32) string {
	t.Helper()
	var ended *corev1.ContainerStateTerminated
	require.Eventually(t, func() bool {
		ended = p.status(t, container).State.Terminated
		return ended != nil
	}, patience, 200*time.Millisecond, "pod %s, container %s", p.name, container)
	text := p.output(t, container)
	require.Equal(t, exit, ended.ExitCode, text)
	return text
}

// requireLine waits until the container has written a line with a text in it.
func (p *patient) requireLine(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.output(t, doctorContainer), text) },
		patience, 100*time.Millisecond, "pod %s", p.name)
}

// output is what the container wrote so far, out of the runtime's log, whose
// lines have a time, a stream, and P for a part of a line or F for its end.
func (p *patient) output(t *testing.T, container string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.node.kubelet.dir, "logs", "*_"+string(p.pod.UID), container, "*.log"))
	require.NoError(t, err)
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			fields := strings.SplitN(line, " ", 4)
			require.Len(t, fields, 4)
			if fields[2] == "P" {
				fields[3] = strings.TrimSuffix(fields[3], "\n")
			}
			b.WriteString(fields[3])
		}
	}
	return b.String()
}

// outputs is all that left the pod.
func (p *patient) outputs(t *testing.T) string {
	t.Helper()
	text := p.output(t, doctorContainer) + p.output(t, debugContainer+"-*")
	if ended := p.status(t, doctorContainer).State.Terminated; ended != nil {
		text += ended.Message
	}
	return text
}

// requireReport waits for the doctor's report.
func (p *patient) requireReport(t *testing.T, exit int32) *doctorReport {
	t.Helper()
	return p.requireReportOf(t, doctorContainer, exit)
}

func (p *patient) requireReportOf(t *testing.T, container string, exit int32) *doctorReport {
	t.Helper()
	text := p.requireOutputOf(t, container, exit)
	r := new(doctorReport)
	require.NoError(t, json.Unmarshal([]byte(text), r), text)
	require.Empty(t, r.Errors)
	return r
}

// doctorReport is the JSON that users get: what is renamed in it fails here.
type doctorReport struct {
	Container struct {
		Namespace, Pod, PodUID, Node string
		Started                      time.Time
		UID                          int
	}
	Tokens   []doctorToken
	Findings []struct{ Rule, Level, Token, Message, Mend string }
	Errors   []string
}

type doctorToken struct {
	Path, Mode, Rotation                         string
	Audience                                     []string
	Default, Extended, Legacy, Readable, SubPath bool
	GID                                          uint32
	Lifetime                                     int64     `json:"lifetimeSeconds"`
	Declared                                     int64     `json:"declaredSeconds"`
	IssuedAt                                     time.Time `json:"issuedAt"`
	RotationDue                                  time.Time `json:"rotationDue"`
}

func (r *doctorReport) rules() string {
	var ids []string
	for _, f := range r.Findings {
		ids = append(ids, f.Rule)
	}
	return strings.Join(ids, " ")
}

func (r *doctorReport) token(t *testing.T, path string) doctorToken {
	t.Helper()
	for _, token := range r.Tokens {
		if token.Path == path {
			return token
		}
	}
	require.Fail(t, fmt.Sprintf("no token %s in the report", path))
	return doctorToken{}
}

// letReadPods binds a role to the account that lets it read its own pod.
func (a *account) letReadPods(t *testing.T) {
	t.Helper()
	rbac := a.server.admin.RbacV1()
	_, err := rbac.Roles(a.namespace).Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "doctor"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = rbac.RoleBindings(a.namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "doctor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "doctor"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: a.name}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}
