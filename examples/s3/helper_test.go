package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid"
)

// newTestStage is made inside the bubble: its clock is not the host's.
func newTestStage(t *testing.T) *stage {
	t.Helper()
	s, err := newStage(t.TempDir())
	require.NoError(t, err)
	return s
}

// RoundTrip reaches the bucket without a socket, which a synctest bubble
// cannot have.
func (b *bucket) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	response := w.Result()
	response.Request = r
	return response, nil
}

// bubble is the stage's place without sockets.
func (s *stage) bubble(r *report) place {
	return place{
		pod: []func(*awspodid.Options){s.inPod, r.logTo, func(o *awspodid.Options) {
			o.HTTPClient = &http.Client{Transport: s.agent.Transport()}
		}},
		aws: []func(*s3.Options){s.inRegion("http://s3.eu-central-1.amazonaws.com"), func(o *s3.Options) {
			o.HTTPClient = &http.Client{Transport: s.bucket}
		}},
	}
}

// noAWS makes an environment that says nothing of AWS and names no bucket, and
// gives the old one back at the end.
func noAWS(t *testing.T) {
	t.Setenv("BUCKET", "")
	t.Setenv("AWS_CONFIG_FILE", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "")
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, value)
		}
	}
	leaveLaptop(t.TempDir())
}

// until ends a context when a text has been written.
type until struct {
	text string
	end  func()

	mu      sync.Mutex
	written bytes.Buffer
}

func (w *until) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.written.Write(b)
	if strings.Contains(w.written.String(), w.text) {
		w.end()
	}
	return n, err
}

// startUntil is start, interrupted once that text is printed.
func startUntil(t *testing.T, text string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &until{text: text, end: cancel}
	var failure bytes.Buffer
	code = start(ctx, args, out, &failure)
	out.mu.Lock() // a provider may still be telling of its fetch
	defer out.mu.Unlock()
	return code, out.written.String(), failure.String()
}

// noSecret checks that no part of a token, all of which begin like the one in
// the pod, and no part of the credentials is in a text.
func (s *stage) noSecret(t *testing.T, text string) {
	t.Helper()
	token, err := os.ReadFile(s.pod.PodIdentity.Volume.Path())
	require.NoError(t, err)
	for _, secret := range []string{string(token[:20]), "ASIA", "IQoJb3JpZ2luX2Vj"} {
		assert.NotContains(t, text, secret)
	}
}

// untilFetchesEnd lets a provider's fetch, which outlives its caller, end and
// tell of it. It takes no time in a bubble.
func untilFetchesEnd() {
	time.Sleep(time.Minute)
	synctest.Wait() // tells the race detector, too
}
