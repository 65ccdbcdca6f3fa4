package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

const (
	length = 12450 * time.Millisecond // of the play; ends between two listings
	every  = 100 * time.Millisecond   // a listing

	// The agent gives out no credentials that live for 15 s or less, and six
	// hours are usual. So that the play is short they are said to end earlier:
	// after ten to eleven seconds, for they live for whole ones.
	lifetime = 16 * time.Second
	earlier  = 5 * time.Second

	// AWS is not strict to the second, and a request takes its time.
	grace = time.Second
)

// A stage is the node and the AWS that the program meets when it is told of no
// bucket.
type stage struct {
	pod    *awspodidtest.Pod
	dir    string // its file system, and the service account's files
	agent  *awspodidtest.Agent
	bucket *bucket
	acts   []act
}

// An act is what happens at a certain time.
type act struct {
	at   time.Duration // since the beginning
	what string
	do   func()
}

// embedded plays in this process, over loopback and in real time.
func embedded(ctx context.Context, notInjected bool, r *report) error {
	dir, err := os.MkdirTemp("", "s3")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := newStage(dir)
	if err != nil {
		return err
	}
	if notInjected {
		s.pod = awspodidtest.NewPod()
	}
	leaveLaptop(dir)
	s.agent.Hosts = []string{"127.0.0.1"}
	url, stop := s.agent.Start()
	defer stop()
	if !notInjected {
		s.pod = s.pod.With(awspodidtest.FullURI, url+"/v1/credentials")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	service := &http.Server{Handler: s.bucket, ReadHeaderTimeout: time.Second}
	go func() { _ = service.Serve(listener) }()
	defer service.Close()
	return s.play(ctx, r, place{
		pod: []func(*awspodid.Options){s.inPod, r.logTo},
		aws: []func(*s3.Options){s.inRegion("http://" + listener.Addr().String())},
	})
}

// leaveLaptop takes away what the machine says of AWS. A container begins
// without it, and a profile that does not exist would end the play.
func leaveLaptop(dir string) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "none"))
	os.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "none"))
}

// newStage admits a pod, whose file system is below dir, in a cluster that
// knows its association.
func newStage(dir string) (*stage, error) {
	issuer := &tokenfiletest.Issuer{AllowShort: true}
	if err := issuer.RotateKey(tokenfiletest.ES256); err != nil {
		return nil, err
	}
	request := tokenfiletest.Request{Namespace: "shop", ServiceAccount: "web", Pod: "web-0"}
	// The token that each pod has, for the API server. It says whose pod this is.
	request.Audiences = []string{"https://kubernetes.default.svc"}
	token, err := issuer.Token(request)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
		return nil, err
	}
	request.Audiences, request.Lifetime = nil, 6*time.Second
	pod, err := awspodidtest.NewPodIdentityPod(dir, issuer, awspodidtest.PodSpec{Token: request})
	if err != nil {
		return nil, err
	}
	pod.PodIdentity.Period = 125 * time.Millisecond // what 75 s are to a token of an hour
	s := &stage{pod: pod, agent: awspodidtest.NewAgent(issuer), dir: dir}
	s.agent.Associate("shop", "web", "arn:aws:iam::111122223333:role/web")
	s.agent.SetLifetime(lifetime)
	s.agent.SetFault(func(*http.Request) *awspodidtest.Fault { return awspodidtest.Edit(endEarlier) })
	s.bucket = &bucket{name: "invoices", keys: []string{"2026/09.pdf", "2026/10.pdf", "2026/11.pdf"}, check: s.check}
	s.acts = []act{
		// A refresh is due after half to three quarters of the credentials' life.
		{4500 * time.Millisecond, "the agent is away", func() { s.agent.SetDown(true) }},
		{8400 * time.Millisecond, "the agent is back", func() { s.agent.SetDown(false) }},
	}
	return s, nil
}

// endEarlier changes the agent's answer.
func endEarlier(answer map[string]any) {
	text, _ := answer["Expiration"].(string)
	if end, err := time.Parse(time.RFC3339, text); err == nil {
		answer["Expiration"] = end.Add(-earlier)
	}
}

// check lets in whom the agent gave credentials to that have not ended.
func (s *stage) check(accessKeyID string) (code string) {
	expiry, _, ok := s.agent.Valid(accessKeyID)
	switch {
	case !ok:
		return "InvalidAccessKeyId"
	case !time.Now().Before(expiry.Add(grace - earlier)):
		return "ExpiredToken"
	}
	return ""
}

// inPod is the environment that a container of the pod has.
func (s *stage) inPod(o *awspodid.Options) {
	o.Lookup = s.pod.With("KUBERNETES_SERVICE_HOST", "10.96.0.1").Lookup
	o.ServiceAccountDir = s.dir
}

// inRegion leads the S3 client to the bucket.
func (s *stage) inRegion(url string) func(*s3.Options) {
	return func(o *s3.Options) {
		o.Region, _ = s.pod.Lookup(awspodidtest.Region)
		o.BaseEndpoint, o.UsePathStyle = &url, true
	}
}

// play lets the program list while things happen.
func (s *stage) play(ctx context.Context, r *report, at place) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	var background sync.WaitGroup
	end := sync.OnceFunc(func() { cancel(); background.Wait() })
	defer end()
	kubelet := s.pod.PodIdentity
	if kubelet != nil {
		kubelet.OnRotate = func(tokenfiletest.Rotation) { r.printf("the kubelet has replaced the token") }
		background.Go(func() { _ = s.pod.Run(ctx) }) // fails only without a first token
	}
	for _, a := range s.acts {
		background.Go(func() {
			select {
			case <-ctx.Done():
			case <-time.After(a.at):
				r.printf("%s", a.what)
				a.do()
			}
		})
	}
	if err := run(ctx, s.bucket.name, every, r, at); err != nil {
		return err
	}
	end()
	r.add("token        replaced %d times\nagent        left %d requests without an answer\n",
		kubelet.Rotations(), s.agent.Counts().Cut)
	return nil
}
