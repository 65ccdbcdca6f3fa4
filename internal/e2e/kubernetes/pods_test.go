//go:build linux

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// restarts is how often the kubelet is restarted, and so each token replaced,
// while the pods read.
const restarts = 3

// Pods whose program uses podtoken run under a real kubelet and log in all the
// time, while the kubelet replaces their tokens.
func TestProgramsInPodsSurviveTheKubeletsRotations(t *testing.T) {
	n := requireNode(t)
	app := newAccount(t)
	party := startRelyingParty(t, n.server)
	deploy := func(w workload) *workload {
		w.node, w.account, w.party = n, app, party
		w.run(t)
		return &w
	}
	plain := deploy(workload{name: "plain", subPath: true})
	user := deploy(workload{name: "user", user: ptr.To(int64(1001))})
	group := deploy(workload{name: "group", user: ptr.To(int64(1001)), group: ptr.To(int64(2001))})
	foreign := deploy(workload{name: "foreign", foreign: ptr.To(int64(1002))})
	t.Cleanup(func() { n.empty(t, app) })

	readers := []*workload{plain, user, group}
	for _, w := range readers {
		w.requireVerdict(t, readerContainer, progressed(Verdict{}, 5, 0))
	}
	// The warning must come before the first rotation, and not only when the
	// token has died.
	plain.requireVerdict(t, subPathContainer, all(progressed(Verdict{}, 5, 0), warned(subPathHint)))
	for _, w := range readers {
		w.notified = watch(t, w.volume())
	}
	for range restarts {
		n.rotate(t, readers)
	}

	for _, w := range readers {
		t.Run("every trigger logs in through every rotation, pod "+w.name, func(t *testing.T) { survived(t, w) })
		t.Run("the fake volume is like the kubelet's, pod "+w.name, func(t *testing.T) { sameVolume(t, w) })
	}
	t.Run("a subPath mount stays on the first token, and is told so", func(t *testing.T) { stayed(t, plain) })
	t.Run("a foreign file is not readable, and the error says why", func(t *testing.T) { denied(t, foreign) })
	t.Run("the modes are those that the fake volume documents", func(t *testing.T) {
		assert.Equal(t, "0644", plain.verdictNow(t).Mode)
		assert.Equal(t, "0600", user.verdictNow(t).Mode)
		assert.Equal(t, "0640", group.verdictNow(t).Mode)
	})
	t.Run("no token is in a verdict or a log", func(t *testing.T) { noSecrets(t, n, party) })
	t.Run("a deleted pod's token is refused", func(t *testing.T) { deleted(t, plain) })
}

// rotate makes the kubelet replace all tokens, and waits until every trigger
// of every reader has logged in with the new one.
func (n *node) rotate(t *testing.T, readers []*workload) {
	t.Helper()
	before := map[*workload]Verdict{}
	for _, w := range readers {
		before[w] = w.verdictNow(t)
	}
	start := time.Now()
	n.restartKubelet(t)
	for _, w := range readers {
		rotated := w.requireVerdict(t, readerContainer, progressed(before[w], 0, 1))
		w.requireVerdict(t, readerContainer, progressed(rotated, 3, 0))
	}
	t.Logf("all at new tokens %v after the kubelet was stopped", time.Since(start).Round(time.Millisecond))
}

// subPathHint is what tokenfile tells who mounted the file by itself.
const subPathHint = "mount the volume's directory, without subPath"

// survived checks a reader's whole experience: not one failure, and the same
// tokens in the same order in all triggers.
func survived(t *testing.T, w *workload) {
	v := w.verdictNow(t)
	first := w.visitor(readerContainer, triggers[0]).credentials
	assert.Len(t, first, 1+restarts)
	for _, name := range triggers {
		got := v.Triggers[name]
		assert.Empty(t, got.Failures, name)
		assert.Empty(t, got.Warnings, name)
		assert.Equal(t, restarts, got.Rotations, name)
		assert.Equal(t, first, w.visitor(readerContainer, name).credentials, name)
		t.Logf("%s: %d logins, %d rotations, %d failures", name, got.Logins, got.Rotations, len(got.Failures))
	}
}

// stayed checks the reader whose file is mounted by itself.
func stayed(t *testing.T, w *workload) {
	v := w.requireVerdict(t, subPathContainer, progressed(Verdict{}, 1, 0))
	first := w.visitor(readerContainer, triggers[0]).credentials[:1]
	for _, name := range triggers {
		assert.Zero(t, v.Triggers[name].Rotations, name)
		assert.Empty(t, v.Triggers[name].Failures, name)
		assert.Len(t, v.Triggers[name].Warnings, 1, name)
		assert.Equal(t, first, w.visitor(subPathContainer, name).credentials, name)
	}
}

// denied checks the reader that may not read its file.
func denied(t *testing.T, w *workload) {
	v := w.requireVerdict(t, readerContainer, func(v Verdict) error {
		if len(v.Triggers) < len(triggers) {
			return fmt.Errorf("%d triggers", len(v.Triggers))
		}
		return nil
	})
	assert.Equal(t, 1002, v.UID)
	for _, name := range triggers {
		got := v.Triggers[name]
		assert.Zero(t, got.Logins, name)
		require.NotEmpty(t, got.Failures, name)
		for _, text := range []string{
			"permission denied", "mode 0400", "belongs to uid 0", "runs as uid 1002", "securityContext.fsGroup",
		} {
			assert.Contains(t, got.Failures[0], text, name)
		}
	}
}

// sameVolume compares a volume that the kubelet rotated with the fake one. For
// an fsGroup the kubelet gives what is in the volume to the group, before the
// swap: the fake one has no group, so that is left out.
func sameVolume(t *testing.T, w *workload) {
	fake, err := tokenfiletest.NewVolume(t.TempDir())
	require.NoError(t, err)
	source := &tokenfile.Source{Path: filepath.Join(w.volume(), "token"), Audience: openbao}
	token, err := source.Token(t.Context())
	require.NoError(t, err)
	info, err := os.Stat(source.Path)
	require.NoError(t, err)
	fake.Mode = info.Mode()

	require.NoError(t, fake.Write("first"))
	notified := watch(t, fake.Dir())
	for i := range restarts - 1 {
		require.NoError(t, fake.Write(fmt.Sprint(i)))
	}
	require.NoError(t, fake.Write(token.Raw()))
	real, got := w.notified.next(t), notified.next(t)
	realTree, gotTree := tree(t, w.volume()), tree(t, fake.Dir())
	if w.group != nil {
		real, got = withoutModes(real), withoutModes(got)
		assert.Equal(t, "dgrwxr-xr-x", realTree["..TIMESTAMP"])
		delete(realTree, "..TIMESTAMP")
		delete(gotTree, "..TIMESTAMP")
	}
	assert.NotEmpty(t, real)
	assert.Equal(t, real, got)
	assert.Equal(t, realTree, gotTree)
}

// withoutModes leaves out the notifications of changes to modes and owners.
func withoutModes(events []string) []string {
	return slices.DeleteFunc(events, func(event string) bool { return strings.HasPrefix(event, "CHMOD ") })
}

// noSecrets looks for parts of tokens in what leaves the pods.
func noSecrets(t *testing.T, n *node, party *relyingParty) {
	secrets, files := party.secrets(), 0
	require.NotEmpty(t, secrets)
	require.NoError(t, filepath.WalkDir(n.kubelet.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the kubelet tidies up meanwhile
		}
		if ext := filepath.Ext(path); err != nil || !d.Type().IsRegular() || ext != ".log" && ext != ".json" {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		for _, secret := range secrets {
			assert.False(t, strings.Contains(string(text), secret), "a part of a token is in %s", filepath.Base(path))
		}
		return err
	}))
	assert.Positive(t, files)
}

// deleted checks what becomes of the token of a pod that is gone.
func deleted(t *testing.T, w *workload) {
	tokens := w.visitor(readerContainer, triggers[0]).tokens
	require.NotEmpty(t, tokens)
	token := tokens[len(tokens)-1]
	require.True(t, w.account.server.requireReview(t, token, openbao).Authenticated)

	w.account.deleteNow(t, w.name)
	assert.Contains(t, w.account.server.requireRefusal(t, token, openbao), "service account token has been invalidated")
	require.Eventually(t, func() bool {
		_, err := os.Stat(w.volume())
		return os.IsNotExist(err)
	}, patience, 100*time.Millisecond, "the volume goes with the pod")
}

// verdictNow is the reader's verdict as it stands.
func (w *workload) verdictNow(t *testing.T) Verdict {
	t.Helper()
	v, err := w.verdict(readerContainer)
	require.NoError(t, err)
	return v
}

// empty deletes the pods, and stops the node when no container runs any more.
// What it does not manage, or a test that failed left, dies with the tests'
// namespaces.
func (n *node) empty(t *testing.T, app *account) {
	defer n.containerd.process.Stop()
	defer n.kubelet.process.Stop()
	if t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // t's own has ended
	defer cancel()
	assert.NoError(t, n.server.admin.CoreV1().Pods(app.namespace).DeleteCollection(ctx,
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}, metav1.ListOptions{}))
	assert.Eventually(t, func() bool {
		left, err := n.containerd.ctr("tasks", "list", "--quiet")
		return err == nil && strings.TrimSpace(left) == ""
	}, patience, 200*time.Millisecond, "the kubelet stops the containers")
}
