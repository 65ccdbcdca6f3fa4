package awspodidtest_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

// fromAgent is the SDK's own client of the agent.
func (b *bed) fromAgent(token string, maxAttempts int) (aws.Credentials, error) {
	provider := endpointcreds.New(awspodidtest.AgentURL, func(o *endpointcreds.Options) {
		o.HTTPClient = &http.Client{Transport: b.agent.Transport()}
		o.AuthorizationToken = token
		o.Retryer = aws.NopRetryer{}
		if maxAttempts != 1 {
			o.Retryer = nil // the SDK's default
		}
	})
	return provider.Retrieve(b.t.Context())
}

func TestSDKReadsTheAgent(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token := b.jwt(nil)
		got, err := b.fromAgent(token, 1)
		require.NoError(t, err)
		want := b.ask(token).credentials(t)
		assert.Equal(t, want.KeyID, got.AccessKeyID)
		assert.Equal(t, want.Secret, got.SecretAccessKey)
		assert.Equal(t, want.Token, got.SessionToken)
		assert.Equal(t, "111122223333", got.AccountID)
		assert.Equal(t, 6*time.Hour, time.Until(got.Expires))

		_, err = b.fromAgent(b.jwt(object{"exp": 1}), 1)
		var refusal smithy.APIError
		require.ErrorAs(t, err, &refusal)
		assert.Empty(t, refusal.ErrorCode(), "it is plain text")
		assert.Equal(t, failed+"token is expired\n", refusal.ErrorMessage())
		assert.Equal(t, smithy.FaultClient, refusal.ErrorFault())
	})
}

func TestSDKRetriesTheAgent(t *testing.T) {
	for _, c := range []struct {
		state    awspodidtest.Upstream
		attempts int
	}{
		{awspodidtest.Throttled, 3}, {awspodidtest.ThrottledAs400, 1}, {awspodidtest.InternalError, 3}, {awspodidtest.RoleDenied, 1},
	} {
		inBubble(t, func(t *testing.T, b *bed) {
			b.agent.SetUpstream(c.state)
			_, err := b.fromAgent(b.jwt(nil), 0)
			assert.Error(t, err)
			assert.Equal(t, c.attempts, b.agent.Counts().Total(), c.state)
		})
	}
}

func (b *bed) client() *sts.Client {
	return sts.New(sts.Options{
		Region:     "eu-central-1",
		HTTPClient: &http.Client{Transport: b.sts.Transport()},
	})
}

func (b *bed) input(change func(*sts.AssumeRoleWithWebIdentityInput)) *sts.AssumeRoleWithWebIdentityInput {
	input := &sts.AssumeRoleWithWebIdentityInput{
		RoleArn:          aws.String(role),
		RoleSessionName:  aws.String("shop-web"),
		WebIdentityToken: aws.String(b.webIdentity(nil)),
		DurationSeconds:  aws.Int32(1800),
	}
	change(input)
	return input
}

func TestSDKReadsSTS(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		output, err := b.client().AssumeRoleWithWebIdentity(t.Context(), b.input(func(*sts.AssumeRoleWithWebIdentityInput) {}))
		require.NoError(t, err)
		c := output.Credentials
		assert.Equal(t, 30*time.Minute, time.Until(*c.Expiration))
		expiry, _, ok := b.sts.Valid(*c.AccessKeyId)
		assert.True(t, ok)
		assert.True(t, c.Expiration.Equal(expiry))
		assert.Len(t, *c.SecretAccessKey, 40)
		assert.Len(t, *c.SessionToken, 700)
		assert.Equal(t, "system:serviceaccount:shop:web", *output.SubjectFromWebIdentityToken)
		assert.Equal(t, "sts.amazonaws.com", *output.Audience)
		assert.Equal(t, "arn:aws:sts::111122223333:assumed-role/web/shop-web", *output.AssumedRoleUser.Arn)
		assert.Contains(t, *output.AssumedRoleUser.AssumedRoleId, ":shop-web")
		assert.Contains(t, *output.Provider, ":oidc-provider/")
		assert.Equal(t, "POST", b.sts.Requests()[0].Method)
		assert.Equal(t, "sts.eu-central-1.amazonaws.com", b.sts.Requests()[0].Host)
		assert.Equal(t, "1800", b.sts.Requests()[0].DurationSeconds)
	})
}

func TestSDKKnowsTheErrorsOfSTS(t *testing.T) {
	cases := []struct {
		name     string
		fault    *awspodidtest.Fault
		change   func(b *bed, input *sts.AssumeRoleWithWebIdentityInput)
		is       func(error) bool
		code     string
		attempts int
	}{
		{"expired", nil, func(b *bed, input *sts.AssumeRoleWithWebIdentityInput) {
			input.WebIdentityToken = aws.String(b.webIdentity(object{"exp": ahead(-time.Minute)}))
		}, is[*types.ExpiredTokenException], "ExpiredTokenException", 1},
		{"wrong audience", nil, func(b *bed, input *sts.AssumeRoleWithWebIdentityInput) {
			input.WebIdentityToken = aws.String(b.jwt(nil))
		}, is[*types.InvalidIdentityTokenException], "InvalidIdentityToken", 1},
		{"no trust", nil, func(b *bed, input *sts.AssumeRoleWithWebIdentityInput) {
			input.RoleArn = aws.String("arn:aws:iam::111122223333:role/nobody")
		}, is[smithy.APIError], "AccessDenied", 1},
		{"bad name", nil, func(b *bed, input *sts.AssumeRoleWithWebIdentityInput) {
			input.RoleSessionName = aws.String("a/b")
		}, is[smithy.APIError], "ValidationError", 1},
		{"no verification key", awspodidtest.STSNoVerificationKey(), nil, is[*types.InvalidIdentityTokenException], "InvalidIdentityToken", 1},
		{"issuer unreachable", awspodidtest.STSIDPCommunicationError(), nil, is[*types.IDPCommunicationErrorException], "IDPCommunicationError", 3},
		{"throttled", awspodidtest.STSThrottled(), nil, is[smithy.APIError], "Throttling", 3},
		{"failed", awspodidtest.STSInternalFailure(), nil, is[smithy.APIError], "InternalFailure", 3},
		{"unavailable", awspodidtest.STSUnavailable(), nil, is[smithy.APIError], "ServiceUnavailable", 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				b.sts.SetFault(always(c.fault))
				_, err := b.client().AssumeRoleWithWebIdentity(t.Context(), b.input(func(input *sts.AssumeRoleWithWebIdentityInput) {
					if c.change != nil {
						c.change(b, input)
					}
				}))
				assert.True(t, c.is(err), "%T", err)
				var refusal smithy.APIError
				require.ErrorAs(t, err, &refusal)
				assert.Equal(t, c.code, refusal.ErrorCode())
				assert.NotEmpty(t, refusal.ErrorMessage())
				assert.Equal(t, c.attempts, b.sts.Counts().Total())
			})
		})
	}
}

func is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

// tokenOf is a token without a file.
type tokenOf func() string

func (f tokenOf) GetIdentityToken() ([]byte, error) { return []byte(f()), nil }

// The SDK's cache and its provider of web identities live through weeks here,
// with a fresh token at each retrieval.
func TestSDKOverWeeks(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		provider := aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(b.client(), role,
			tokenOf(func() string { return b.webIdentity(object{"exp": ahead(time.Minute)}) }),
			func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = "shop-web" }))
		for range 14 * 24 {
			c, err := provider.Retrieve(context.Background())
			require.NoError(t, err)
			_, _, ok := b.sts.Valid(c.AccessKeyID)
			assert.True(t, ok)
			time.Sleep(time.Hour)
		}
		assert.Equal(t, awspodidtest.Counts{OK: 14 * 24}, b.sts.Counts())
	})
}
