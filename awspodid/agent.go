package awspodid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"

	"github.com/podtoken/podtoken/tokenfile"
)

const (
	maxAnswer = 64 << 10 // bytes of credentials
	maxReason = 4 << 10  // bytes of a refusal
)

// agent gets credentials from the Pod Identity agent through the SDK's client.
type agent struct {
	uri    string
	source *tokenfile.Source
	client HTTPClient
}

// fetch makes one attempt with the token that the file holds now, and another
// if the agent refused a token that was replaced meanwhile.
func (a *agent) fetch(ctx context.Context) (aws.Credentials, error) {
	token, err := a.source.Token(ctx)
	if err != nil {
		return aws.Credentials{}, &AgentError{Err: err}
	}
	creds, err := a.send(ctx, token)
	if refused := new(AgentError); errors.As(err, &refused) && isTokenRefusal(refused.StatusCode) {
		if next, e := a.source.Token(ctx); e == nil && next.Raw() != token.Raw() {
			return a.send(ctx, next)
		}
	}
	return creds, err
}

func isTokenRefusal(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden
}

func (a *agent) send(ctx context.Context, token *tokenfile.Token) (aws.Credentials, error) {
	exchange := &exchange{client: a.client, authorization: token.Raw()}
	provider := endpointcreds.New(a.uri, func(o *endpointcreds.Options) {
		o.HTTPClient = exchange
		o.AuthorizationToken = token.Raw()
		o.Retryer = aws.NopRetryer{} // the provider repeats, with a token that is read anew
	})
	creds, err := provider.Retrieve(ctx)
	if err == nil {
		creds.Source = providerName
		return creds, nil
	}
	return aws.Credentials{}, &AgentError{
		StatusCode: exchange.status, Message: exchange.message, Err: err, retryAfter: exchange.retryAfter,
		Audience: token.Audience(), Subject: token.Subject(), Expiry: token.Expiry(),
	}
}

// exchange is one request of the SDK's client and its answer. It stands
// between that client and the network, since the client takes any answer: of
// any size, without keys, or one that was redirected to.
type exchange struct {
	client        HTTPClient
	authorization string

	status     int // of a refusal
	message    string
	retryAfter time.Duration
}

func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	resp, err := do(x.client, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	limit := int64(maxReason)
	if resp.StatusCode == http.StatusOK {
		limit = maxAnswer
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		x.refusal(resp, body[:min(int64(len(body)), limit)])
		return resp, nil
	}
	if err := checkAnswer(body); err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// The ways in which a client can mislead.
var (
	errNoAnswer = errors.New("the HTTP client returned neither an answer nor an error")
	errFollowed = errors.New("the HTTP client followed a redirect to another host")
)

// do sends a request, and refuses the answer of another host.
func do(client HTTPClient, req *http.Request) (*http.Response, error) {
	resp, err := client.Do(req)
	switch {
	case err != nil:
		return nil, err
	case resp == nil || resp.Body == nil:
		return nil, errNoAnswer
	case resp.Request != nil && resp.Request.URL.Host != req.URL.Host:
		resp.Body.Close()
		return nil, errFollowed
	}
	return resp, nil
}

// direct is client, made to follow no redirect where it can be.
func direct(client HTTPClient) HTTPClient {
	c, ok := client.(*http.Client)
	if !ok || c == nil {
		return client
	}
	copied := *c
	copied.CheckRedirect = noRedirect
	return &copied
}

// refusal keeps what the agent said, and hands the SDK a body that it can
// read whatever it is.
func (x *exchange) refusal(resp *http.Response, body []byte) {
	x.status = resp.StatusCode
	x.message = withoutToken(string(bytes.TrimSpace(body)), x.authorization)
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16); err == nil {
		x.retryAfter = time.Duration(seconds) * time.Second
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/json" {
		var object map[string]any
		if json.Unmarshal(body, &object) != nil || object == nil {
			resp.Header.Set("Content-Type", "text/plain")
		}
	}
	if resp.StatusCode < 300 { // a 2xx that is no 200 has no credentials, but the SDK would look for them
		resp.StatusCode = http.StatusBadGateway
	}
	resp.Body = io.NopCloser(bytes.NewReader([]byte(withoutToken(string(body), x.authorization))))
}

// shortestLife is what credentials must have left to be of use.
const shortestLife = 5 * time.Second

// notInHeader knows what no request could be signed with.
func notInHeader(r rune) bool { return r <= ' ' || r >= 0x7f }

// lifeless says that credentials have too little left to be of use.
func lifeless(end time.Time) error {
	word := "expire"
	if !end.After(time.Now()) {
		word = "expired"
	}
	return fmt.Errorf("%w: they %s at %s, and it is %s here", errAnswer, word, stamp(end), stamp(time.Now()))
}

// errAnswer is what an answer of status 200 is not.
var errAnswer = errors.New("the answer holds no usable credentials")

// checkAnswer refuses what the SDK would take for credentials and sign with.
func checkAnswer(body []byte) error {
	if len(body) > maxAnswer {
		return fmt.Errorf("%w: more than %d bytes", errAnswer, maxAnswer)
	}
	var answer *struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      *time.Time
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&answer); err != nil || answer == nil {
		return fmt.Errorf("%w: no JSON object of them", errAnswer) // a decoder's text quotes the body
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows them", errAnswer)
	}
	switch {
	case answer.AccessKeyID == "" || answer.SecretAccessKey == "" || answer.Token == "":
		return fmt.Errorf("%w: a key is missing", errAnswer)
	case answer.Expiration == nil:
		return fmt.Errorf("%w: no expiration", errAnswer)
	case time.Until(*answer.Expiration) < shortestLife:
		return lifeless(*answer.Expiration)
	case strings.ContainsFunc(answer.AccessKeyID+answer.SecretAccessKey+answer.Token, notInHeader):
		return fmt.Errorf("%w: a key has other letters than keys have", errAnswer)
	}
	return nil
}
