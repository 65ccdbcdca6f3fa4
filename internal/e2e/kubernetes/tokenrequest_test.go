//go:build linux

package kubernetes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/podtoken/podtoken/tokenfile"
)

// openbao is the relying party of most tests.
const openbao = "openbao"

// projected asks for what a pod's projected volume declares: ten minutes, for
// OpenBao.
func projected() authv1.TokenRequestSpec {
	return authv1.TokenRequestSpec{Audiences: []string{openbao}, ExpirationSeconds: ptr.To(int64(600))}
}

// injected asks for what the API server's admission puts into every pod: the
// API server's audience, for just over an hour.
func injected() authv1.TokenRequestSpec {
	return authv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(3607))}
}

// boundTo binds the token that spec asks for to a pod.
func boundTo(pod *corev1.Pod, spec authv1.TokenRequestSpec) authv1.TokenRequestSpec {
	spec.BoundObjectRef = &authv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	return spec
}

func TestATokenForItsAudienceIsAccepted(t *testing.T) {
	app := newAccount(t)
	token := app.token(t, projected())

	got, err := readFrom(t, token, &tokenfile.Source{
		Audience:    openbao,
		Issuer:      apiAudience,
		Subject:     app.subject(),
		MinTTL:      9 * time.Minute,
		MaxLifetime: 10 * time.Minute,
	})
	require.NoError(t, err, "by tokenfile")
	assert.True(t, got.Raw() == token, "the token is the file's, to the byte")
	assert.Equal(t, apiAudience, got.Issuer())
	assert.Equal(t, app.subject(), got.Subject())
	assert.Equal(t, []string{openbao}, got.Audience())
	assert.WithinDuration(t, time.Now(), got.IssuedAt(), time.Minute)
	assert.Equal(t, got.IssuedAt(), got.NotBefore())
	assert.Equal(t, 10*time.Minute, got.Expiry().Sub(got.IssuedAt()))
	assert.Equal(t, app.namespace, got.Kubernetes().Namespace)
	assert.Equal(t, app.name, got.Kubernetes().ServiceAccount)
	assert.Empty(t, got.Kubernetes().Pod)

	status := app.server.requireReview(t, token, openbao)
	assert.True(t, status.Authenticated, "by the API server: %s", status.Error)
	assert.Equal(t, app.subject(), status.User.Username)
}

func TestATokenForAnotherAudienceIsRefused(t *testing.T) {
	app := newAccount(t)
	token := app.token(t, projected())

	_, err := readFrom(t, token, &tokenfile.Source{Audience: "vault"})
	var refused *tokenfile.AudienceError
	require.ErrorAs(t, err, &refused, "by tokenfile")
	assert.Equal(t, "vault", refused.Want)
	assert.Equal(t, []string{openbao}, refused.Got)
	assert.NotContains(t, err.Error(), "the default token")

	status := app.server.requireReview(t, token, "vault")
	assert.False(t, status.Authenticated, "by the API server")
	assert.Contains(t, status.Error, `token audiences ["openbao"] is invalid for the target audiences ["vault"]`)
}

func TestTheDefaultTokenIsRefusedAndTheVolumeToDeclareIsShown(t *testing.T) {
	app := newAccount(t)
	token := app.token(t, authv1.TokenRequestSpec{})

	_, err := readFrom(t, token, &tokenfile.Source{Audience: openbao})
	var refused *tokenfile.AudienceError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, []string{apiAudience}, refused.Got)
	assert.Contains(t, err.Error(), "this is the default token, which is meant for the API server")
	assert.Contains(t, err.Error(), `serviceAccountToken: {audience: "openbao"`)

	status := app.server.requireReview(t, token, openbao)
	assert.False(t, status.Authenticated, "the relying party would have refused it as well")
}

func TestTokenRequestRefusesLessThanTenMinutes(t *testing.T) {
	app := newAccount(t)
	spec := projected()
	spec.ExpirationSeconds = ptr.To(int64(599))
	_, err := app.request(t.Context(), spec)
	assert.True(t, apierrors.IsInvalid(err), "%v", err)
	assert.ErrorContains(t, err, "may not specify a duration less than 10 minutes")
}

func TestATokenBoundToAPodNamesThePodAndItsNode(t *testing.T) {
	app := newAccount(t)
	pod := app.pod(t)
	got, err := readFrom(t, app.token(t, boundTo(pod, projected())), &tokenfile.Source{Audience: openbao})
	require.NoError(t, err)
	k := got.Kubernetes()
	assert.Equal(t, app.namespace, k.Namespace)
	assert.Equal(t, app.name, k.ServiceAccount)
	assert.Equal(t, pod.Name, k.Pod)
	assert.Equal(t, nodeName, k.Node)
	assert.True(t, k.WarnAfter.IsZero(), "a declared token is not extended")
}

func TestAnInjectedTokenTellsWhenItShouldHaveBeenReplaced(t *testing.T) {
	app := newAccount(t)
	token := app.token(t, boundTo(app.pod(t), injected()))

	got, err := readFrom(t, token, &tokenfile.Source{Audience: apiAudience})
	require.NoError(t, err)
	assert.Equal(t, 365*24*time.Hour, got.Expiry().Sub(got.IssuedAt()), "exp claims a year")
	assert.Equal(t, 3607*time.Second, got.Kubernetes().WarnAfter.Sub(got.IssuedAt()), "warnafter the truth")

	_, err = readFrom(t, token, &tokenfile.Source{Audience: apiAudience, MaxLifetime: time.Hour})
	var inherited *tokenfile.LifetimeError
	assert.ErrorAs(t, err, &inherited, "a program can insist on a declared lifetime")
}

func TestATokenDiesWithItsPod(t *testing.T) {
	app := newAccount(t)
	pod := app.pod(t)
	token := app.token(t, boundTo(pod, projected()))
	require.True(t, app.server.requireReview(t, token, openbao).Authenticated)

	app.deleteNow(t, pod.Name)
	assert.Contains(t, app.server.requireRefusal(t, token, openbao), "service account token has been invalidated")

	_, err := readFrom(t, token, &tokenfile.Source{Audience: openbao})
	assert.NoError(t, err, "nothing in the token tells: only the relying party can refuse it")
}
