package awspodidtest_test

import (
	"net/http"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
)

var requestID = regexp.MustCompile(`\[[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\]`)

// known makes a text with a request id one that can be compared.
func known(text string) string { return requestID.ReplaceAllString(text, "[REQUEST-ID]") }

const (
	unparsed = "Service account token cannot be parsed: token is malformed: "
	failed   = "Service account token failed basic claim validations: "
	invalid  = "[REQUEST-ID]: (InvalidTokenException): "
	client   = ", fault: client\n"
)

// The rows of what agent 0.1.37 was seen to answer, in its order of checks.
func TestAgentRefuses(t *testing.T) {
	cases := []struct {
		name   string
		token  func(b *bed) string
		status int
		body   string
	}{
		{"no token", func(*bed) string { return "" }, 400, "Service account token cannot be empty\n"},
		{"white space for a token", func(*bed) string { return " " }, 400, "Service account token cannot be empty\n"},
		{"not a JWT", func(*bed) string { return "swordfish" }, 400,
			unparsed + "token contains an invalid number of segments\n"},
		{"Bearer in front", func(b *bed) string { return "Bearer " + b.jwt(nil) }, 400,
			unparsed + "could not base64 decode header: illegal base64 data at input byte 6\n"},
		{"expired by 5 s", func(b *bed) string { return b.jwt(object{"exp": ahead(-5 * time.Second)}) }, 400,
			failed + "token is expired\n"},
		{"expires now", func(b *bed) string { return b.jwt(object{"exp": ahead(0)}) }, 400,
			failed + "token is expired\n"},
		{"not yet valid", func(b *bed) string { return b.jwt(object{"nbf": ahead(time.Hour)}) }, 400,
			failed + "token is not valid yet\n"},
		{"expired and for somebody else", func(b *bed) string { return b.jwt(object{"exp": 1, "aud": "x"}) }, 400,
			failed + "token is expired\n"},

		{"the API server's audience", func(b *bed) string { return b.jwt(object{"aud": []string{"https://kubernetes.default.svc"}}) }, 400,
			invalid + "Audience not supported" + client},
		{"the audience of IRSA", func(b *bed) string { return b.webIdentity(nil) }, 400,
			invalid + "Audience not supported" + client},
		{"no audience", func(b *bed) string { return b.jwt(object{"aud": nil}) }, 400,
			invalid + "Audience not supported" + client},
		{"signed by another key", func(b *bed) string { return b.forged("pods.eks.amazonaws.com") }, 400,
			invalid + "Token could not be verified" + client},
		{"signature of another token", func(b *bed) string { return b.tampered(b.jwt(nil)) }, 400,
			invalid + "Token could not be verified" + client},
		{"not signed", func(b *bed) string { return unsigned(b.t, "pods.eks.amazonaws.com") }, 400,
			invalid + "Token could not be verified" + client},
		{"no exp", func(b *bed) string { return b.jwt(object{"exp": nil}) }, 400,
			invalid + "Token could not be verified" + client},
		{"of another cluster", func(b *bed) string { return b.jwt(object{"iss": "https://other.test"}) }, 400,
			invalid + "Issuer not supported" + client},

		{"another service account", func(b *bed) string { return b.jwt(object{"sub": "system:serviceaccount:shop:other"}) }, 404,
			"[REQUEST-ID]: (ResourceNotFoundException): No association found for the service account of the token" + client},
		{"another namespace", func(b *bed) string { return b.jwt(object{"sub": "system:serviceaccount:other:web"}) }, 404,
			"[REQUEST-ID]: (ResourceNotFoundException): No association found for the service account of the token" + client},
		{"not of Kubernetes", func(b *bed) string { return b.jwt(object{"sub": "x:serviceaccount:shop:web"}) }, 404,
			"[REQUEST-ID]: (ResourceNotFoundException): No association found for the service account of the token" + client},
		{"not a service account", func(b *bed) string { return b.jwt(object{"sub": "web"}) }, 404,
			"[REQUEST-ID]: (ResourceNotFoundException): No association found for the service account of the token" + client},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				r := b.ask(c.token(b))
				assert.Equal(t, c.status, r.status)
				assert.Equal(t, c.body, known(r.body))
				assert.Equal(t, "text/plain; charset=utf-8", r.header.Get("Content-Type"))
				assert.Equal(t, "nosniff", r.header.Get("X-Content-Type-Options"))
				assert.Equal(t, 1, b.agent.Counts().Refused)
			})
		})
	}
}

func TestAgentGrants(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		start := time.Now()
		token := b.jwt(object{"aud": []string{"other", "pods.eks.amazonaws.com"}})
		r := b.ask(token)
		c := r.credentials(t)
		assert.Zero(t, time.Since(start))
		assert.Equal(t, "application/json", r.header.Get("Content-Type"))
		assert.Equal(t, start.UTC().Format(http.TimeFormat), r.header.Get("Date"))
		assert.Regexp(t, `^\{"AccessKeyId":"ASIA[A-Z2-7]{16}","SecretAccessKey":"[A-Za-z0-9+/]{40}",`+
			`"Token":"IQoJb3JpZ2luX2Vj[A-Za-z0-9+/]{684}","AccountId":"111122223333",`+
			`"Expiration":"2000-01-01T06:00:00Z"\}$`, r.body)

		expiry, assumed, ok := b.agent.Valid(c.KeyID)
		assert.True(t, ok)
		assert.Equal(t, role, assumed)
		assert.True(t, c.Expiration.Equal(expiry))
		time.Sleep(6*time.Hour - time.Nanosecond)
		_, _, ok = b.agent.Valid(c.KeyID)
		assert.True(t, ok)
		time.Sleep(time.Nanosecond)
		_, _, ok = b.agent.Valid(c.KeyID)
		assert.False(t, ok)
		_, _, ok = b.agent.Valid("ASIAAAAAAAAAAAAAAAAA")
		assert.False(t, ok)
	})
}

func TestAgentPaths(t *testing.T) {
	b := newBed(t)
	for _, path := range []string{"", "/", "/v1", "/v1/credentials/", "/v1/Credentials", "/v2/credentials"} {
		r, err := send(b.agent.Transport(), b.get("http://169.254.170.23"+path, b.jwt(nil)))
		assert.NoError(t, err)
		assert.Equal(t, 404, r.status, path)
		assert.Equal(t, "404 page not found\n", r.body)
	}
	r, err := send(b.agent.Transport(), b.get(awspodidtest.AgentURL+"?x=y", b.jwt(nil)))
	assert.NoError(t, err)
	assert.Equal(t, 200, r.status, "a query means nothing")
}

func TestAgentHosts(t *testing.T) {
	b := newBed(t)
	const denied = "Access Denied. Called agent through invalid address, please use either [169.254.170.23 fd00:ec2::23] address not "
	for _, c := range []struct {
		url, host string
		denied    string // as the agent calls the host
	}{
		{awspodidtest.AgentURL, "", ""},
		{awspodidtest.AgentURLv6, "", ""},
		{"http://169.254.170.23:80/v1/credentials", "", ""},
		{"http://[fd00:ec2::23]:80/v1/credentials", "", ""},
		{"http://127.0.0.1:8080/v1/credentials", "169.254.170.23", ""},
		{"http://127.0.0.1:8080/v1/credentials", "", "127.0.0.1"},
		{"http://169.254.170.2/v1/credentials", "", "169.254.170.2"},
		{"http://localhost/v1/credentials", "", "localhost"},
		{"http://[fd00:0ec2::23]/v1/credentials", "", "fd00:0ec2::23"},
		{awspodidtest.AgentURL, "agent.test", "agent.test"},
	} {
		request := b.get(c.url, b.jwt(nil))
		request.Host = c.host
		r, err := send(b.agent.Transport(), request)
		assert.NoError(t, err)
		if c.denied == "" {
			assert.Equal(t, 200, r.status, c.url)
			continue
		}
		assert.Equal(t, 403, r.status, c.url)
		assert.Equal(t, denied+c.denied+"\n", r.body)
	}
	request := b.get("http://127.0.0.1/v1/credentials", "")
	r, err := send(b.agent.Transport(), request)
	assert.NoError(t, err)
	assert.Equal(t, 403, r.status, "the host is looked at before the token")
}

func TestAgentLimitsTheRate(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		token := b.jwt(nil)
		for range 500 {
			assert.Equal(t, 200, b.ask(token).status)
		}
		r := b.ask(token)
		assert.Equal(t, 429, r.status)
		assert.Equal(t, "Too Many Requests\n", r.body)
		assert.Empty(t, r.header.Get("Retry-After"))
		other, err := send(b.agent.Transport(), b.get("http://169.254.170.23/", ""))
		assert.NoError(t, err)
		assert.Equal(t, 404, other.status, "other paths are not limited")

		time.Sleep(5 * time.Millisecond)
		for range 5 {
			assert.Equal(t, 200, b.ask(token).status)
		}
		assert.Equal(t, 429, b.ask("").status, "whatever is asked")
		time.Sleep(time.Second)
		for range 500 {
			assert.Equal(t, 200, b.ask(token).status)
		}
		assert.Equal(t, 429, b.ask(token).status)
	})
}

// The clock goes back from a run outside of a bubble to one within.
func TestAgentOutlivesABubble(t *testing.T) {
	b := newBed(t)
	b.agent.RequestRate = 2
	assert.Equal(t, 200, b.ask(b.jwt(nil)).status)
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			b.t = t
			assert.Equal(t, 200, b.ask(b.jwt(nil)).status)
			assert.Equal(t, 429, b.ask(b.jwt(nil)).status)
			time.Sleep(time.Millisecond)
			assert.Equal(t, 429, b.ask(b.jwt(nil)).status)
		})
	}
}
