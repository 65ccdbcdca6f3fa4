//go:build linux

package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// podtoken doctor runs in real containers and says of each what is wrong with
// its tokens, and of a good one nothing.
func TestDoctorInRealPods(t *testing.T) {
	n := requireNode(t)
	require.NoError(t, n.containerd.load(doctorImage))
	app := newAccount(t)
	app.publishRoot(t)
	t.Cleanup(func() { n.empty(t, app) })
	start := func(p *patient) *patient {
		p.node, p.account = n, app
		p.run(t)
		return p
	}

	plain := start(&patient{name: "plain", automount: true, arguments: []string{"--expect=" + openbao, "--expect-lifetime=10m"}})
	group := start(&patient{name: "group", user: ptr.To(int64(1001)), group: ptr.To(int64(2001))})
	subPath := start(&patient{name: "subpath", subPath: true})
	denied := start(&patient{name: "denied", user: ptr.To(int64(1002)), mode: ptr.To(int32(0o400)), beside: true})
	none := start(&patient{name: "none", noVolume: true})
	declared := start(&patient{name: "declared", automount: true, arguments: []string{"--cluster"}})
	watching := start(&patient{name: "watching", arguments: []string{"--watch", "--rotations=1"}})
	foreign := start(&patient{name: "foreign", user: ptr.To(int64(1003)), arguments: []string{"--watch"}})

	t.Run("a good token, and the default one that is good for a year", func(t *testing.T) {
		r := plain.requireReport(t, 0)
		assert.Equal(t, "PD012", r.rules())
		require.Len(t, r.Tokens, 2)
		own, theirs := r.token(t, "/tokens/token"), r.token(t, "/var/run/secrets/kubernetes.io/serviceaccount/token")
		assert.Equal(t, []string{openbao}, own.Audience)
		assert.EqualValues(t, 600, own.Lifetime)
		assert.EqualValues(t, 600, own.Declared)
		assert.Equal(t, 480*time.Second, own.RotationDue.Sub(own.IssuedAt))
		assert.Equal(t, "awaited", own.Rotation)
		assert.Equal(t, "0644", own.Mode)
		assert.False(t, own.Extended || own.Default || own.SubPath)
		assert.True(t, theirs.Extended && theirs.Default)
		assert.EqualValues(t, 365*24*60*60, theirs.Lifetime)
		assert.Equal(t, 3607/5*4, int(theirs.RotationDue.Sub(theirs.IssuedAt)/time.Second)/4*4)
		assert.Equal(t, app.namespace, r.Container.Namespace)
		assert.Equal(t, "plain", r.Container.Pod)
		assert.Equal(t, string(plain.pod.UID), r.Container.PodUID)
		assert.Equal(t, nodeName, r.Container.Node)
		plain.assertStarted(t, r.Container.Started)
	})
	t.Run("a user that is not root, with an fsGroup", func(t *testing.T) {
		r := group.requireReport(t, 0)
		assert.Empty(t, r.rules())
		assert.Equal(t, "0640", r.Tokens[0].Mode)
		assert.EqualValues(t, 2001, r.Tokens[0].GID)
		assert.Equal(t, 1001, r.Container.UID)
	})
	t.Run("a token by subPath", func(t *testing.T) {
		r := subPath.requireReport(t, 1)
		assert.Equal(t, "PD009", r.rules())
		require.Len(t, r.Tokens, 1)
		assert.Equal(t, "/token", r.Tokens[0].Path)
		assert.True(t, r.Tokens[0].SubPath)
		assert.Equal(t, "never", r.Tokens[0].Rotation)
	})
	t.Run("a user that may not read the file", func(t *testing.T) {
		r := denied.requireReport(t, 1)
		assert.Equal(t, "PD003", r.rules())
		for _, text := range []string{"mode 0400", "belongs to uid 0", "runs as uid 1002"} {
			assert.Contains(t, r.Findings[0].Message, text)
		}
		assert.Contains(t, r.Findings[0].Mend, "fsGroup")
		assert.False(t, r.Tokens[0].Readable)
		assert.Contains(t, denied.message(t), "PD003 /tokens/token: permission denied")
	})
	t.Run("no token at all", func(t *testing.T) {
		r := none.requireReport(t, 1)
		assert.Equal(t, "PD001", r.rules())
		assert.Equal(t, "PD001", none.message(t)[:5])
	})
	t.Run("the API server may not be asked", func(t *testing.T) {
		text := declared.requireOutput(t, 2)
		assert.Contains(t, text, "may not ask that")
		assert.Contains(t, text, "kubectl -n "+app.namespace+" get pods declared -o yaml")
	})
	t.Run("the API server is asked for what was declared", func(t *testing.T) {
		app.letReadPods(t)
		r := start(&patient{name: "asked", automount: true, arguments: []string{"--cluster"}}).requireReport(t, 0)
		assert.EqualValues(t, 600, r.token(t, "/tokens/token").Declared)
		assert.EqualValues(t, 3607, r.token(t, "/var/run/secrets/kubernetes.io/serviceaccount/token").Declared)
	})

	watching.requireLine(t, `"event":"holds"`)
	t.Run("an ephemeral container looks at the one that it was made for", func(t *testing.T) {
		r := watching.requireReportOf(t, watching.debug(t, nil, "--pid=1"), 0)
		require.Len(t, r.Tokens, 1)
		assert.Equal(t, "/tokens/token", r.Tokens[0].Path)
		assert.Equal(t, []string{openbao}, r.Tokens[0].Audience)
		assert.Equal(t, "awaited", r.Tokens[0].Rotation)
		watching.assertStarted(t, r.Container.Started)
	})
	// deploy/Dockerfile gives the image a user of its own, which no capability helps.
	t.Run("an ephemeral container needs the user of the one that it was made for, or root", func(t *testing.T) {
		foreign.requireLine(t, `"event":"holds"`)
		text := foreign.requireOutputOf(t, foreign.debug(t, general(65532), "--pid=1"), 2)
		assert.Contains(t, text, "open to its own user, uid 1003, or to root")
		assert.Contains(t, text, "kubectl debug --custom=FILE takes securityContext.runAsUser")
		for _, user := range []int64{1003, 0} {
			r := foreign.requireReportOf(t, foreign.debug(t, general(user), "--pid=1"), 0)
			require.Len(t, r.Tokens, 1)
			assert.Equal(t, "/tokens/token", r.Tokens[0].Path)
		}
	})
	t.Run("a rotation is followed", func(t *testing.T) {
		n.restartKubelet(t)
		var last struct {
			Event    string
			Token    string
			Expiry   time.Time
			Previous time.Time `json:"previousExpiry"`
			Left     int64     `json:"leftSeconds"`
		}
		lines := strings.Split(strings.TrimSpace(watching.requireOutput(t, 0)), "\n")
		require.Len(t, lines, 2, "no failure in between")
		require.NoError(t, json.Unmarshal([]byte(lines[1]), &last))
		assert.Equal(t, "rotated", last.Event)
		assert.Equal(t, "/tokens/token", last.Token)
		assert.True(t, last.Expiry.After(last.Previous))
		assert.Positive(t, last.Left)
	})
	t.Run("no token is in a message or a log", func(t *testing.T) {
		for _, p := range []*patient{plain, group, subPath, denied, none, declared, watching, foreign} {
			text := p.outputs(t)
			require.NotEmpty(t, text)
			assert.NotContains(t, text, "eyJ", p.name)
		}
	})
}

// A rotation that was crossed is seen by a container that starts after it only
// if it has been there before: so one that is restarted has no evidence again.
func TestDoctorSeesThatARotationWasCrossed(t *testing.T) {
	n := requireNode(t)
	require.NoError(t, n.containerd.load(doctorImage))
	app := newAccount(t)
	t.Cleanup(func() { n.empty(t, app) })
	p := &patient{name: "crossing", node: n, account: app, config: true, arguments: []string{"--watch"}}
	configs := app.server.admin.CoreV1().ConfigMaps(app.namespace)
	config, err := configs.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: p.name}, Data: map[string]string{"level": "info"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	p.run(t)
	p.requireLine(t, `"event":"holds"`)
	written := func() time.Time {
		info, err := os.Stat(filepath.Join(n.kubelet.volume(p.pod, "projected", "token"), "token"))
		require.NoError(t, err)
		return info.ModTime()
	}
	before := written()
	config.Data["level"] = "debug"
	_, err = configs.Update(t.Context(), config, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return written().After(before) }, patience, 100*time.Millisecond, "the kubelet writes all anew")
	assert.Equal(t, "awaited", p.requireReportOf(t, p.debug(t, nil, "--pid=1"), 0).Tokens[0].Rotation, "the token is the same")

	before = written()
	n.restartKubelet(t)
	p.requireLine(t, `"event":"rotated"`)
	require.True(t, written().After(before))
	assert.Equal(t, "seen", p.requireReportOf(t, p.debug(t, nil, "--pid=1"), 0).Tokens[0].Rotation)
}

// publishRoot does for a namespace what a controller does that is not run here:
// without it no pod with the default token starts.
func (a *account) publishRoot(t *testing.T) {
	t.Helper()
	ca, err := os.ReadFile(a.server.config.CAFile)
	require.NoError(t, err)
	_, err = a.server.admin.CoreV1().ConfigMaps(a.namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(ca)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}
