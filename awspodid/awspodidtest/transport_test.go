package awspodidtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

func TestTransportEndsWithTheContext(t *testing.T) {
	b := newBed(t)
	ctx, cancel := context.WithCancel(t.Context())
	response, err := b.agent.Transport().RoundTrip(b.get(awspodidtest.AgentURL, b.jwt(nil)).WithContext(ctx))
	require.NoError(t, err)
	cancel()
	_, err = io.ReadAll(response.Body)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = b.agent.Transport().RoundTrip(b.get(awspodidtest.AgentURL, b.jwt(nil)).WithContext(ctx))
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, b.agent.Counts().Total(), "the second one was never sent")
}

// closed tells whether a request's body was.
type closed struct {
	io.Reader
	yes bool
}

func (c *closed) Close() error {
	c.yes = true
	return nil
}

func TestTransportLeavesTheRequestAlone(t *testing.T) {
	b := newBed(t)
	request := b.post(b.parameters(nil))
	body := &closed{Reader: request.Body}
	request.Body = body
	response, err := b.sts.Transport().RoundTrip(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	_, err = response.Body.Read(make([]byte, 1))
	assert.ErrorIs(t, err, http.ErrBodyReadAfterClose)
	assert.True(t, body.yes)
	assert.Same(t, body, request.Body)
	assert.Same(t, request, response.Request)
}

// What package http refuses to send never arrives.
func TestTransportRefusesHeaders(t *testing.T) {
	b := newBed(t)
	url, stop := b.agent.Start()
	defer stop()
	for _, end := range []string{"\n", "\r", "\x00", "\x7f"} {
		_, err := b.try(b.jwt(nil) + end)
		assert.ErrorContains(t, err, `net/http: invalid header field value for "Authorization"`)
		_, real := http.DefaultTransport.RoundTrip(b.get(url, b.jwt(nil)+end))
		assert.ErrorContains(t, real, `net/http: invalid header field value for "Authorization"`)
	}
	assert.Zero(t, b.agent.Counts().Total())
	b.ask(" " + b.jwt(nil) + "\t").credentials(t)
}

func TestOverTheNetwork(t *testing.T) {
	b := newBed(t)
	b.agent.Hosts = []string{"127.0.0.1"}
	url, stop := b.agent.Start()
	stsURL, stopSTS := b.sts.Start()
	defer stopSTS()
	get := func() (reply, error) { return send(http.DefaultTransport, b.get(url+"/v1/credentials", b.jwt(nil))) }

	r, err := get()
	require.NoError(t, err)
	r.credentials(t)
	r, err = send(http.DefaultTransport, b.get(url+"/v1/credentials", ""))
	require.NoError(t, err)
	assert.Equal(t, 400, r.status)
	assert.Equal(t, "Service account token cannot be empty\n", r.body)

	request, err := http.NewRequest(http.MethodPost, stsURL, strings.NewReader(b.parameters(nil).Encode()))
	require.NoError(t, err)
	r, err = send(http.DefaultTransport, request)
	require.NoError(t, err)
	r.assumed(t)

	b.agent.SetFault(always(awspodidtest.HugeBody(1 << 20)))
	r, err = get()
	require.NoError(t, err)
	assert.Greater(t, len(r.body), 1<<20)
	r.credentials(t)

	b.agent.SetFault(always(&awspodidtest.Fault{Reset: true}))
	_, err = get()
	assert.ErrorIs(t, err, io.EOF)
	b.agent.SetFault(nil)

	stop()
	_, err = get()
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
	stop()
}

func TestStallAndHangOverTheNetwork(t *testing.T) {
	b := newBed(t)
	b.agent.Hosts = []string{"127.0.0.1"}
	url, stop := b.agent.Start()
	defer stop()
	request := b.get(url+"/v1/credentials", b.jwt(nil))
	b.agent.SetFault(always(&awspodidtest.Fault{Stall: true}))
	ctx, cancel := context.WithCancel(t.Context())
	response, _ := readHalf(t, http.DefaultTransport, request.WithContext(ctx))
	cancel()
	_, err := io.ReadAll(response.Body)
	assert.ErrorIs(t, err, context.Canceled)

	hanging := make(chan struct{})
	b.agent.SetFault(func(*http.Request) *awspodidtest.Fault {
		close(hanging)
		return &awspodidtest.Fault{Hang: true}
	})
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		<-hanging
		cancel()
	}()
	_, err = send(http.DefaultTransport, request.WithContext(ctx))
	assert.ErrorIs(t, err, context.Canceled)
	stop()
	assert.Equal(t, 1, b.agent.Counts().Cut)
}

func TestConcurrentUse(t *testing.T) {
	b := newBed(t)
	b.agent.RequestRate = 1e6
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for range 20 {
				c := b.ask(b.jwt(nil)).credentials(t)
				_, _, ok := b.agent.Valid(c.KeyID)
				assert.True(t, ok)
				b.assume(nil).assumed(t)
			}
		})
	}
	for range 20 {
		b.agent.Associate("shop", "other", role)
		b.agent.Dissociate("shop", "other")
		b.agent.SetLifetime(3600e9)
		b.agent.SetUpstream(awspodidtest.Healthy)
		b.agent.SetFault(nil)
		b.agent.SetDown(false)
		b.sts.SetProvider("https://other.test", "x")
		b.sts.DeleteProvider("https://other.test")
		b.sts.SetRole("arn:aws:iam::111122223333:role/other", awspodidtest.TrustPolicy{})
		b.sts.DeleteRole("arn:aws:iam::111122223333:role/other")
		_, _ = b.agent.Requests(), b.sts.Requests()
		_ = b.issuer.RotateKey(tokenfiletest.ES256)
	}
	clients.Wait()
	assert.Equal(t, 160, b.agent.Counts().OK)
	assert.Equal(t, 160, b.sts.Counts().OK)
}
