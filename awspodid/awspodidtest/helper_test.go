package awspodidtest_test

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/awspodid/awspodidtest"
	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// object is a JSON object.
type object = map[string]any

const role = "arn:aws:iam::111122223333:role/shop/web"

// bed is an agent and an STS in a cluster with the service account shop/web.
type bed struct {
	t      *testing.T
	issuer *tokenfiletest.Issuer
	agent  *awspodidtest.Agent
	sts    *awspodidtest.STS
}

func newBed(t *testing.T) *bed {
	t.Helper()
	issuer := newIssuer(t)
	b := &bed{t, issuer, awspodidtest.NewAgent(issuer), awspodidtest.NewSTS(issuer)}
	b.agent.Associate("shop", "web", role)
	b.sts.SetRole(role, awspodidtest.TrustPolicy{
		Sub: []string{"system:serviceaccount:shop:web"},
		Aud: []string{"sts.amazonaws.com"},
	})
	return b
}

func newIssuer(t *testing.T) *tokenfiletest.Issuer {
	t.Helper()
	issuer := &tokenfiletest.Issuer{}
	require.NoError(t, issuer.RotateKey(tokenfiletest.ES256))
	return issuer
}

// inBubble runs a test in a bubble of testing/synctest.
func inBubble(t *testing.T, test func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newBed(t)) })
}

// claims are those of a pod's token, with a change. A nil takes a claim away.
func claims(audience string, change object) object {
	now := time.Now().Unix()
	c := object{
		"aud": []string{audience},
		"iss": tokenfiletest.DefaultIssuer,
		"sub": "system:serviceaccount:shop:web",
		"iat": now, "nbf": now, "exp": now + 86400,
		"jti": "0f3f7ca8-8ba6-4f1c-9d0e-5f5a1f1f6f0b",
	}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// jwt signs claims with the issuer's key, for the agent; webIdentity does it
// for STS.
func (b *bed) jwt(change object) string { return b.sign(b.issuer, "pods.eks.amazonaws.com", change) }

func (b *bed) webIdentity(change object) string {
	return b.sign(b.issuer, "sts.amazonaws.com", change)
}

func (b *bed) sign(issuer *tokenfiletest.Issuer, audience string, change object) string {
	b.t.Helper()
	token, err := issuer.Sign(claims(audience, change))
	require.NoError(b.t, err)
	return token
}

// forged is signed with another key, and says so in its header or does not.
func (b *bed) forged(audience string) string { return b.sign(newIssuer(b.t), audience, nil) }

func (b *bed) tampered(token string) string {
	b.t.Helper()
	parts := strings.Split(token, ".")
	other := strings.Split(b.forged("sts.amazonaws.com"), ".")
	return parts[0] + "." + parts[1] + "." + other[2]
}

// unsigned is what libraries of old took for signed.
func unsigned(t *testing.T, audience string) string {
	t.Helper()
	payload, err := json.Marshal(claims(audience, nil))
	require.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + "."
}

// ahead is a time claim.
func ahead(d time.Duration) int64 { return time.Now().Add(d).Unix() }

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// send does one request and follows no redirect.
func send(transport http.RoundTripper, request *http.Request) (reply, error) {
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, string(body)}, err
}

// get builds a request for credentials.
func (b *bed) get(url, token string) *http.Request {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, url, nil)
	require.NoError(b.t, err)
	if token != "" {
		request.Header.Set("Authorization", token)
	}
	return request
}

func (b *bed) try(token string) (reply, error) {
	b.t.Helper()
	return send(b.agent.Transport(), b.get(awspodidtest.AgentURL, token))
}

func (b *bed) ask(token string) reply {
	b.t.Helper()
	r, err := b.try(token)
	require.NoError(b.t, err)
	return r
}

// credentials are the agent's answer.
type credentials struct {
	KeyID      string `json:"AccessKeyId"`
	Secret     string `json:"SecretAccessKey"`
	Token      string
	AccountID  string `json:"AccountId"`
	Expiration time.Time
}

func (r reply) credentials(t *testing.T) credentials {
	t.Helper()
	require.Equal(t, http.StatusOK, r.status, r.body)
	var c credentials
	require.NoError(t, json.Unmarshal([]byte(r.body), &c))
	return c
}

// post builds a request for STS.
func (b *bed) post(parameters url.Values) *http.Request {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost,
		"https://sts.eu-central-1.amazonaws.com/", strings.NewReader(parameters.Encode()))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return request
}

// parameters are those of a good request, with a change. A nil takes one away.
func (b *bed) parameters(change object) url.Values {
	values := url.Values{
		"Action":           {"AssumeRoleWithWebIdentity"},
		"Version":          {"2011-06-15"},
		"RoleArn":          {role},
		"RoleSessionName":  {"shop-web"},
		"WebIdentityToken": {b.webIdentity(nil)},
	}
	for key, value := range change {
		values.Del(key)
		if value != nil {
			values.Set(key, value.(string))
		}
	}
	return values
}

func (b *bed) assume(change object) reply {
	b.t.Helper()
	r, err := send(b.sts.Transport(), b.post(b.parameters(change)))
	require.NoError(b.t, err)
	return r
}

// stsRefusal is what an error of STS holds.
type stsRefusal struct {
	XMLName   xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ ErrorResponse"`
	Error     struct{ Type, Code, Message string }
	RequestID string `xml:"RequestId"`
}

func (r reply) refusal(t *testing.T) stsRefusal {
	t.Helper()
	var e stsRefusal
	require.NoError(t, xml.Unmarshal([]byte(r.body), &e))
	return e
}

// assumed is what a success of STS holds.
type assumed struct {
	XMLName xml.Name `xml:"https://sts.amazonaws.com/doc/2011-06-15/ AssumeRoleWithWebIdentityResponse"`
	Result  struct {
		SubjectFromWebIdentityToken, Audience, Provider string
		AssumedRoleUser                                 struct {
			ARN string `xml:"Arn"`
			ID  string `xml:"AssumedRoleId"`
		}
		Credentials struct {
			KeyID      string `xml:"AccessKeyId"`
			Secret     string `xml:"SecretAccessKey"`
			Token      string `xml:"SessionToken"`
			Expiration time.Time
		}
	} `xml:"AssumeRoleWithWebIdentityResult"`
	RequestID string `xml:"ResponseMetadata>RequestId"`
}

func (r reply) assumed(t *testing.T) assumed {
	t.Helper()
	require.Equal(t, http.StatusOK, r.status, r.body)
	var a assumed
	require.NoError(t, xml.Unmarshal([]byte(r.body), &a))
	return a
}
