package fleet

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const awsRole = "arn:aws:iam::111122223333:role/web"

// account is an STS behind the bed's party, and a pod that has IRSA injected.
type account struct {
	*bed
	pod  *awspodidtest.Pod
	http *http.Client
}

func newAccount(b *bed) *account {
	pod, err := awspodidtest.NewWebIdentityPod(b.TempDir(), b.issuer, awspodidtest.PodSpec{
		Token:   tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"},
		RoleARN: awsRole,
	})
	require.NoError(b, err)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(b.Context())
	go func() { defer close(ended); assert.NoError(b, pod.Run(ctx)) }()
	b.Cleanup(func() { cancel(); <-ended })
	server := awspodidtest.NewSTS(b.issuer)
	server.SetRole(awsRole, awspodidtest.TrustPolicy{Aud: []string{awspodidtest.STSAudience}, MaxSessionDuration: 12 * time.Hour})
	return &account{b, pod, &http.Client{Transport: &gate{bed: b, base: server.Transport()}}}
}

func (a *account) provider(life time.Duration) aws.CredentialsProvider {
	p, err := awspodid.New(func(o *awspodid.Options) {
		o.Lookup = a.pod.Lookup
		o.ServiceAccountDir = a.volume.Dir()
		o.Duration = life
		o.STSOptions = []func(*sts.Options){func(o *sts.Options) { o.HTTPClient = a.http }}
	})
	require.NoError(a, err)
	return p
}

func (a *account) cache(life time.Duration) aws.CredentialsProvider {
	client := sts.New(sts.Options{Region: "eu-central-1", HTTPClient: a.http})
	path, _ := a.pod.Lookup(awspodidtest.WebIdentityFile)
	provider := stscreds.NewWebIdentityRoleProvider(client, awsRole, stscreds.IdentityTokenFile(path),
		func(o *stscreds.WebIdentityRoleOptions) { o.Duration = life })
	return aws.NewCredentialsCache(provider, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = windowOf(life) })
}

// keeper is a program that uses AWS all the time: it asks for credentials
// again as soon as it is told to.
func keeper(life time.Duration, ours bool) realProgram {
	return func(b *bed, ctx context.Context, _ int) {
		b.once.Do(func() { b.account = newAccount(b) })
		provider := b.account.cache(life)
		if ours {
			provider = b.account.provider(life)
		}
		for ctx.Err() == nil {
			creds, err := provider.Retrieve(ctx)
			if err != nil {
				pause(ctx, afterFailure)
				continue
			}
			pause(ctx, time.Until(creds.Expires)+time.Millisecond)
		}
	}
}
