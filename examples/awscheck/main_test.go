package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A bed is an init container, and the agent of its node.
type bed struct {
	pod     *awspodidtest.Pod
	agent   *awspodidtest.Agent
	dir     string
	message string // the file that the kubelet made
}

func newBed(t *testing.T) *bed { return newBedWith(t, awspodidtest.NewPodIdentityPod) }

type constructor func(string, *tokenfiletest.Issuer, awspodidtest.PodSpec) (*awspodidtest.Pod, error)

// newBedWith admits a pod, whose token is for the webhook's audience unless
// another is named.
func newBedWith(t *testing.T, admit constructor, audiences ...string) *bed {
	t.Helper()
	const role = "arn:aws:iam::111122223333:role/web"
	issuer := new(tokenfiletest.Issuer)
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	dir := t.TempDir()
	pod, err := admit(dir, issuer, awspodidtest.PodSpec{
		Token:   tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0", Audiences: audiences},
		RoleARN: role,
	})
	require.NoError(t, err)
	b := &bed{pod, awspodidtest.NewAgent(issuer), dir, filepath.Join(dir, "termination-log")}
	b.agent.Associate("shop", "web", role)
	require.NoError(t, os.WriteFile(b.message, []byte("of the last time"), 0o600))
	return b
}

// hang lets the agent take requests and not answer.
func (b *bed) hang() {
	b.agent.SetFault(func(*http.Request) *awspodidtest.Fault { return &awspodidtest.Fault{Hang: true} })
}

func (b *bed) options(o *awspodid.Options) {
	o.Lookup = b.pod.With("KUBERNETES_SERVICE_HOST", "10.96.0.1").With("POD_NAMESPACE", "shop").With("POD_NAME", "web-0").Lookup
	o.ServiceAccountDir = b.dir
	o.HTTPClient = &http.Client{Transport: b.agent.Transport()}
}

// run is the command in this container.
func (b *bed) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, failure bytes.Buffer
	code = run(t.Context(), append([]string{"-termination-log", b.message}, args...), &out, &failure, b.options)
	return code, out.String(), failure.String()
}

func (b *bed) termination(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(b.message)
	require.NoError(t, err)
	return string(text)
}

// The pod was admitted before its association was known. This is what "kubectl
// describe pod" shows.
func Example() {
	file, _ := os.CreateTemp("", "termination-log")
	file.Close()
	defer os.Remove(file.Name())
	pod := awspodidtest.NewPod().
		With("KUBERNETES_SERVICE_HOST", "10.96.0.1").With("POD_NAMESPACE", "shop").With("POD_NAME", "web-0")
	code := run(context.Background(), []string{"-mechanism", "pod-identity", "-termination-log", file.Name()},
		new(bytes.Buffer), new(bytes.Buffer), func(o *awspodid.Options) { o.Lookup, o.ServiceAccountDir = pod.Lookup, "testdata" })
	message, _ := os.ReadFile(file.Name())
	fmt.Println("exit status", code)
	for part := range strings.SplitSeq(string(message), "; ") {
		fmt.Println(part)
	}
	// Output:
	// exit status 1
	// awspodid: EKS Pod Identity was not injected into this pod: AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE not set
	// most likely the pod was admitted before its association or annotation reached the webhook
	// injection happens only at admission, so a restart of the container cannot help: recreate the pod (kubectl -n shop delete pod web-0)
	// if that does not help, there is no association for this service account (aws eks list-pod-identity-associations --cluster-name CLUSTER --namespace shop --service-account SERVICE_ACCOUNT), the agent does not run on this kind of node, the container is named in the pod's skip-containers annotation, or a wrapper script started the program without these variables
	// see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#aws-not-injected
}

func TestProgramMayStart(t *testing.T) {
	for name, test := range map[string]struct {
		admit    constructor
		args     []string
		want     string
		requests int
	}{
		"Pod Identity":             {awspodidtest.NewPodIdentityPod, nil, "EKS Pod Identity is injected\n", 0},
		"Pod Identity, wanted":     {awspodidtest.NewPodIdentityPod, []string{"-mechanism", "pod-identity"}, "EKS Pod Identity is injected\n", 0},
		"IRSA":                     {awspodidtest.NewWebIdentityPod, nil, "IRSA is injected\n", 0},
		"IRSA, wanted":             {awspodidtest.NewWebIdentityPod, []string{"-mechanism", "irsa"}, "IRSA is injected\n", 0},
		"the credentials are real": {awspodidtest.NewPodIdentityPod, []string{"-retrieve"}, "EKS Pod Identity gives credentials until 2000-01-01T06:00:00Z\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBedWith(t, test.admit)
				code, stdout, stderr := b.run(t, test.args...)
				assert.Zero(t, code, stderr)
				assert.Contains(t, stdout, `namespace "shop", service account "web", pod "web-0"`)
				assert.True(t, strings.HasSuffix(stdout, test.want), stdout)
				assert.Empty(t, stderr)
				assert.Equal(t, "of the last time", b.termination(t))
				assert.Equal(t, test.requests, b.agent.Counts().Total())
			})
		})
	}
}

func TestReasonIsInTheTerminationMessage(t *testing.T) {
	without := func(names ...string) func(*testing.T) *bed {
		return func(t *testing.T) *bed {
			b := newBed(t)
			b.pod = b.pod.Without(names...)
			return b
		}
	}
	hanging := func(t *testing.T) *bed {
		b := newBed(t)
		b.hang()
		return b
	}
	for name, test := range map[string]struct {
		container func(*testing.T) *bed
		args      []string
		code      int
		want      string
		within    time.Duration
	}{
		"nothing was injected": {
			without(awspodidtest.FullURI, awspodidtest.AuthorizationFile), nil,
			notInjected, "recreate the pod (kubectl -n shop delete pod web-0)", 0,
		},
		"IRSA was injected in place of Pod Identity": {
			func(t *testing.T) *bed { return newBedWith(t, awspodidtest.NewWebIdentityPod) }, []string{"-mechanism", "pod-identity"},
			notInjected, "; IRSA was injected instead; ", 0,
		},
		"half was injected": {
			without(awspodidtest.AuthorizationFile), nil,
			unusable, awspodidtest.AuthorizationFile + ": is not set although its companion is", 0,
		},
		"the token is for somebody else": {
			func(t *testing.T) *bed { return newBedWith(t, awspodidtest.NewPodIdentityPod, "vault") }, nil,
			unusable, `token's audience is ["vault"], want "pods.eks.amazonaws.com"`, 0,
		},
		"the association has gone": {
			func(t *testing.T) *bed {
				b := newBed(t)
				b.agent.Dissociate("shop", "web")
				return b
			}, []string{"-retrieve"},
			noCredentials, "there is no association for", 0,
		},
		"there is no agent": {
			func(t *testing.T) *bed {
				b := newBed(t)
				b.agent.SetDown(true)
				return b
			}, []string{"-retrieve"},
			noCredentials, "the agent does not answer on this node", 5 * time.Second,
		},
		"the agent hangs": {
			hanging, []string{"-retrieve"},
			noCredentials, "the agent does not answer on this node", 30 * time.Second,
		},
		"the agent hangs, and the check may not": {
			hanging, []string{"-retrieve", "-timeout", "5s"},
			noCredentials, "no answer in the 5s of -timeout", 5 * time.Second,
		},
		"wrong flags": {
			newBed, []string{"-mechanism", "imds"},
			wrongFlags, `invalid value "imds" for flag -mechanism: want pod-identity, irsa or any`, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := test.container(t)
				began := time.Now()
				code, stdout, stderr := b.run(t, test.args...)
				assert.Equal(t, test.code, code)
				assert.LessOrEqual(t, time.Since(began), test.within)
				message := b.termination(t)
				assert.Contains(t, message, test.want)
				assert.Equal(t, "awscheck: "+message+"\n", stderr)
				assert.NotContains(t, stdout+stderr+message, "eyJ", "the beginning of a token")
				untilFetchesEnd()
			})
		})
	}
}

// untilFetchesEnd lets a provider's fetch, which outlives its caller, end. A
// bubble does not end before. It takes no time there.
func untilFetchesEnd() {
	time.Sleep(time.Minute)
	synctest.Wait() // tells the race detector, too
}

// A caller who gives up is none of the provider's failures.
func TestInterruptedCheckSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.hang()
		code := make(chan int)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			code <- run(ctx, []string{"-retrieve", "-termination-log", b.message}, new(bytes.Buffer), new(bytes.Buffer), b.options)
		}()
		synctest.Wait()
		stop()
		assert.Equal(t, noCredentials, <-code)
		assert.Equal(t, "awspodid: waiting for credentials of EKS Pod Identity: context canceled; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#aws-wait-ended", b.termination(t))
		untilFetchesEnd()
	})
}

func TestUnwritableMessageIsTold(t *testing.T) {
	for name, path := range map[string]func(*bed) string{
		"there is no such file": func(b *bed) string { return filepath.Join(b.dir, "none") },
		"it is a directory":     func(b *bed) string { return b.dir },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			b.pod, b.message = awspodidtest.NewPod(), path(b)
			code, _, stderr := b.run(t)
			assert.Equal(t, notInjected, code, "the status is that of the check")
			assert.Regexp(t, `^awscheck: awspodid: no AWS identity was injected .*\n`+
				`awscheck: the reason is not in the termination message: open .*\n$`, stderr)
			assert.NoFileExists(t, b.message)
		})
	}
	t.Run("it is not wanted", func(t *testing.T) {
		b := newBed(t)
		b.pod, b.message = awspodidtest.NewPod(), ""
		code, _, stderr := b.run(t)
		assert.Equal(t, notInjected, code)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	})
}

// The command as it is, in the environment of this process.
func TestReadsItsOwnEnvironment(t *testing.T) {
	b := newBed(t)
	for _, name := range []string{
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
	} {
		t.Setenv(name, "") // gives it back at the end
		require.NoError(t, os.Unsetenv(name))
	}
	b.agent.Hosts = []string{"127.0.0.1"}
	url, stop := b.agent.Start()
	defer stop()
	code := func() int {
		return run(t.Context(), []string{"-retrieve", "-termination-log", b.message}, new(bytes.Buffer), new(bytes.Buffer))
	}
	assert.Equal(t, notInjected, code())
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url+"/v1/credentials")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", b.pod.PodIdentity.Volume.Path())
	assert.Equal(t, good, code())
	assert.Equal(t, 1, b.agent.Counts().OK)
}

func TestWrongFlags(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown flag": {[]string{"-role", "web"}, "flag provided but not defined: -role"},
		"argument":     {[]string{"web"}, `unexpected argument "web"`},
		"no time":      {[]string{"-timeout", "0s"}, "-timeout 0s: want more than nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			code, stdout, stderr := b.run(t, test.args...)
			assert.Equal(t, wrongFlags, code)
			assert.Contains(t, stderr, test.want)
			assert.Contains(t, b.termination(t), test.want)
			assert.Empty(t, stdout)
		})
	}
}

func TestHelpNamesTheFlags(t *testing.T) {
	b := newBed(t)
	code, _, stderr := b.run(t, "-help")
	assert.Zero(t, code)
	for _, name := range []string{"-mechanism", "-retrieve", "-timeout", "-termination-log"} {
		assert.Contains(t, stderr, name)
	}
	assert.Equal(t, "of the last time", b.termination(t))
}

// The manifest's flags are the program's, and it is the default path.
func TestManifestFitsTheProgram(t *testing.T) {
	manifest, err := os.ReadFile("pod.yaml")
	require.NoError(t, err)
	found := regexp.MustCompile(`args: (\[.*\])`).FindSubmatch(manifest)
	require.Len(t, found, 2)
	var args []string
	require.NoError(t, json.Unmarshal(found[1], &args))
	o, err := parseFlags(args, new(bytes.Buffer))
	require.NoError(t, err)
	assert.Equal(t, options{awspodid.PodIdentity, true, 45 * time.Second, "/dev/termination-log"}, o)
	assert.Contains(t, string(manifest), "terminationMessagePath: "+o.message+" ")
}
