package awspodid_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func sprint(v any) string { return fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v) }

// The texts are for whoever is paged. Each is what the agent really answers.
func TestEachAnswerOfTheAgentIsExplained(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*bed)
		status   int
		says     []string
		requests int
		section  string // of the runbook
	}{
		"no association": {func(b *bed) { b.agent.Dissociate("shop", "web") }, 404,
			[]string{"ResourceNotFoundException", `no association for "system:serviceaccount:shop:web"`}, 1, "agent-no-association"},
		"role refused":       {func(b *bed) { b.agent.SetUpstream(awspodidtest.RoleDenied) }, 403, []string{"AccessDeniedException", "sts:TagSession"}, 1, "agent-access-denied"},
		"node refused":       {func(b *bed) { b.agent.SetUpstream(awspodidtest.NodeDenied) }, 403, []string{"eks-auth:AssumeRoleForPodIdentity"}, 1, "agent-access-denied"},
		"expired there":      {func(b *bed) { b.agent.SetUpstream(awspodidtest.TokenExpiredThere) }, 400, []string{"ExpiredTokenException", "exp "}, 1, "agent-token-refused"},
		"throttled":          {func(b *bed) { b.agent.SetUpstream(awspodidtest.Throttled) }, 429, []string{"rate limit"}, 3, "agent-rate-limited"},
		"throttled as 400":   {func(b *bed) { b.agent.SetUpstream(awspodidtest.ThrottledAs400) }, 400, []string{"ThrottlingException"}, 3, "agent-rate-limited"},
		"internal error":     {func(b *bed) { b.agent.SetUpstream(awspodidtest.InternalError) }, 500, []string{"could not get credentials from EKS"}, 3, "agent-failed"},
		"slow upstream":      {func(b *bed) { b.agent.SetUpstream(awspodidtest.Slow) }, 500, []string{`"[]"`}, 3, "agent-failed"},
		"connection refused": {func(b *bed) { b.agent.SetDown(true) }, 0, []string{"eks-pod-identity-agent", "Fargate"}, 0, "agent-unreachable"},
		"another host": {func(b *bed) {
			b.pod = b.pod.With("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/v1/credentials")
		}, 403, []string{"another address"}, 1, "aws-agent-address"},
		"another path": {func(b *bed) { b.pod = b.pod.With("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v2") }, 404, []string{"page not found"}, 1, "aws-agent-address"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := podIdentity(t)
				c.change(b)
				_, err := b.provider().Retrieve(t.Context())
				var refused *awspodid.AgentError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, c.status, refused.StatusCode)
				assert.Equal(t, c.section, sectionOf(t, err))
				for _, says := range c.says {
					assert.ErrorContains(t, err, says)
				}
				if c.requests > 0 {
					assert.Equal(t, c.requests, b.agent.Counts().Total())
					if c.status != 0 {
						assert.ErrorAs(t, err, new(smithy.APIError))
					}
				}
				t.Log(err)
			})
		})
	}
}

func TestEachAnswerOfSTSIsExplained(t *testing.T) {
	host := strings.TrimPrefix(tokenfiletest.DefaultIssuer, "https://")
	for name, c := range map[string]struct {
		change   func(*bed)
		code     string
		says     []string
		requests int
		section  string // of the runbook
	}{
		"trust policy": {func(b *bed) {
			b.sts.SetRole(role, awspodidtest.TrustPolicy{Sub: []string{"system:serviceaccount:shop:api"}})
		},
			"AccessDenied", []string{host + `:sub" = "` + account, host + `:aud" = "sts.amazonaws.com`}, 1, "sts-access-denied"},
		"no such role":      {func(b *bed) { b.sts.DeleteRole(role) }, "AccessDenied", nil, 1, "sts-access-denied"},
		"no provider":       {func(b *bed) { b.sts.DeleteProvider(tokenfiletest.DefaultIssuer) }, "InvalidIdentityToken", []string{"OpenID Connect provider for"}, 1, "sts-no-provider"},
		"provider's client": {func(b *bed) { b.sts.SetProvider(tokenfiletest.DefaultIssuer, "other") }, "InvalidIdentityToken", []string{"audiences of the IAM OpenID Connect provider"}, 1, "sts-audience"},
		"not reachable":     {func(b *bed) { b.sts.SetDown(true) }, "", []string{"VPC endpoint"}, 0, "sts-unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := webIdentity(t)
				c.change(b)
				_, err := b.provider().Retrieve(t.Context())
				var refused *awspodid.STSError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, c.code, refused.Code)
				assert.Equal(t, c.section, sectionOf(t, err))
				for _, says := range c.says {
					assert.ErrorContains(t, err, says)
				}
				if c.requests > 0 {
					assert.Equal(t, c.requests, b.sts.Counts().Total())
					assert.ErrorAs(t, err, new(smithy.APIError))
				}
				t.Log(err)
			})
		})
	}
}

// https://github.com/aws/aws-cli/issues/7194
func TestTransientInvalidIdentityTokenIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := webIdentity(t)
		n := 0
		b.sts.SetFault(func(*http.Request) *awspodidtest.Fault {
			if n++; n < 3 {
				return awspodidtest.STSNoVerificationKey()
			}
			return nil
		})
		_, err := b.provider().Retrieve(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, n)
	})
}

// What the SDK's client would take for credentials, follow, or die of.
func TestAnswerThatIsNotOneOfCredentials(t *testing.T) {
	for name, fault := range map[string]*awspodidtest.Fault{
		"null":                    awspodidtest.Body("null"),
		"an empty object":         awspodidtest.Body("{}"),
		"nothing":                 awspodidtest.Body(""),
		"a list":                  awspodidtest.Body("[]"),
		"a page":                  awspodidtest.Body("<html>"),
		"no secret key":           awspodidtest.Without("SecretAccessKey"),
		"no key ID":               awspodidtest.Without("AccessKeyId"),
		"no session token":        awspodidtest.Without("Token"),
		"no expiration":           awspodidtest.Without("Expiration"),
		"expired":                 awspodidtest.AlreadyExpired(time.Second),
		"an expiration of words":  awspodidtest.Edit(func(a map[string]any) { a["Expiration"] = "tomorrow" }),
		"something after it":      awspodidtest.TrailingData(`{"a":1}`),
		"64 MiB":                  awspodidtest.HugeBody(64 << 20),
		"a redirect":              awspodidtest.Redirect(307, "http://169.254.170.23/v1/other"),
		"a redirect to elsewhere": awspodidtest.Redirect(308, "http://192.0.2.1/"),
		"202":                     {Status: 202, Body: "{}"},
		"a JSON error of null":    {Status: 400, Body: "null", Header: http.Header{"Content-Type": {"application/json"}}},
		"a huge error":            {Status: 400, Body: strings.Repeat("x", 1<<20)},
		"half a body":             {Stall: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := podIdentity(t)
				b.agent.SetFault(func(*http.Request) *awspodidtest.Fault { return fault })
				_, err := b.provider().Retrieve(t.Context())
				var refused *awspodid.AgentError
				require.ErrorAs(t, err, &refused)
				assert.Less(t, len(err.Error()), 3000)
				assert.Contains(t, []string{"agent-bad-answer", "agent-token-refused", "agent-unreachable"}, sectionOf(t, err))
				assert.NotContains(t, err.Error(), "SecretAccessKey\":")
			})
		})
	}
}

func TestRealClientReachesTheAgentAndLeavesNothing(t *testing.T) {
	b := podIdentity(t)
	b.agent.Hosts = []string{"localhost", "127.0.0.1"}
	url, stop := b.agent.Start()
	defer stop()
	real := func(o *awspodid.Options) { o.HTTPClient = nil }
	b.pod = b.pod.With("AWS_CONTAINER_CREDENTIALS_FULL_URI", strings.Replace(url, "127.0.0.1", "localhost", 1)+"/v1/credentials")
	_, err := b.provider(real).Retrieve(t.Context())
	require.NoError(t, err, "a name that resolves to loopback")
	assert.Equal(t, 1, b.agent.Counts().Total())
	assert.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "persistConn).readLoop")
	}, 10*time.Second, time.Millisecond, "no goroutine stays for an idle connection")
}

// A server that quotes the token back.
func TestNoTokenInTheErrors(t *testing.T) {
	inBubble(t, func(b *bed) {
		kubelet := b.pod.PodIdentity
		if kubelet == nil {
			kubelet = b.pod.WebIdentity
		}
		raw, err := os.ReadFile(kubelet.Volume.Path())
		require.NoError(b, err)
		fault := func(*http.Request) *awspodidtest.Fault {
			return &awspodidtest.Fault{Status: 400, Body: "<ErrorResponse><Error><Code>X</Code><Message>bad " + string(raw) + " or " + string(raw[3:]) + " or " + string(raw[:len(raw)-3]) + "</Message></Error></ErrorResponse>"}
		}
		b.agent.SetFault(fault)
		b.sts.SetFault(fault)
		_, err = b.provider().Retrieve(b.Context())
		require.Error(b, err)
		text := err.Error() + b.log.String()
		for e := err; e != nil; e = errors.Unwrap(e) {
			text += e.Error()
		}
		for _, part := range strings.Split(string(raw), ".") {
			assert.NotContains(b, text, part[:8])
			assert.NotContains(b, text, part[len(part)-8:])
		}
	})
}
