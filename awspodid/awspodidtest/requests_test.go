package awspodidtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

func TestRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		start := time.Now()
		token := b.jwt(nil)
		b.ask(token)
		time.Sleep(time.Minute)
		b.agent.SetFault(always(&awspodidtest.Fault{Latency: time.Second}))
		b.ask(token)
		b.agent.SetFault(nil)
		b.ask("swordfish")
		b.agent.Dissociate("shop", "web")
		b.ask(b.jwt(object{"jti": "2"}))
		b.agent.SetDown(true)
		b.try("")

		const sub, jti = "system:serviceaccount:shop:web", "0f3f7ca8-8ba6-4f1c-9d0e-5f5a1f1f6f0b"
		expiry := start.Add(24 * time.Hour)
		common := func(at, took time.Duration, r awspodidtest.Request) awspodidtest.Request {
			r.Time, r.Took = start.Add(at), took
			r.Method, r.Host, r.Path = "GET", "169.254.170.23", "/v1/credentials"
			return r
		}
		requests := b.agent.Requests()
		for i := range requests {
			if !requests[i].Expiry.IsZero() {
				requests[i].Expiry = requests[i].Expiry.In(start.Location())
			}
		}
		after := 61 * time.Second
		want := []awspodidtest.Request{
			common(0, 0, awspodidtest.Request{Status: 200, HadToken: true, Subject: sub, TokenID: jti, Expiry: expiry}),
			common(time.Minute, time.Second, awspodidtest.Request{Status: 200, HadToken: true, Subject: sub, TokenID: jti, Expiry: expiry, Cached: true}),
			common(after, 0, awspodidtest.Request{Status: 400, HadToken: true}),
			common(after, 0, awspodidtest.Request{Status: 404, Code: "ResourceNotFoundException", HadToken: true, Subject: sub, TokenID: "2",
				Expiry: expiry.Add(after)}),
			common(after, 0, awspodidtest.Request{}),
		}
		require.Len(t, requests, len(want))
		for i := range want {
			assert.True(t, want[i].Time.Equal(requests[i].Time))
			assert.True(t, want[i].Expiry.Equal(requests[i].Expiry))
			want[i].Time, want[i].Expiry = requests[i].Time, requests[i].Expiry
		}
		assert.Equal(t, want, requests)
		counts := b.agent.Counts()
		assert.Equal(t, awspodidtest.Counts{OK: 2, Refused: 2, Cut: 1, Cached: 1, Upstream: 2}, counts)
		assert.Equal(t, 5, counts.Total())
		b.agent.ClearRequests()
		assert.Empty(t, b.agent.Requests())
		assert.Zero(t, b.agent.Counts())
	})
}

func TestSTSRequests(t *testing.T) {
	b := newBed(t)
	b.assume(object{"DurationSeconds": "900"})
	b.assume(object{"RoleSessionName": "a/b", "WebIdentityToken": nil})
	b.sts.SetFault(always(awspodidtest.STSUnavailable()))
	b.assume(nil)
	b.sts.SetFault(always(&awspodidtest.Fault{Reset: true}))
	send(b.sts.Transport(), b.post(b.parameters(nil)))
	b.sts.SetDown(true)
	send(b.sts.Transport(), b.post(b.parameters(nil)))
	requests := b.sts.Requests()
	require.Len(t, requests, 5)
	assert.Equal(t, "shop-web", requests[0].RoleSessionName)
	assert.Equal(t, role, requests[0].RoleARN)
	assert.Equal(t, "900", requests[0].DurationSeconds)
	assert.Equal(t, "system:serviceaccount:shop:web", requests[0].Subject)
	assert.True(t, requests[0].HadToken)
	assert.Equal(t, "a/b", requests[1].RoleSessionName, "good or bad")
	assert.False(t, requests[1].HadToken)
	assert.Equal(t, "ValidationError", requests[1].Code)
	assert.Equal(t, "ServiceUnavailable", requests[2].Code)
	assert.Equal(t, "shop-web", requests[2].RoleSessionName, "whatever the fault")
	assert.True(t, requests[3].HadToken, "it was on its way")
	assert.False(t, requests[4].HadToken, "nothing was sent")
	assert.Equal(t, awspodidtest.Counts{OK: 1, Refused: 1, Failed: 1, Cut: 2}, b.sts.Counts())
}

func TestLogIsBounded(t *testing.T) {
	b := newBed(t)
	b.agent.RequestRate = 1e6
	for range 10003 {
		b.ask("")
	}
	b.ask("swordfish")
	requests := b.agent.Requests()
	assert.Len(t, requests, 10000)
	assert.True(t, requests[9999].HadToken)
	assert.False(t, requests[9998].HadToken)
	assert.False(t, requests[0].Time.After(requests[1].Time))
	assert.Equal(t, 10004, b.agent.Counts().Total())
}

// printed writes a value in every way that a program might.
func printed(value any) string {
	var text bytes.Buffer
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&text, format+"\n", value)
	}
	data, err := json.Marshal(value)
	fmt.Fprintln(&text, string(data), err)
	slog.New(slog.NewTextHandler(&text, nil)).Info("", "value", value)
	slog.New(slog.NewJSONHandler(&text, nil)).Info("", "value", value)
	return text.String()
}

// Clients may put tokens where none belong.
func TestPrintingShowsNoSecret(t *testing.T) {
	b := newBed(t)
	token, web := b.jwt(nil), b.webIdentity(nil)
	c := b.ask(token).credentials(t)
	s := b.assume(object{"WebIdentityToken": web}).assumed(t).Result.Credentials
	var answers []string
	for _, request := range []object{
		{"RoleSessionName": web}, {"RoleArn": web}, {"Action": web}, {"WebIdentityToken": web + strings.Repeat("x", 20000)},
		{"RoleArn": "arn:aws:iam::111122223333:role/" + web, "WebIdentityToken": web}, {"Version": web},
		{"DurationSeconds": web}, {"WebIdentityToken": b.webIdentity(object{"iss": web})},
	} {
		answers = append(answers, b.assume(request).body)
	}
	for _, url := range []string{"http://169.254.170.23/" + token, "http://169.254.170.23/v1/credentials/?token=" + token} {
		r, err := send(b.agent.Transport(), b.get(url, token))
		assert.NoError(t, err)
		answers = append(answers, r.body)
	}
	request := b.get(awspodidtest.AgentURL, token)
	request.Host = token
	r, err := send(b.agent.Transport(), request)
	assert.NoError(t, err)
	answers = append(answers, r.body, b.ask("Bearer "+token).body, b.ask(token+"x").body, b.ask(b.jwt(object{"sub": token})).body,
		b.ask(b.jwt(object{"jti": token})).header.Get("Date"))

	values := map[string]any{
		"agent":            b.agent,
		"STS":              b.sts,
		"agent's fields":   reflect.ValueOf(b.agent).Elem(),
		"STS's fields":     reflect.ValueOf(b.sts).Elem(),
		"requests":         append(b.agent.Requests(), b.sts.Requests()...),
		"slice":            []any{b.agent, b.sts},
		"unexported field": struct{ secret any }{b.agent},
		"transport":        b.agent.Transport(),
		"answers":          answers,
	}
	for name, value := range values {
		text := printed(value)
		for _, secret := range []string{token, web, c.KeyID, c.Secret, c.Token,
			s.KeyID, s.Secret, s.Token} {
			for _, trace := range []string{secret[len(secret)-16:], fmt.Sprintf("%x", secret[len(secret)-16:])} {
				assert.False(t, strings.Contains(text, trace) || strings.Contains(text, strings.ToUpper(trace)), name)
			}
		}
	}
	assert.Contains(t, printed(c.KeyID), c.KeyID[4:], "in the clear it would be found")
	assert.Regexp(t, `^awspodidtest\.Agent\(1 associations, \d tokens cached\)$`, b.agent)
	assert.Equal(t, "awspodidtest.STS(1 roles, 1 sessions)", fmt.Sprint(b.sts))
	assert.Equal(t, "awspodidtest.Agent(nil) awspodidtest.STS(nil)",
		fmt.Sprint((*awspodidtest.Agent)(nil), " ", (*awspodidtest.STS)(nil)))
}
