//go:build linux

package aws

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/internal/e2e/bed"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// A stsCase is a request for AssumeRoleWithWebIdentity and how it is answered
// by the real server and, where AWS is known to answer otherwise, by the fake,
// which takes AWS's side.
type stsCase struct {
	name   string
	change func(*testing.T, *cluster, url.Values) // of a good request
	want   verdict
	aws    *verdict
}

// A verdict is an answer, without what is random.
type verdict struct {
	status  int
	code    string        // of a refusal
	subject string        // that of the token
	lives   time.Duration // the credentials
}

func refused(status int, code string) verdict { return verdict{status: status, code: code} }

func given(lives time.Duration) verdict {
	return verdict{status: http.StatusOK, subject: subject("app"), lives: lives}
}

func awsRefuses(status int, code string) *verdict { v := refused(status, code); return &v }

func awsGives(lives time.Duration) *verdict { v := given(lives); return &v }

var stsCases = []stsCase{
	// What the client does not say, the server's configuration does: here 20 s.
	{"good", nil, given(lifetime), awsGives(time.Hour)},
	{"good, and an hour is asked for", set("DurationSeconds", "3600"), given(time.Hour), nil},
	{"the shortest duration", set("DurationSeconds", "900"), given(15 * time.Minute), nil},
	// Here the role's maximum is the server's, at AWS it is an hour if the role does not say.
	{"the longest duration", set("DurationSeconds", "43200"), given(12 * time.Hour), awsRefuses(400, "ValidationError")},
	{"a quarter of an hour for a token that has a minute left",
		func(t *testing.T, c *cluster, form url.Values) {
			form.Set("WebIdentityToken", token(t, c, tokenfiletest.Request{Lifetime: time.Minute}))
			form.Set("DurationSeconds", "900")
		}, given(15 * time.Minute), nil},
	{"of TokenRequest, by the API server's own key: the fake has another",
		func(t *testing.T, c *cluster, form url.Values) {
			issued, err := c.request(t.Context(), "app", awspodidtest.STSAudience)
			require.NoError(t, err)
			form.Set("WebIdentityToken", issued)
		}, given(lifetime), awsRefuses(400, "InvalidIdentityToken")},
	{"a duration under the shortest", set("DurationSeconds", "899"),
		refused(400, "InvalidParameterValue"), awsRefuses(400, "ValidationError")},
	{"a duration over the longest", set("DurationSeconds", "43201"),
		refused(400, "InvalidParameterValue"), awsRefuses(400, "ValidationError")},
	{"wrong audience", with(tokenfiletest.Request{Audiences: []string{bed.APIAudience}}),
		refused(400, "InvalidParameterValue"), awsRefuses(400, "InvalidIdentityToken")},
	{"wrong signature", func(t *testing.T, c *cluster, form url.Values) {
		good := form.Get("WebIdentityToken")
		at := strings.LastIndexByte(good, '.') + 10
		other := byte('A')
		if good[at] == other {
			other = 'B'
		}
		form.Set("WebIdentityToken", good[:at]+string(other)+good[at+1:])
	}, refused(400, "InvalidParameterValue"), awsRefuses(400, "InvalidIdentityToken")},
	{"expired", func(t *testing.T, c *cluster, form url.Values) {
		form.Set("WebIdentityToken", signed(t, c, func(claims object) {
			past := time.Now().Add(-time.Hour)
			claims["iat"], claims["nbf"], claims["exp"] = past.Unix(), past.Unix(), past.Add(10*time.Minute).Unix()
		}))
	}, refused(400, "ExpiredTokenException"), nil},
	{"another service account", with(tokenfiletest.Request{ServiceAccount: "other"}), refused(403, "AccessDenied"), nil},
	{"another issuer", func(t *testing.T, c *cluster, form url.Values) {
		form.Set("WebIdentityToken", signed(t, c, func(claims object) { claims["iss"] = "https://other.invalid" }))
	}, refused(403, "AccessDenied"), awsRefuses(400, "InvalidIdentityToken")},
	{"unknown role", set("RoleArn", "arn:aws:iam::111122223333:role/unknown"), refused(403, "AccessDenied"), nil},
	{"malformed", set("WebIdentityToken", "not.a.token"), refused(403, "AccessDenied"), awsRefuses(400, "InvalidIdentityToken")},
	{"a key that is not published", func(t *testing.T, c *cluster, form url.Values) {
		another, err := tokenfiletest.NewIssuer(bed.APIAudience)
		require.NoError(t, err)
		issued, err := another.Token(tokenfiletest.Request{
			Namespace: namespace, ServiceAccount: "app", Audiences: []string{awspodidtest.STSAudience},
		})
		require.NoError(t, err)
		form.Set("WebIdentityToken", issued)
	}, refused(403, "AccessDenied"), awsRefuses(400, "InvalidIdentityToken")},
	{"no token", without("WebIdentityToken"), refused(400, "MissingParameter"), awsRefuses(400, "ValidationError")},
	{"no session name", without("RoleSessionName"), refused(400, "MissingParameter"), awsRefuses(400, "ValidationError")},
	{"a session name with a blank", set("RoleSessionName", "a b"),
		refused(400, "InvalidParameterValue"), awsRefuses(400, "ValidationError")},
	{"a session name of 65 letters", set("RoleSessionName", strings.Repeat("a", 65)),
		refused(400, "InvalidParameterValue"), awsRefuses(400, "ValidationError")},
	{"a session name of 64 letters and an hour", func(_ *testing.T, _ *cluster, form url.Values) {
		form.Set("RoleSessionName", strings.Repeat("a", 64))
		form.Set("DurationSeconds", "3600")
	}, given(time.Hour), nil},
}

// The fake is worth something only if it answers as the real servers do.
func TestTheFakeSTSAnswersAsTheRealOne(t *testing.T) {
	c, w := requireCluster(t), requireWeed(t)
	sts := awspodidtest.NewSTS(c.issuer)
	for role, account := range map[string]string{appRole: "app", otherRole: "other"} {
		sts.SetRole(role, awspodidtest.TrustPolicy{Sub: []string{subject(account)}})
	}
	fake := httptest.NewServer(sts)
	t.Cleanup(fake.Close)

	for _, test := range stsCases {
		t.Run(test.name, func(t *testing.T) {
			form := url.Values{
				"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"},
				"RoleArn": {appRole}, "RoleSessionName": {"e2e"}, "WebIdentityToken": {token(t, c, tokenfiletest.Request{})},
			}
			if test.change != nil {
				test.change(t, c, form)
			}
			assert.Equal(t, test.want, ask(t, w.url, form), "the real STS")
			want := test.want
			if test.aws != nil {
				want = *test.aws
				assert.NotEqual(t, test.want, want, "where AWS differs")
			}
			assert.Equal(t, want, ask(t, fake.URL, form), "the fake")
		})
	}
}

// ask sends a request as the SDK does.
func ask(t *testing.T, address string, form url.Values) verdict {
	t.Helper()
	asked := time.Now()
	resp, err := http.PostForm(address, form)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if resp.StatusCode != http.StatusOK {
		var refusal struct {
			Code string `xml:"Error>Code"`
		}
		require.NoError(t, xml.Unmarshal(body, &refusal))
		return refused(resp.StatusCode, refusal.Code)
	}
	var answer struct {
		Subject     string `xml:"AssumeRoleWithWebIdentityResult>SubjectFromWebIdentityToken"`
		Credentials struct {
			AccessKeyID     string `xml:"AccessKeyId"`
			SecretAccessKey string
			SessionToken    string
			Expiration      time.Time
		} `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	require.NoError(t, xml.Unmarshal(body, &answer))
	got := answer.Credentials
	assert.True(t, got.AccessKeyID != "" && got.SecretAccessKey != "" && got.SessionToken != "", "a key is missing")
	// Whole seconds, and the request itself takes its time.
	took := time.Since(asked)
	lives := got.Expiration.Sub(asked)
	for _, exact := range []time.Duration{lifetime, 15 * time.Minute, time.Hour, 12 * time.Hour} {
		if lives >= exact-time.Second && lives <= exact+took+time.Second {
			lives = exact
		}
	}
	return verdict{status: resp.StatusCode, subject: answer.Subject, lives: lives}
}

func set(name, value string) func(*testing.T, *cluster, url.Values) {
	return func(_ *testing.T, _ *cluster, form url.Values) { form.Set(name, value) }
}

func without(name string) func(*testing.T, *cluster, url.Values) {
	return func(_ *testing.T, _ *cluster, form url.Values) { form.Del(name) }
}

func with(r tokenfiletest.Request) func(*testing.T, *cluster, url.Values) {
	return func(t *testing.T, c *cluster, form url.Values) { form.Set("WebIdentityToken", token(t, c, r)) }
}

// token is one that the fake's issuer signed, whose key the API server
// publishes, with what r does not say as it should be.
func token(t *testing.T, c *cluster, r tokenfiletest.Request) string {
	t.Helper()
	r.Namespace = namespace
	if r.ServiceAccount == "" {
		r.ServiceAccount = "app"
	}
	if r.Audiences == nil {
		r.Audiences = []string{awspodidtest.STSAudience}
	}
	issued, err := c.issuer.Token(r)
	require.NoError(t, err)
	return issued
}

// signed is a token that the API server would not issue.
func signed(t *testing.T, c *cluster, change func(object)) string {
	t.Helper()
	now := time.Now()
	claims := object{
		"iss": bed.APIAudience, "sub": subject("app"), "aud": []string{awspodidtest.STSAudience},
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	}
	change(claims)
	token, err := c.issuer.Sign(claims)
	require.NoError(t, err)
	return token
}
