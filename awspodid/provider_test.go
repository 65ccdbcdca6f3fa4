package awspodid_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// https://github.com/aws/amazon-eks-pod-identity-webhook/issues/264
// https://github.com/aws/containers-roadmap/issues/2507
func TestPodThatWasAdmittedTooEarlyIsToldSo(t *testing.T) {
	b := podIdentity(t)
	b.pod = awspodidtest.NewPod()
	dir := t.TempDir()
	token, err := b.issuer.Token(spec.Token)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dir+"/token", []byte(token), 0o600))

	_, err = awspodid.New(b.options, func(o *awspodid.Options) { o.ServiceAccountDir = dir })
	var none *awspodid.NotInjectedError
	require.ErrorAs(t, err, &none)
	require.ErrorIs(t, err, awspodid.ErrNotInjected)
	assert.Equal(t, []string{
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
	}, none.Missing)
	for _, says := range []string{
		"only at admission", "restart of the container cannot help", "kubectl -n shop delete pod web-7d4b9c6f5-x2x4z",
		"--namespace shop --service-account web", "skip-containers", "wrapper script",
	} {
		assert.ErrorContains(t, err, says)
	}
	assert.Equal(t, "aws-not-injected", sectionOf(t, err))
	assert.Equal(t, "web", none.Injection.ServiceAccount)
	t.Log(err)
}

func TestPinnedMechanismThatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		bed    *bed
		pinned awspodid.Mechanism
		says   string
	}{
		"IRSA in place of Pod Identity": {webIdentity(t), awspodid.PodIdentity, "IRSA was injected instead"},
		"Pod Identity in place of IRSA": {podIdentity(t), awspodid.WebIdentity, "EKS Pod Identity was injected instead"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := awspodid.New(c.bed.options, func(o *awspodid.Options) { o.Mechanism = c.pinned })
			require.ErrorIs(t, err, awspodid.ErrNotInjected)
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, "aws-other-mechanism", sectionOf(t, err))
		})
	}
	_, err := awspodid.New(podIdentity(t).options, func(o *awspodid.Options) { o.Mechanism = "pod-identity" })
	assert.ErrorAs(t, err, new(*awspodid.InjectionError))
	assert.Equal(t, "aws-misconfigured", sectionOf(t, err))
}

func TestMechanismIsWhatTheSDKWouldTake(t *testing.T) {
	assert.Equal(t, awspodid.PodIdentity, podIdentity(t).provider().Mechanism())
	assert.Equal(t, awspodid.WebIdentity, webIdentity(t).provider().Mechanism())
	both := newBed(t, awspodidtest.NewPodWithBoth)
	p := both.provider()
	assert.Equal(t, awspodid.WebIdentity, p.Mechanism())
	assert.Contains(t, both.log.String(), "both")
	assert.Equal(t, 1, both.log.lines())
	assert.Equal(t, []aws.CredentialSource{aws.CredentialSourceEnvVarsSTSWebIDToken, aws.CredentialSourceSTSAssumeRoleWebID}, p.ProviderSources())
	pinned := both.provider(func(o *awspodid.Options) { o.Mechanism = awspodid.PodIdentity })
	assert.Equal(t, awspodid.PodIdentity, pinned.Mechanism())
	assert.Equal(t, []aws.CredentialSource{aws.CredentialSourceHTTP}, pinned.ProviderSources())
}

// Half of an injection is never a reason to use another identity.
func TestWhatIsHalfInjectedIsRefused(t *testing.T) {
	const uri, file = "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
	with := func(name, value string) func(*bed) {
		return func(b *bed) { b.pod = b.pod.With(name, value) }
	}
	without := func(name string) func(*bed) {
		return func(b *bed) { b.pod = b.pod.Without(name) }
	}
	for name, c := range map[string]struct {
		bed      *bed
		change   func(*bed)
		variable string
		says     string
		is       error
		section  string // of the runbook
	}{
		"no token file":            {podIdentity(t), without(file), file, "its companion is", nil, "aws-half-injected"},
		"no address":               {podIdentity(t), without(uri), uri, "its companion is", nil, "aws-half-injected"},
		"an empty address":         {podIdentity(t), with(uri, ""), uri, "empty", nil, "aws-half-injected"},
		"an empty path":            {podIdentity(t), with(file, ""), file, "empty", nil, "aws-half-injected"},
		"no role":                  {webIdentity(t), without("AWS_ROLE_ARN"), "AWS_ROLE_ARN", "its companion is", nil, "aws-half-injected"},
		"an empty role":            {webIdentity(t), with("AWS_ROLE_ARN", ""), "AWS_ROLE_ARN", "empty", nil, "aws-half-injected"},
		"no region":                {webIdentity(t), func(b *bed) { b.pod = b.pod.Without("AWS_REGION", "AWS_DEFAULT_REGION") }, "AWS_REGION", "no STS", nil, "aws-region"},
		"a file that is not there": {podIdentity(t), with(file, "/nowhere/token"), file, "/nowhere/token", fs.ErrNotExist, "token-file-missing"},
		"a directory":              {podIdentity(t), with(file, t.TempDir()), file, "", fs.ErrInvalid, "token-file-not-regular"},
		"an address of elsewhere":  {podIdentity(t), with(uri, "http://192.0.2.1/v1/credentials"), uri, "169.254.170.23", nil, "aws-agent-address"},
		"an address of IMDS":       {podIdentity(t), with(uri, "http://169.254.169.254/latest"), uri, "169.254.170.23", nil, "aws-agent-address"},
		"another scheme":           {podIdentity(t), with(uri, "file:///etc/passwd"), uri, "", nil, "aws-agent-address"},
		"no URL":                   {podIdentity(t), with(uri, "http://[::1/v1"), uri, "no URL", nil, "aws-agent-address"},
		"a URL with a password":    {podIdentity(t), with(uri, "http://a:hunter2@127.0.0.1/"), uri, "credentials in it", nil, "aws-agent-address"},
		"the token of another audience": {podIdentity(t), func(b *bed) {
			b.pod.PodIdentity.Request.Audiences = []string{"https://kubernetes.default.svc"}
			require.NoError(t, b.pod.PodIdentity.Rotate())
		}, file, "pods.eks.amazonaws.com", nil, "token-audience"},
		"both, one of them half": {newBed(t, awspodidtest.NewPodWithBoth), without("AWS_ROLE_ARN"), "AWS_ROLE_ARN", "", nil, "aws-half-injected"},
	} {
		t.Run(name, func(t *testing.T) {
			c.change(c.bed)
			p, err := awspodid.New(c.bed.options, func(o *awspodid.Options) {
				o.Fallback = aws.AnonymousCredentials{}
			})
			assert.Nil(t, p)
			var wrong *awspodid.InjectionError
			require.ErrorAs(t, err, &wrong)
			assert.Equal(t, c.variable, wrong.Variable)
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, c.section, sectionOf(t, err))
			assert.NotContains(t, err.Error(), "hunter2")
			assert.False(t, errors.Is(err, awspodid.ErrNotInjected))
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
			t.Log(err)
		})
	}
}

func TestAddressesOfTheAgentAreAllowed(t *testing.T) {
	for _, uri := range []string{
		"http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/v1/credentials", "http://169.254.170.2/x",
		"http://127.0.0.1:8080/", "http://localhost/", "http://[::1]:1/", "http://[::ffff:169.254.170.23]/", "https://agent.example.com/v1",
	} {
		b := podIdentity(t)
		b.pod = b.pod.With("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri)
		b.provider()
	}
}

func TestExpiredTokenAtStartIsNoMisconfiguration(t *testing.T) {
	b := podIdentity(t)
	b.issuer.AllowShort = true
	b.pod.PodIdentity.Request.Lifetime = 1e9
	require.NoError(t, b.pod.PodIdentity.Rotate())
	token, err := b.issuer.Sign(map[string]any{"aud": "pods.eks.amazonaws.com", "sub": account, "iss": tokenfiletest.DefaultIssuer, "iat": 1e9, "exp": 1e9 + 60})
	require.NoError(t, err)
	require.NoError(t, b.pod.PodIdentity.Volume.Write(token))
	p := b.provider()
	_, err = p.Retrieve(t.Context())
	assert.ErrorAs(t, err, new(*tokenfile.ExpiredError))
	assert.ErrorAs(t, err, new(*awspodid.AgentError))
	assert.ErrorContains(t, err, "nothing was sent")
	assert.Equal(t, "token-expired-when-written", sectionOf(t, err))
	assert.Zero(t, b.agent.Counts().Total())
}

func TestFallbackIsForLaptopsAlone(t *testing.T) {
	keys := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "laptop"}, nil
	})
	fall := func(o *awspodid.Options) { o.Fallback = keys }
	laptop := func(o *awspodid.Options) { o.Lookup = awspodidtest.NewPod().Lookup }

	p, err := awspodid.New(laptop, fall)
	require.NoError(t, err)
	creds, err := p.Retrieve(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "laptop", creds.AccessKeyID)
	assert.Empty(t, p.Mechanism())

	_, err = awspodid.New(laptop)
	require.ErrorIs(t, err, awspodid.ErrNotInjected)
	assert.ErrorContains(t, err, "does not look like a pod")
	assert.Equal(t, "aws-outside-a-pod", sectionOf(t, err))

	b := podIdentity(t)
	b.pod = awspodidtest.NewPod()
	_, err = awspodid.New(b.options, fall)
	assert.ErrorIs(t, err, awspodid.ErrNotInjected, "a pod that was not injected must not have another identity")
}

func TestInspectReportsWhatIsThere(t *testing.T) {
	b := podIdentity(t)
	b.pod = b.pod.With("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE").With("AWS_SECRET_ACCESS_KEY", "hunter2").With("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hunter3")
	in := awspodid.Inspect(b.options)
	assert.Equal(t, "shop", in.Namespace)
	assert.Equal(t, "web", in.ServiceAccount)
	assert.Equal(t, "web-7d4b9c6f5-x2x4z", in.Pod)
	assert.Equal(t, "AWS_ACCESS_KEY_ID", in.Overridden)
	assert.True(t, in.InKubernetes)
	assert.False(t, in.Empty())
	require.Len(t, in.Tokens, 1)
	assert.Equal(t, []string{"pods.eks.amazonaws.com"}, in.Tokens[0].Audience)
	assert.NoError(t, in.Tokens[0].Err)
	report := in.String()
	assert.Contains(t, report, "AWS_CONTAINER_CREDENTIALS_FULL_URI: \"http://169.254.170.23/v1/credentials\"")
	assert.Contains(t, report, "AWS_ROLE_ARN: not set")
	for _, secret := range []string{"hunter2", "hunter3"} {
		assert.NotContains(t, report, secret)
	}
	assert.Zero(t, b.agent.Counts().Total())

	var none awspodid.Injection
	assert.True(t, none.Empty())
	assert.NotPanics(t, func() { _ = none.String() })
}

func TestZeroErrorsPrint(t *testing.T) {
	for _, err := range []error{new(awspodid.NotInjectedError), new(awspodid.InjectionError), new(awspodid.AgentError), new(awspodid.STSError)} {
		assert.NotEmpty(t, sectionOf(t, err))
	}
}
