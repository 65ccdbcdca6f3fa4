package awspodidtest_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// shopWeb is the pod of the bed's service account.
func shopWeb() awspodidtest.PodSpec {
	return awspodidtest.PodSpec{
		Token: tokenfiletest.Request{
			Namespace: "shop", ServiceAccount: "web", Pod: "web-0", Node: "node-1",
		},
		RoleARN: role,
	}
}

const (
	podIdentityFile = "var/run/secrets/pods.eks.amazonaws.com/serviceaccount/eks-pod-identity-token"
	webIdentityFile = "var/run/secrets/eks.amazonaws.com/serviceaccount/token"
)

func regions(others map[string]string) map[string]string {
	others["AWS_REGION"], others["AWS_DEFAULT_REGION"] = "eu-central-1", "eu-central-1"
	others["AWS_STS_REGIONAL_ENDPOINTS"] = "regional"
	return others
}

func TestPodEnvironment(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	made := func(p *awspodidtest.Pod, err error) *awspodidtest.Pod {
		require.NoError(t, err)
		return p
	}
	podIdentity := made(awspodidtest.NewPodIdentityPod(dir, b.issuer, shopWeb()))
	webIdentity := made(awspodidtest.NewWebIdentityPod(dir, b.issuer, shopWeb()))
	both := made(awspodidtest.NewPodWithBoth(dir, b.issuer, shopWeb()))
	const uri = "http://169.254.170.23/v1/credentials"
	file, webFile := filepath.Join(dir, podIdentityFile), filepath.Join(dir, webIdentityFile)
	cases := []struct {
		name string
		pod  *awspodidtest.Pod
		want map[string]string
	}{
		{"none", awspodidtest.NewPod(), map[string]string{}},
		{"Pod Identity", podIdentity, regions(map[string]string{
			"AWS_CONTAINER_CREDENTIALS_FULL_URI": uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file})},
		{"IRSA", webIdentity, regions(map[string]string{"AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": webFile})},
		{"both", both, regions(map[string]string{
			"AWS_CONTAINER_CREDENTIALS_FULL_URI": uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file,
			"AWS_ROLE_ARN": role, "AWS_WEB_IDENTITY_TOKEN_FILE": webFile})},
		{"half", podIdentity.Without(awspodidtest.FullURI), regions(map[string]string{"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": file})},
		{"the other half", webIdentity.Without(awspodidtest.WebIdentityFile), regions(map[string]string{"AWS_ROLE_ARN": role})},
		{"set but empty", podIdentity.With(awspodidtest.AuthorizationFile, ""), regions(map[string]string{
			"AWS_CONTAINER_CREDENTIALS_FULL_URI": uri, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": ""})},
		{"set without the webhook", awspodidtest.NewPod().With("AWS_PROFILE", "x"), map[string]string{"AWS_PROFILE": "x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, c.pod.Environ())
			for key, value := range c.want {
				got, ok := c.pod.Lookup(key)
				assert.True(t, ok)
				assert.Equal(t, value, got)
			}
			_, ok := c.pod.Lookup("HOME")
			assert.False(t, ok)
		})
	}
	clear(podIdentity.Environ())
	assert.Len(t, podIdentity.Environ(), 5, "the pod has its own")
	assert.Equal(t, map[string]string{"A": ""}, new(awspodidtest.Pod).With("A", "").Environ())
	assert.Nil(t, podIdentity.WebIdentity)
	assert.Nil(t, webIdentity.PodIdentity)
	assert.Same(t, both.PodIdentity, both.Without(awspodidtest.FullURI).PodIdentity)

	spec := shopWeb()
	spec.Region = "us-west-2"
	other := made(awspodidtest.NewPodIdentityPod(t.TempDir(), b.issuer, spec))
	region, _ := other.Lookup(awspodidtest.Region)
	assert.Equal(t, "us-west-2", region)
}

func TestPodFails(t *testing.T) {
	b := newBed(t)
	occupied := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(occupied, nil, 0o600))
	spec := shopWeb()
	for _, admit := range []func(string, *tokenfiletest.Issuer, awspodidtest.PodSpec) (*awspodidtest.Pod, error){
		awspodidtest.NewPodIdentityPod, awspodidtest.NewWebIdentityPod, awspodidtest.NewPodWithBoth,
	} {
		_, err := admit(occupied, b.issuer, spec)
		assert.Error(t, err)
		_, err = admit(t.TempDir(), &tokenfiletest.Issuer{}, spec)
		assert.ErrorContains(t, err, "the issuer has no key")
	}
}

// Days of rotations: the tokens in the files are always good for what they are
// for, and live for 24 hours.
func TestPodOverDays(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		pod, err := awspodidtest.NewPodWithBoth(t.TempDir(), b.issuer, shopWeb())
		require.NoError(t, err)
		go pod.Run(t.Context())
		read := func(key, audience string) *tokenfile.Token {
			path, _ := pod.Lookup(key)
			source := &tokenfile.Source{Path: path, Audience: audience, MinTTL: time.Hour}
			token, err := source.Token(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 24*time.Hour, token.Expiry().Sub(token.IssuedAt()))
			assert.Equal(t, "web-0", token.Kubernetes().Pod)
			return token
		}
		for range 3 * 24 {
			time.Sleep(time.Hour)
			b.ask(read(awspodidtest.AuthorizationFile, "pods.eks.amazonaws.com").Raw()).credentials(t)
			b.assume(object{"WebIdentityToken": read(awspodidtest.WebIdentityFile, "sts.amazonaws.com").Raw()}).assumed(t)
		}
		assert.Equal(t, 3, pod.PodIdentity.Rotations())
		assert.Equal(t, 3, pod.WebIdentity.Rotations())
		assert.Equal(t, 72, b.agent.Counts().OK)
		assert.Less(t, b.agent.Counts().Upstream, 30, "the rest is cached by token")
	})
}

func TestPodWithAnotherToken(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		spec := shopWeb()
		spec.Token.Audiences = []string{tokenfiletest.DefaultIssuer}
		spec.Token.Lifetime = time.Hour
		pod, err := awspodidtest.NewPodIdentityPod(t.TempDir(), b.issuer, spec)
		require.NoError(t, err)
		token, err := os.ReadFile(pod.PodIdentity.Volume.Path())
		require.NoError(t, err)
		assert.Equal(t, invalid+"Audience not supported"+client, known(b.ask(string(token)).body))
		assert.Equal(t, time.Hour, time.Until(b.agent.Requests()[0].Expiry))
	})
}

func TestRunOfAPodWithoutTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		assert.NoError(t, awspodidtest.NewPod().Run(t.Context()))
	})
}
