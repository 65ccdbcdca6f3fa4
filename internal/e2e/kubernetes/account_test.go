//go:build linux

package kubernetes

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/podtoken/podtoken/tokenfile"
)

// An account is a service account in a namespace of its own.
type account struct {
	server    *apiServer
	namespace string
	name      string
}

func newAccount(t *testing.T) *account {
	t.Helper()
	server := requireAPIServer(t)
	namespace, err := server.admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	a := &account{server: server, namespace: namespace.Name, name: "app"}
	_, err = server.admin.CoreV1().ServiceAccounts(a.namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: a.name}}, metav1.CreateOptions{})
	require.NoError(t, err)
	return a
}

func (a *account) subject() string {
	return "system:serviceaccount:" + a.namespace + ":" + a.name
}

// request asks the API server for a token with TokenRequest.
func (a *account) request(ctx context.Context, spec authv1.TokenRequestSpec) (*authv1.TokenRequest, error) {
	return a.server.admin.CoreV1().ServiceAccounts(a.namespace).CreateToken(ctx, a.name,
		&authv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
}

// token is a token that the API server issued.
func (a *account) token(t *testing.T, spec authv1.TokenRequestSpec) string {
	t.Helper()
	answer, err := a.request(t.Context(), spec)
	require.NoError(t, err)
	return answer.Status.Token
}

// pod makes a pod of the account on the node. Without a kubelet it never runs,
// but tokens can be bound to it.
func (a *account) pod(t *testing.T) *corev1.Pod {
	t.Helper()
	a.server.makeNode(t)
	pod, err := a.server.admin.CoreV1().Pods(a.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "app-0"},
		Spec: corev1.PodSpec{
			ServiceAccountName:           a.name,
			AutomountServiceAccountToken: ptr.To(false),
			NodeName:                     nodeName,
			Containers:                   []corev1.Container{{Name: "app", Image: "app"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return pod
}

// makeNode makes the node's object, unless a kubelet or a test has before. A
// token bound to a pod names its node only if there is one.
func (s *apiServer) makeNode(t *testing.T) {
	t.Helper()
	_, err := s.admin.CoreV1().Nodes().Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		require.NoError(t, err)
	}
}

// deleteNow deletes a pod without a grace period.
func (a *account) deleteNow(t *testing.T, pod string) {
	t.Helper()
	require.NoError(t, a.server.admin.CoreV1().Pods(a.namespace).Delete(t.Context(), pod,
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
}

// review asks the API server about a token, as a relying party with the given
// audience does.
func (s *apiServer) review(ctx context.Context, token, audience string) (authv1.TokenReviewStatus, error) {
	answer, err := s.admin.AuthenticationV1().TokenReviews().Create(ctx, &authv1.TokenReview{
		Spec: authv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return authv1.TokenReviewStatus{}, err
	}
	return answer.Status, nil
}

func (s *apiServer) requireReview(t *testing.T, token, audience string) authv1.TokenReviewStatus {
	t.Helper()
	status, err := s.review(t.Context(), token, audience)
	require.NoError(t, err)
	return status
}

// requireRefusal waits until the API server no longer accepts a token: it
// remembers for ten seconds that it did. The answer is the reason.
func (s *apiServer) requireRefusal(t *testing.T, token, audience string) (reason string) {
	t.Helper()
	require.Eventually(t, func() bool {
		status, err := s.review(t.Context(), token, audience)
		reason = status.Error
		return err == nil && !status.Authenticated
	}, patience, 200*time.Millisecond)
	return reason
}

// readFrom reads a token as a user's program does, from a file.
func readFrom(t *testing.T, token string, source *tokenfile.Source) (*tokenfile.Token, error) {
	t.Helper()
	source.Path = filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(source.Path, []byte(token), 0o600))
	return source.Token(t.Context())
}
