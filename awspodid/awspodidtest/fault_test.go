package awspodidtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

// requireNetError asserts that a request failed as one over a real network.
func requireNetError(t *testing.T, err error, op string, cause error) {
	t.Helper()
	var netErr *net.OpError
	require.ErrorAs(t, err, &netErr)
	assert.Equal(t, op, netErr.Op)
	assert.ErrorIs(t, err, cause)
}

// always is a fault for every request.
func always(f *awspodidtest.Fault) func(*http.Request) *awspodidtest.Fault {
	return func(*http.Request) *awspodidtest.Fault { return f }
}

func TestDown(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.agent.SetDown(true)
		b.sts.SetDown(true)
		_, err := b.try(b.jwt(nil))
		requireNetError(t, err, "dial", syscall.ECONNREFUSED)
		_, err = send(b.sts.Transport(), b.post(b.parameters(nil)))
		requireNetError(t, err, "dial", syscall.ECONNREFUSED)
		b.agent.SetDown(false)
		b.sts.SetDown(false)
		b.ask(b.jwt(nil)).credentials(t)
		b.assume(nil).assumed(t)
		assert.Equal(t, awspodidtest.Counts{OK: 1, Cut: 1, Upstream: 1}, b.agent.Counts())
		assert.Equal(t, awspodidtest.Counts{OK: 1, Cut: 1}, b.sts.Counts())
	})
}

func TestDownCutsWhatWaits(t *testing.T) {
	for _, cut := range []func(b *bed){
		func(b *bed) { b.agent.SetDown(true) },
		func(b *bed) { b.agent.Restart() },
	} {
		inBubble(t, func(t *testing.T, b *bed) {
			b.agent.SetUpstream(awspodidtest.Slow)
			start := time.Now()
			time.AfterFunc(time.Second, func() {
				cut(b)
				cut(b)
			})
			_, err := b.try(b.jwt(nil))
			requireNetError(t, err, "read", syscall.ECONNRESET)
			assert.Equal(t, time.Second, time.Since(start))
		})
	}
}

func TestLatency(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.agent.SetFault(always(&awspodidtest.Fault{Latency: 3 * time.Second}))
		start := time.Now()
		b.ask(b.jwt(nil)).credentials(t)
		assert.Equal(t, 3*time.Second, time.Since(start))

		client := &http.Client{Transport: b.agent.Transport(), Timeout: time.Second}
		_, err := client.Do(b.get(awspodidtest.AgentURL, b.jwt(nil)))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 4*time.Second, time.Since(start))
	})
}

func TestHang(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.sts.SetFault(always(&awspodidtest.Fault{Hang: true}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		_, err := send(b.sts.Transport(), b.post(b.parameters(nil)).WithContext(ctx))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Hour, time.Since(start))
		assert.Equal(t, time.Hour, b.sts.Requests()[0].Took)
	})
}

func TestResetAndLose(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.agent.SetFault(always(&awspodidtest.Fault{Reset: true}))
		_, err := b.try(b.jwt(nil))
		requireNetError(t, err, "read", syscall.ECONNRESET)
		assert.Zero(t, b.agent.Counts().Upstream)

		b.agent.SetFault(always(&awspodidtest.Fault{Lose: true}))
		token := b.jwt(nil)
		_, err = b.try(token)
		requireNetError(t, err, "read", syscall.ECONNRESET)
		b.agent.SetFault(nil)
		b.ask(token).credentials(t)
		assert.Equal(t, awspodidtest.Counts{OK: 1, Cut: 2, Cached: 1, Upstream: 1}, b.agent.Counts())
	})
}

func TestBodies(t *testing.T) {
	b := newBed(t)
	with := func(f *awspodidtest.Fault) reply {
		b.agent.SetFault(always(f))
		return b.ask(b.jwt(nil))
	}
	for _, text := range []string{"", "null", "{}", "<html>"} {
		assert.Equal(t, reply{200, http.Header{}, text}, plainReply(with(awspodidtest.Body(text))))
	}
	assert.Equal(t, "application/json", with(awspodidtest.Body("{}")).header.Get("Content-Type"))

	r := with(&awspodidtest.Fault{Status: 502, Body: "bad gateway", Header: http.Header{"retry-after": {"7"}}})
	assert.Equal(t, 502, r.status)
	assert.Equal(t, "bad gateway", r.body)
	assert.Equal(t, "7", r.header.Get("Retry-After"))
	assert.Equal(t, "text/plain; charset=utf-8", r.header.Get("Content-Type"))

	for _, status := range []int{307, 308} {
		r = with(awspodidtest.Redirect(status, "http://evil.test/"))
		assert.Equal(t, status, r.status)
		assert.Equal(t, "http://evil.test/", r.header.Get("Location"))
	}

	r = with(awspodidtest.TrailingData("{}"))
	assert.True(t, strings.HasSuffix(r.body, "}{}"))
	r = with(&awspodidtest.Fault{Header: http.Header{"Content-Type": {"text/html"}}})
	assert.Equal(t, "text/html", r.header.Get("Content-Type"))
	r.credentials(t)
}

// plainReply leaves out what is in every header.
func plainReply(r reply) reply {
	r.header = http.Header{}
	return r
}

func TestDamagedCredentials(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		with := func(f *awspodidtest.Fault) object {
			b.agent.SetFault(always(f))
			var answer object
			require.NoError(t, json.Unmarshal([]byte(b.ask(b.jwt(nil)).body), &answer))
			return answer
		}
		keys := []string{"AccessKeyId", "AccountId", "Expiration", "SecretAccessKey", "Token"}
		for i, key := range keys {
			answer := with(awspodidtest.Without(key))
			assert.NotContains(t, answer, key)
			assert.Len(t, answer, 4)
			assert.Contains(t, answer, keys[(i+1)%5])
		}
		assert.Empty(t, with(awspodidtest.Without(keys...)))
		assert.Equal(t, "1999-12-31T23:00:00Z", with(awspodidtest.AlreadyExpired(time.Hour))["Expiration"])
		assert.Equal(t, 7.0, with(awspodidtest.Edit(func(answer map[string]any) { answer["Token"] = 7 }))["Token"])

		b.sts.SetFault(always(awspodidtest.Without("Token")))
		b.assume(nil).assumed(t) // is XML

		b.agent.SetFault(always(awspodidtest.Without("Token")))
		assert.Equal(t, 400, b.ask("").status)
		b.agent.SetFault(always(awspodidtest.TrailingData("x")))
		assert.Equal(t, "Service account token cannot be empty\n", b.ask("").body, "refusals stay as they are")
	})
}

func TestHugeBody(t *testing.T) {
	b := newBed(t)
	const size = 1 << 20
	check := func(transport http.RoundTripper, request *http.Request) {
		r, err := send(transport, request)
		require.NoError(t, err)
		assert.Greater(t, len(r.body), size)
		assert.Equal(t, size, strings.IndexFunc(r.body, func(c rune) bool { return c != ' ' }))
	}
	b.agent.SetFault(always(awspodidtest.HugeBody(size)))
	b.sts.SetFault(always(awspodidtest.HugeBody(size)))
	check(b.agent.Transport(), b.get(awspodidtest.AgentURL, b.jwt(nil)))
	check(b.sts.Transport(), b.post(b.parameters(nil)))
	b.agent.SetFault(always(&awspodidtest.Fault{Status: 500, Body: "x", Pad: size}))
	check(b.agent.Transport(), b.get(awspodidtest.AgentURL, b.jwt(nil)))
}

// readHalf reads what comes of a stalled body.
func readHalf(t *testing.T, transport http.RoundTripper, request *http.Request) (*http.Response, []byte) {
	t.Helper()
	response, err := transport.RoundTrip(request)
	require.NoError(t, err)
	half := make([]byte, response.ContentLength/2)
	_, err = io.ReadFull(response.Body, half)
	require.NoError(t, err)
	return response, half
}

func TestStall(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.agent.SetFault(always(&awspodidtest.Fault{Stall: true}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		response, half := readHalf(t, b.agent.Transport(), b.get(awspodidtest.AgentURL, b.jwt(nil)).WithContext(ctx))
		assert.True(t, bytes.HasPrefix(half, []byte(`{"AccessKeyId"`)))
		n, err := response.Body.Read(half)
		assert.Zero(t, n)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(start))

		response, half = readHalf(t, b.agent.Transport(), b.get(awspodidtest.AgentURL, b.jwt(nil)))
		time.AfterFunc(time.Second, func() { response.Body.Close() })
		_, err = response.Body.Read(half)
		assert.ErrorIs(t, err, http.ErrBodyReadAfterClose)
		assert.NoError(t, response.Body.Close())
	})
}

func TestSTSErrors(t *testing.T) {
	cases := map[string]struct {
		fault   *awspodidtest.Fault
		status  int
		blame   string
		message string
	}{
		"Throttling":            {awspodidtest.STSThrottled(), 400, "Sender", "Rate exceeded"},
		"InvalidIdentityToken":  {awspodidtest.STSNoVerificationKey(), 400, "Sender", noKey},
		"IDPCommunicationError": {awspodidtest.STSIDPCommunicationError(), 400, "Sender", ""},
		"InternalFailure":       {awspodidtest.STSInternalFailure(), 500, "Receiver", ""},
		"ServiceUnavailable":    {awspodidtest.STSUnavailable(), 503, "Receiver", ""},
		"RegionDisabled":        {awspodidtest.STSError(403, "RegionDisabled", "<not> here"), 403, "Sender", "<not> here"},
	}
	b := newBed(t)
	for code, c := range cases {
		b.sts.SetFault(always(c.fault))
		r := b.assume(nil)
		assert.Equal(t, c.status, r.status)
		refusal := r.refusal(t)
		assert.Equal(t, code, refusal.Error.Code)
		assert.Equal(t, c.blame, refusal.Error.Type)
		if c.message != "" {
			assert.Equal(t, c.message, refusal.Error.Message)
		}
		assert.NotEmpty(t, refusal.Error.Message)
		requests := b.sts.Requests()
		assert.Equal(t, code, requests[len(requests)-1].Code)
	}
}

// A fault may depend on what is asked, the body included.
func TestFaultReadsTheRequest(t *testing.T) {
	b := newBed(t)
	b.sts.SetFault(func(r *http.Request) *awspodidtest.Fault {
		if r.FormValue("RoleSessionName") == "unlucky" {
			return awspodidtest.STSThrottled()
		}
		return nil
	})
	assert.Equal(t, 400, b.assume(object{"RoleSessionName": "unlucky"}).status)
	b.assume(object{"RoleSessionName": "lucky"}).assumed(t)

	b.sts.SetFault(func(r *http.Request) *awspodidtest.Fault {
		return &awspodidtest.Fault{Latency: time.Duration(len(r.FormValue("none")))}
	})
	b.assume(nil).assumed(t)
}
