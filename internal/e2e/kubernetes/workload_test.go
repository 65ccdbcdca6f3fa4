//go:build linux

package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// A workload is a pod that runs on the node, with the reader in it.
type workload struct {
	name    string
	user    *int64 // whom the pod runs as
	group   *int64 // its fsGroup
	subPath bool   // a second reader has the token mounted by subPath
	foreign *int64 // the reader runs as this one, beside a container of root's

	node     *node
	account  *account
	party    *relyingParty
	pod      *corev1.Pod
	notified *recorder // of the token's volume
}

// The containers of a workload.
const (
	readerContainer  = "reader"
	subPathContainer = "subpath"
	rootContainer    = "root"
)

// run makes the pod.
func (w *workload) run(t *testing.T) {
	t.Helper()
	pod, err := w.account.server.admin.CoreV1().Pods(w.account.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Spec:       w.spec(),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.pod = pod
}

// spec is what a user would declare, and that the pod shares the node's
// network, so that none has to be set up.
func (w *workload) spec() corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:                      nodeName,
		HostNetwork:                   true,
		ServiceAccountName:            w.account.name,
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To(int64(1)),
		SecurityContext:               &corev1.PodSecurityContext{RunAsUser: w.user, FSGroup: w.group},
		Containers:                    w.containers(),
		Volumes:                       []corev1.Volume{w.tokenVolume(), {Name: "verdict"}},
	}
}

func (w *workload) tokenVolume() corev1.Volume {
	projection := corev1.ServiceAccountTokenProjection{
		Audience: openbao, ExpirationSeconds: ptr.To(int64(600)), Path: "token",
	}
	source := &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: &projection}},
	}
	if w.foreign != nil {
		source.DefaultMode = ptr.To(int32(0o400))
	}
	return corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: source}}
}

func (w *workload) containers() []corev1.Container {
	reader := w.reader(readerContainer, "/tokens/token", corev1.VolumeMount{Name: "token", MountPath: "/tokens"})
	containers := []corev1.Container{reader}
	if w.subPath {
		containers = append(containers, w.reader(subPathContainer, "/token",
			corev1.VolumeMount{Name: "token", MountPath: "/token", SubPath: "token"}))
	}
	if w.foreign != nil {
		containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: w.foreign}
		containers = append(containers, corev1.Container{
			Name: rootContainer, Image: pauseImage, ImagePullPolicy: corev1.PullNever,
		})
	}
	return containers
}

func (w *workload) reader(name, path string, mount corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name:            name,
		Image:           readerImage,
		ImagePullPolicy: corev1.PullNever,
		Args: []string{
			"-path=" + path, "-audience=" + openbao,
			"-login=" + w.party.url + "/" + w.caller(name, ""),
			"-verdict=/verdict/" + name + ".json",
		},
		VolumeMounts: []corev1.VolumeMount{mount, {Name: "verdict", MountPath: "/verdict"}},
	}
}

// volume is where the token's is for the kubelet, and for the test.
func (w *workload) volume() string {
	return w.node.kubelet.volume(w.pod, "projected", "token")
}

// caller is the name by which the relying party knows a container's trigger.
func (w *workload) caller(container, trigger string) string {
	return filepath.Join(w.name, container, trigger)
}

// visitor is what the relying party knows of a container's trigger.
func (w *workload) visitor(container, trigger string) visitor {
	return w.party.visitor(w.caller(container, trigger))
}

// verdict is a container's, as it stands now.
func (w *workload) verdict(container string) (v Verdict, err error) {
	text, err := os.ReadFile(filepath.Join(w.node.kubelet.volume(w.pod, "empty-dir", "verdict"), container+".json"))
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}

// requireVerdict waits for a verdict that satisfies the condition.
func (w *workload) requireVerdict(t *testing.T, container string, satisfied func(Verdict) error) Verdict {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		v, err := w.verdict(container)
		if err == nil {
			err = satisfied(v)
		}
		if err == nil {
			return v
		}
		if time.Now().After(deadline) {
			require.NoError(t, err, "pod %s, container %s, after %v; last verdict: %+v", w.name, container, patience, v)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// progressed is the condition that since before each trigger has logged in,
// and has seen another token, at least so many times.
func progressed(before Verdict, logins, rotations int) func(Verdict) error {
	return func(v Verdict) error {
		for _, name := range triggers {
			was, is := before.Triggers[name], v.Triggers[name]
			if got := is.Logins - was.Logins; got < logins {
				return fmt.Errorf("%s: %d more logins, want %d", name, got, logins)
			}
			if got := is.Rotations - was.Rotations; got < rotations {
				return fmt.Errorf("%s: %d more rotations, want %d", name, got, rotations)
			}
		}
		return nil
	}
}

// warned is the condition that each trigger's Source logged a text.
func warned(text string) func(Verdict) error {
	return func(v Verdict) error {
		for _, name := range triggers {
			if logged := strings.Join(v.Triggers[name].Warnings, "\n"); !strings.Contains(logged, text) {
				return fmt.Errorf("%s: %q not logged, but %q", name, text, logged)
			}
		}
		return nil
	}
}

// all is the condition that every one of several is satisfied.
func all(conditions ...func(Verdict) error) func(Verdict) error {
	return func(v Verdict) (err error) {
		for _, satisfied := range conditions {
			err = errors.Join(err, satisfied(v))
		}
		return err
	}
}

// triggers are the names of the reader's.
var triggers = []string{"call", "schedule", "change"}
