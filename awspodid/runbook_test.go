package awspodid_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile"
)

// sectionOf returns the section of the runbook that an error's text ends with,
// and fails if it names none, or more than one.
func sectionOf(t testing.TB, err error) string {
	t.Helper()
	require.Error(t, err)
	const runbook = "https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#"
	text := err.Error()
	assert.Equal(t, 1, strings.Count(text, "runbook"), "the runbook is named once: %s", text)
	_, section, _ := strings.Cut(text, "; see "+runbook)
	assert.Regexp(t, `^[a-z]+(-[a-z]+)+$`, section, "the text ends with a section of the runbook: %s", text)
	return section
}

func TestEachFailureHasItsSectionOfTheRunbook(t *testing.T) {
	agent := func(status int, message string) error {
		return &awspodid.AgentError{StatusCode: status, Message: message}
	}
	sts := func(code, message string) error {
		return &awspodid.STSError{Code: code, StatusCode: 400, Message: message}
	}
	long := strings.Repeat("no ", 10_000)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"agent, no answer":                    {agent(0, ""), "agent-unreachable"},
		"agent, no answer, of many words":     {&awspodid.AgentError{Err: errors.New(long)}, "agent-unreachable"},
		"agent, no such name":                 {&awspodid.AgentError{Err: new(net.DNSError)}, "aws-agent-address"},
		"agent, 301":                          {agent(301, ""), "agent-bad-answer"},
		"agent, 400":                          {agent(400, "cannot be parsed"), "agent-token-refused"},
		"agent, 400 of many words":            {agent(400, long), "agent-token-refused"},
		"agent, 400 for a rate limit":         {agent(400, "[] (ThrottlingException): Rate exceeded"), "agent-rate-limited"},
		"agent, 403":                          {agent(403, "(AccessDeniedException)"), "agent-access-denied"},
		"agent, 403 for its address":          {agent(403, "Called agent through invalid address"), "aws-agent-address"},
		"agent, 404":                          {agent(404, "(ResourceNotFoundException)"), "agent-no-association"},
		"agent, 404 of a path":                {agent(404, "404 page not found"), "aws-agent-address"},
		"agent, 418":                          {agent(418, ""), "agent-bad-answer"},
		"agent, 429":                          {agent(429, ""), "agent-rate-limited"},
		"agent, 500":                          {agent(500, ""), "agent-failed"},
		"agent, 503":                          {agent(503, ""), "agent-failed"},
		"STS, no answer":                      {new(awspodid.STSError), "sts-unreachable"},
		"STS, a page of a proxy":              {&awspodid.STSError{StatusCode: 502}, "sts-bad-answer"},
		"STS, expired":                        {sts("ExpiredTokenException", ""), "sts-token-expired"},
		"STS, audience":                       {sts("InvalidIdentityToken", "Incorrect token audience"), "sts-audience"},
		"STS, keys":                           {sts("InvalidIdentityToken", "Couldn't retrieve verification key"), "sts-keys-unreachable"},
		"STS, keys of the issuer":             {sts("IDPCommunicationError", ""), "sts-keys-unreachable"},
		"STS, no provider":                    {sts("InvalidIdentityToken", "No OpenIDConnect provider found"), "sts-no-provider"},
		"STS, denied":                         {sts("AccessDenied", long), "sts-access-denied"},
		"STS, denied, by another name":        {sts("AccessDeniedException", ""), "sts-access-denied"},
		"STS, rate limit":                     {sts("Throttling", ""), "sts-rate-limited"},
		"STS, rate limit, by another name":    {sts("RequestLimitExceeded", ""), "sts-rate-limited"},
		"STS, another code":                   {sts("ValidationError", ""), "sts-refused"},
		"STS, a code of many words":           {sts(long, long), "sts-refused"},
		"injection, nothing known":            {new(awspodid.InjectionError), "aws-misconfigured"},
		"injection, of many words":            {&awspodid.InjectionError{Err: errors.New(long)}, "aws-misconfigured"},
		"injection, the agent's address":      {&awspodid.InjectionError{Variable: "AWS_CONTAINER_CREDENTIALS_FULL_URI", Err: errors.New(long)}, "aws-agent-address"},
		"nothing injected, and nothing known": {new(awspodid.NotInjectedError), "aws-not-injected"},
	} {
		assert.Equal(t, c.want, sectionOf(t, c.err), name)
	}
}

// What the token file's error names is not named again, however that error is
// wrapped and however much of its text is shown.
func TestATokenFilesSectionIsNamedOnce(t *testing.T) {
	file := &tokenfile.Error{Path: "/token", Err: fs.ErrPermission}
	for name, cause := range map[string]error{
		"as it is":            file,
		"in another's text":   fmt.Errorf("reading: %w (in a hurry)", file),
		"too long to be seen": fmt.Errorf("%s: %w", strings.Repeat("x", 10_000), file),
		"not one line":        fmt.Errorf("%s\n: %w", strings.Repeat("x", 10_000), file),
	} {
		for _, err := range []error{
			&awspodid.InjectionError{Variable: "AWS_WEB_IDENTITY_TOKEN_FILE", Err: cause},
			&awspodid.AgentError{Err: cause},
			&awspodid.STSError{Err: cause},
		} {
			assert.Equal(t, "token-file-permission", sectionOf(t, err), "%s: %T", name, err)
			assert.Less(t, len(err.Error()), 3000, "%s: %T", name, err)
		}
	}
}

// A wrapper script that starts the program with an empty environment.
func TestVariablesThatAreGoneHaveTheirSection(t *testing.T) {
	secrets := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(secrets, "eks.amazonaws.com", "serviceaccount"), 0o700))
	_, err := awspodid.New(func(o *awspodid.Options) {
		o.Lookup = awspodidtest.NewPod().Lookup
		o.ServiceAccountDir = filepath.Join(secrets, "kubernetes.io", "serviceaccount")
	})
	require.ErrorIs(t, err, awspodid.ErrNotInjected)
	assert.Equal(t, "aws-variables-gone", sectionOf(t, err))
}

func TestAnEndpointInClearTextHasItsSection(t *testing.T) {
	b := webIdentity(t)
	b.pod = b.pod.With("AWS_ENDPOINT_URL_STS", "http://192.0.2.1")
	t.Setenv("AWS_ENDPOINT_URL_STS", "http://192.0.2.1")
	_, err := b.provider(func(o *awspodid.Options) { o.STSClient = nil }).Retrieve(t.Context())
	assert.Equal(t, "sts-not-https", sectionOf(t, err))
}

type clientFunc func(*http.Request) (*http.Response, error)

func (f clientFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

// What a caller gets who does not wait to the end, or waits in vain.
func TestAnEndedWaitHasItsSection(t *testing.T) {
	hang := make(chan struct{})
	for name, c := range map[string]struct {
		client clientFunc
		want   string
	}{
		"a client that does not heed its context": {func(*http.Request) (*http.Response, error) { <-hang; return nil, nil }, "aws-wait-ended"},
		"a client that panics":                    {func(*http.Request) (*http.Response, error) { panic("no card in the reader") }, "aws-http-client"},
		"a client that returns nothing":           {func(*http.Request) (*http.Response, error) { return nil, nil }, "aws-http-client"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang = make(chan struct{})
				defer func() { close(hang); synctest.Wait() }()
				b := podIdentity(t)
				provider := b.provider(func(o *awspodid.Options) { o.HTTPClient = c.client })
				_, err := provider.Retrieve(t.Context())
				assert.Equal(t, c.want, sectionOf(t, err))
			})
		})
	}
	t.Run("a caller without patience", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := podIdentity(t)
			b.agent.SetFault(func(*http.Request) *awspodidtest.Fault { return &awspodidtest.Fault{Hang: true} })
			provider := b.provider()
			impatient, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := provider.Retrieve(impatient)
			assert.Equal(t, "aws-wait-ended", sectionOf(t, err))

			patient, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			_, err = provider.Retrieve(patient)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, "agent-unreachable", sectionOf(t, err), "the last attempt's")
			time.Sleep(time.Minute)
		})
	})
}
