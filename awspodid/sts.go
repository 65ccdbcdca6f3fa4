package awspodid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/podtoken/podtoken/tokenfile"
)

// webIdentity gets credentials from STS through the SDK's provider.
type webIdentity struct {
	role     string
	name     string // of the role session, empty to make it from the token
	duration time.Duration
	source   *tokenfile.Source
	client   stscreds.AssumeRoleWithWebIdentityAPIClient
}

// newSTSClient makes the client as the SDK's configuration says: endpoints,
// FIPS, certificates.
func newSTSClient(o *Options) (stscreds.AssumeRoleWithWebIdentityAPIClient, error) {
	if o.STSClient != nil {
		return o.STSClient, nil
	}
	cfg, err := config.LoadDefaultConfig(context.Background(),
		config.WithRegion(o.region()),
		config.WithCredentialsProvider(aws.AnonymousCredentials{}),
		config.WithDefaultsMode(aws.DefaultsModeLegacy),                    // another may ask IMDS
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }), // the provider repeats, with a token that is read anew
	)
	if err != nil {
		return nil, err
	}
	if c, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		transport := c.GetTransport()
		transport.DisableKeepAlives = true // one request in an hour; an idle connection has goroutines
		cfg.HTTPClient = &http.Client{Transport: transport, Timeout: c.GetTimeout(), CheckRedirect: noRedirect}
	}
	return sts.NewFromConfig(cfg, append(slices.Clone(o.STSOptions), func(o *sts.Options) { o.HTTPClient = &guarded{direct(o.HTTPClient)} })...), nil
}

// errClear is an STS endpoint, as from AWS_ENDPOINT_URL, to which no token goes.
var errClear = errors.New("the endpoint of STS is not https")

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// noRedirect lets no redirect take a token elsewhere.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// guarded stands between the SDK's STS client and the network: it bounds what
// is read, and takes the token out of a refusal that quotes it.
type guarded struct{ client HTTPClient }

// sentToken is the key of a context's token, to be taken out of refusals.
type sentToken struct{}

func (g *guarded) Do(req *http.Request) (*http.Response, error) {
	if host := req.URL.Hostname(); req.URL.Scheme != "https" && !isLoopback(host) {
		return nil, fmt.Errorf("%w: %s", errClear, quote(req.URL.Redacted()))
	}
	resp, err := do(g.client, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if len(body) > maxAnswer {
		return nil, fmt.Errorf("%w: more than %d bytes", errAnswer, maxAnswer)
	}
	if token, ok := req.Context().Value(sentToken{}).(*tokenfile.Token); ok && resp.StatusCode != http.StatusOK {
		body = []byte(withoutToken(string(body), token.Raw()))
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// fetch makes one attempt with the token that the file holds now, and another
// if STS refused a token that was replaced meanwhile.
func (w *webIdentity) fetch(ctx context.Context) (aws.Credentials, error) {
	token, err := w.source.Token(ctx)
	if err != nil {
		return aws.Credentials{}, &STSError{RoleARN: w.role, Err: err}
	}
	creds, err := w.send(ctx, token)
	if refused := new(STSError); errors.As(err, &refused) && (refused.Code == "ExpiredTokenException" || refused.Code == "InvalidIdentityToken") {
		if next, e := w.source.Token(ctx); e == nil && next.Raw() != token.Raw() {
			return w.send(ctx, next)
		}
	}
	return creds, err
}

// rawToken hands out a token that was validated.
type rawToken string

func (t rawToken) GetIdentityToken() ([]byte, error) { return []byte(t), nil }

func (w *webIdentity) send(ctx context.Context, token *tokenfile.Token) (aws.Credentials, error) {
	provider := stscreds.NewWebIdentityRoleProvider(w.client, w.role, rawToken(token.Raw()), func(o *stscreds.WebIdentityRoleOptions) {
		o.RoleSessionName = firstOf(w.name, roleSessionName(token.Kubernetes(), token.Subject()))
		o.Duration = w.duration
	})
	creds, err := provider.Retrieve(context.WithValue(ctx, sentToken{}, token))
	if err == nil {
		err = checkCredentials(creds)
	}
	if err == nil {
		creds.Source = providerName
		return creds, nil
	}
	failed := &STSError{
		RoleARN: w.role, Err: err,
		Issuer: token.Issuer(), Audience: token.Audience(), Subject: token.Subject(), Expiry: token.Expiry(),
	}
	var answered *awshttp.ResponseError
	if errors.As(err, &answered) {
		failed.StatusCode = answered.HTTPStatusCode()
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		failed.Code, failed.Message = api.ErrorCode(), withoutToken(api.ErrorMessage(), token.Raw())
	}
	return aws.Credentials{}, failed
}

// checkCredentials refuses what cannot be signed with.
func checkCredentials(c aws.Credentials) error {
	switch {
	case !c.HasKeys() || c.SessionToken == "" || !c.CanExpire:
		return errAnswer
	case time.Until(c.Expires) < shortestLife:
		return lifeless(c.Expires)
	case strings.ContainsFunc(c.AccessKeyID+c.SecretAccessKey+c.SessionToken, notInHeader):
		return fmt.Errorf("%w: a key has other letters than keys have", errAnswer)
	}
	return nil
}

// roleSessionName tells in CloudTrail who it was: NAMESPACE.ACCOUNT.POD, within
// STS's alphabet and its 64 characters. The longest part is shortened, a pod's
// name in its middle, since its end tells it from its siblings.
func roleSessionName(k tokenfile.Kubernetes, subject string) string {
	parts := []string{k.Namespace, k.ServiceAccount, k.Pod}
	if k.Namespace == "" {
		parts = strings.SplitN(strings.TrimPrefix(subject, "system:serviceaccount:"), ":", len(parts))
	}
	var known []string
	for _, p := range parts {
		if p != "" {
			known = append(known, strings.Map(sessionNameRune, p))
		}
	}
	const most = 64
	for len(strings.Join(known, ".")) > most {
		longest := 0
		for i, p := range known {
			if len(p) > len(known[longest]) {
				longest = i
			}
		}
		p := known[longest]
		if longest == len(known)-1 {
			known[longest] = p[:len(p)/2] + p[len(p)/2+1:]
		} else {
			known[longest] = p[:len(p)-1]
		}
	}
	name := strings.Join(known, ".")
	if len(name) < 2 {
		return "podtoken"
	}
	return name
}

func sessionNameRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("_=,.@-", r):
		return r
	}
	return '-'
}

// telling is how many bytes in a row of a token no text shows.
const telling = 8

// withoutToken replaces whatever foreign text has of a token: some servers
// quote the request, or only the beginning of it.
func withoutToken(text, token string) string {
	if len(token) < telling || len(text) < telling {
		return text
	}
	known := make(map[string]bool, len(token)) // pieces of it
	for end := telling; end <= len(token); end++ {
		known[token[end-telling:end]] = true
	}
	var b strings.Builder
	for from := 0; from < len(text); {
		end := from + telling
		for end <= len(text) && known[text[end-telling:end]] {
			end++
		}
		if end--; end < from+telling { // no piece begins here
			b.WriteByte(text[from])
			from++
			continue
		}
		b.WriteString("[token]")
		from = end
	}
	return b.String()
}
