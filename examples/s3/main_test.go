package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
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

// The whole play: the agent is away when a refresh is due, and no listing fails.
func Example() {
	synctest.Test(new(testing.T), func(t *testing.T) {
		dir, _ := os.MkdirTemp("", "s3")
		defer os.RemoveAll(dir)
		s, err := newStage(dir)
		if err != nil {
			fmt.Println(err)
			return
		}
		var out bytes.Buffer
		r := newReport(&out)
		err = s.play(t.Context(), r, s.bubble(r))
		for line := range strings.Lines(out.String()) {
			if !strings.Contains(line, "level=") && !strings.Contains(line, "kubelet") { // these come at random times
				fmt.Print(line)
			}
			if strings.HasPrefix(line, "listings") {
				break
			}
		}
		fmt.Println("error:", err)
	})
	// Output:
	//    0.0s  listed 3 objects
	//    4.5s  the agent is away
	//    8.4s  the agent is back
	//
	// listings     125, of which 0 failed
	// error: <nil>
}

// The pod was admitted before its association was known.
func Example_notInjected() {
	dir, _ := os.MkdirTemp("", "s3")
	defer os.RemoveAll(dir)
	s, err := newStage(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	s.pod = awspodidtest.NewPod()
	r := newReport(os.Stdout)
	err = s.play(context.Background(), r, s.bubble(r))
	for part := range strings.SplitSeq(err.Error(), "; ") {
		fmt.Println(part)
	}
	// Output:
	// awspodid: no AWS identity was injected into this pod: AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE not set
	// most likely the pod was admitted before its association or annotation reached the webhook
	// injection happens only at admission, so a restart of the container cannot help: recreate the pod (kubectl -n shop delete pod web-0)
	// if that does not help, there is no association for this service account (aws eks list-pod-identity-associations --cluster-name CLUSTER --namespace shop --service-account web), the agent does not run on this kind of node, the container is named in the pod's skip-containers annotation, or a wrapper script started the program without these variables
	// see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#aws-not-injected
}

// What the summary says is what the stage saw.
func TestPlayShowsWhatItPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStage(t)
		var out bytes.Buffer
		r := newReport(&out)
		require.NoError(t, s.play(t.Context(), r, s.bubble(r)))
		found := regexp.MustCompile(`listings     125, of which 0 failed
credentials  fetched (\d+) times, failed (\d+) times
token        replaced (\d+) times
agent        left (\d+) requests without an answer
$`).FindStringSubmatch(out.String())
		require.NotNil(t, found, out.String())
		var n [4]int
		for i, text := range found[1:] {
			_, err := fmt.Sscan(text, &n[i])
			require.NoError(t, err)
		}
		assert.Equal(t, s.agent.Counts().OK, n[0])
		assert.GreaterOrEqual(t, n[0], 2, "fetched before and after")
		assert.LessOrEqual(t, n[1], 1)
		assert.Equal(t, n[1], strings.Count(out.String(), "level=WARN"))
		assert.Equal(t, s.pod.PodIdentity.Rotations(), n[2])
		assert.GreaterOrEqual(t, n[2], 2)
		assert.GreaterOrEqual(t, n[3], 1, "a refresh was due while the agent was away")
		s.noSecret(t, out.String())

		// The token of the first request had ended before the last one.
		requests := s.agent.Requests()
		assert.True(t, requests[0].Expiry.Before(requests[len(requests)-1].Time))
	})
}

// What ends the credentials ends the listings: the stage does not let in
// whoever asks.
func TestAgentThatStaysAwayIsNotHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStage(t)
		s.acts = s.acts[:1]
		var out bytes.Buffer
		r := newReport(&out)
		err := s.play(t.Context(), r, s.bubble(r))
		untilFetchesEnd()
		require.Error(t, err)
		assert.Regexp(t, `^\d+ of \d+ listings failed$`, err.Error())
		assert.Contains(t, out.String(), "the agent does not answer on this node")
	})
}

func TestStartThatCannotSucceedIsExplained(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*stage)
		want   string
		cause  any
	}{
		"nothing injected": {
			func(s *stage) { s.pod = awspodidtest.NewPod() },
			"recreate the pod (kubectl -n shop delete pod web-0)", new(*awspodid.NotInjectedError),
		},
		"half injected": {
			func(s *stage) { s.pod = s.pod.Without(awspodidtest.FullURI) },
			awspodidtest.FullURI + ": is not set although its companion is", new(*awspodid.InjectionError),
		},
		"token for somebody else": {
			func(s *stage) {
				s.pod.PodIdentity.Request.Audiences = []string{"vault"}
				_ = s.pod.PodIdentity.Rotate()
			},
			`token's audience is ["vault"], want "pods.eks.amazonaws.com"`, new(*tokenfile.AudienceError),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestStage(t)
				test.change(s)
				var out bytes.Buffer
				r := newReport(&out)
				err := s.play(t.Context(), r, s.bubble(r))
				require.ErrorAs(t, err, test.cause)
				assert.Contains(t, err.Error(), test.want)
				assert.Empty(t, out.String())
				assert.Zero(t, s.agent.Counts().Total())
			})
		})
	}
}

func TestListingThatIsRefusedIsExplained(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*stage)
		want   string
	}{
		"no association any more":     {func(s *stage) { s.agent.Dissociate("shop", "web") }, "there is no association for"},
		"no such bucket":              {func(s *stage) { s.bucket.name = "receipts" }, "NoSuchBucket"},
		"keys that AWS does not know": {func(s *stage) { s.bucket.check = func(string) string { return "InvalidAccessKeyId" } }, "InvalidAccessKeyId"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestStage(t)
				test.change(s)
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
				defer cancel()
				var out bytes.Buffer
				r := newReport(&out)
				err := run(ctx, "invoices", time.Second, r, s.bubble(r))
				require.EqualError(t, err, "3 of 3 listings failed")
				assert.Equal(t, 1, strings.Count(out.String(), "listing failed: "), "once, while it is the same: %s", out.String())
				assert.Contains(t, out.String(), test.want)
				s.noSecret(t, out.String())
			})
		})
	}
}

// The command as it is, over sockets, as far as the first listing.
func TestExitStatus(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		noAWS(t)
		t.Setenv("AWS_PROFILE", "of-a-laptop")
		code, stdout, stderr := startUntil(t, "listed 3 objects")
		assert.Zero(t, code, stderr)
		assert.Regexp(t, `listings +[12], of which 0 failed`, stdout)
	})
	t.Run("embedded, not injected", func(t *testing.T) {
		noAWS(t)
		code, stdout, stderr := startUntil(t, "never", "-not-injected")
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "s3: awspodid: no AWS identity was injected into this pod: ")
		assert.Contains(t, stderr, "(kubectl -n shop delete pod web-0)")
		assert.Empty(t, stdout)
	})

	// All that the program knows is in its environment.
	s := newTestStage(t)
	s.pod.PodIdentity.Request.Lifetime = time.Hour // nobody replaces it here
	require.NoError(t, s.pod.PodIdentity.Rotate())
	s.agent.Hosts = []string{"127.0.0.1"}
	url, stop := s.agent.Start()
	defer stop()
	service := httptest.NewServer(s.bucket)
	defer service.Close()
	inPod := func(t *testing.T) {
		noAWS(t)
		for name, value := range s.pod.With(awspodidtest.FullURI, url+"/v1/credentials").Environ() {
			t.Setenv(name, value)
		}
		t.Setenv("AWS_ENDPOINT_URL_S3", service.URL)
	}
	t.Run("in a pod, by flag", func(t *testing.T) {
		inPod(t)
		code, stdout, stderr := startUntil(t, "listed", "-bucket", "invoices")
		assert.Zero(t, code, stderr)
		assert.Contains(t, stdout, "listed 3 objects\n")
		assert.Equal(t, 1, s.agent.Counts().OK, "no other agent was asked")
	})
	t.Run("in a pod, by environment", func(t *testing.T) {
		inPod(t)
		t.Setenv("BUCKET", "receipts")
		code, stdout, stderr := startUntil(t, "listing failed")
		assert.Equal(t, 1, code)
		assert.Contains(t, stdout, "NoSuchBucket")
		assert.Equal(t, "s3: 1 of 1 listings failed\n", stderr)
	})
	t.Run("in a pod that was not injected", func(t *testing.T) {
		noAWS(t)
		code, stdout, stderr := startUntil(t, "never", "-bucket", "invoices")
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "s3: awspodid: no AWS identity was injected into this pod: ")
		assert.Empty(t, stdout)
	})
}

func TestWrongFlags(t *testing.T) {
	noAWS(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag":              {[]string{"-role", "web"}, "flag provided but not defined: -role"},
		"argument":                  {[]string{"invoices"}, `unexpected argument "invoices"`},
		"no pause between listings": {[]string{"-bucket", "invoices", "-every", "0s"}, "-every 0s: want more than nothing"},
		"a play in a pod":           {[]string{"-bucket", "invoices", "-not-injected"}, "-not-injected is a play"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := startUntil(t, "never", test.args...)
			assert.Equal(t, 2, code)
			assert.Contains(t, stderr, test.want)
			assert.Equal(t, 2, strings.Count(stderr, "\n"), "the message and a hint")
			assert.Empty(t, stdout)
		})
	}
}

func TestHelpNamesTheFlags(t *testing.T) {
	noAWS(t)
	code, _, stderr := startUntil(t, "never", "-help")
	assert.Zero(t, code)
	for _, name := range []string{"-bucket", "-every", "-not-injected"} {
		assert.Contains(t, stderr, name)
	}
}

// A listing that nobody waits for any more is no failure.
func TestInterruptIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestStage(t)
		s.agent.SetUpstream(awspodidtest.Slow) // an answer takes six seconds
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var out bytes.Buffer
		r := newReport(&out)
		require.NoError(t, run(ctx, "invoices", time.Second, r, s.bubble(r)))
		untilFetchesEnd()
		assert.True(t, errors.Is(ctx.Err(), context.DeadlineExceeded))
		assert.Contains(t, out.String(), "listings     0, of which 0 failed")
	})
}
