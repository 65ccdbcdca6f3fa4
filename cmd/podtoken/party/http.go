package party

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/podtoken/podtoken/tokenfile"
)

// HTTPOptions say how to log in to a service that takes the token as a bearer.
type HTTPOptions struct {
	URL      string // required: https, or http on loopback
	Path     string // required: of the token file
	Audience string // who the token must be for; empty: whatever it says

	// HTTPClient sends the requests. If nil, one that asks proxies as the
	// environment says. Its redirects are not followed.
	HTTPClient *http.Client
}

// HTTP is a relying party that answers GET of a URL with 2xx if it accepts the
// bearer token, and with 401 or 403 if it rejects it. It fails if no token
// should go to that URL.
//
// After the first accepted login the URL is asked once without the token: if
// that is accepted too, each login fails with [ErrNoTokenNeeded].
func HTTP(o HTTPOptions) (Party, error) {
	if o.Path == "" {
		return nil, errNoPath
	}
	u, err := checkURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("the relying party's URL %w", err)
	}
	client := &http.Client{Transport: newTransport()}
	if o.HTTPClient != nil {
		copied := *o.HTTPClient
		client = &copied
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &service{options: o, url: u, client: client, source: newSource(o.Path, o.Audience)}, nil
}

// newTransport connects anew for each login, so that each shows whether the
// party can be reached.
func newTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return transport
}

// checkURL refuses where no token should go.
func checkURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("cannot be read") // the parser's own text quotes it all
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.User != nil:
		return nil, errors.New("has credentials in it: the token is the credential")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	case u.Scheme == "http":
		return nil, errors.New("is not https: a token goes in clear text to loopback only")
	}
	return nil, fmt.Errorf("has the scheme %s, want https", quote(u.Scheme))
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// service is a Party.
type service struct {
	options HTTPOptions
	url     *url.URL
	client  *http.Client
	source  *tokenfile.Source
	guarded atomic.Bool // it was seen to answer otherwise without a token
}

// ErrNoTokenNeeded says that a URL is open to everybody.
var ErrNoTokenNeeded = errors.New("it answers 2xx without a token too, so that to be accepted shows nothing: name a URL that needs the token, and no health check")

func (s *service) Audience() string { return s.options.Audience }
func (s *service) Path() string     { return s.options.Path }

// String leaves out the query, which may hold a secret.
func (s *service) String() string {
	return clean((&url.URL{Scheme: s.url.Scheme, Host: s.url.Host, Path: s.url.Path}).String())
}

func (s *service) Login(ctx context.Context) error {
	token, err := s.source.Token(ctx)
	if err != nil {
		return err
	}
	if err := s.get(ctx, token.Raw()); err != nil || s.guarded.Load() {
		return err
	}
	return s.guard(ctx)
}

// guard asks without a token. What says nothing about that, such as a 503, is
// asked again after the next login.
func (s *service) guard(ctx context.Context) error {
	err := s.get(ctx, "")
	if err == nil {
		return &HTTPError{URL: s.String(), Err: ErrNoTokenNeeded}
	}
	var answer *HTTPError
	if errors.As(err, &answer) && (isClientError(answer.StatusCode) || isRedirect(answer.StatusCode)) {
		s.guarded.Store(true)
	}
	return nil
}

// get sends a request with a token, if there is one.
func (s *service) get(ctx context.Context, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), nil)
	if err != nil {
		return &HTTPError{URL: s.String(), Err: errors.New("the request could not be made")}
	}
	request.Header.Set("Cache-Control", "no-cache") // it is the party that is to answer
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return &HTTPError{URL: s.String(), Err: s.unquoted(withoutURL(err), token)}
	}
	defer answer.Body.Close()
	return s.judge(answer, token)
}

// unquoted is an error that has nothing of the request in its text: that of a
// connection quotes what it could not read.
func (s *service) unquoted(err error, token string) error {
	if text := s.foreign(err.Error(), token); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// foreign takes out of a text what the party may have quoted of the request.
func (s *service) foreign(text, token string) string {
	return without(without(text, token, "[token]"), s.url.RawQuery, "[query]")
}

// withoutURL is the cause of a client's error, whose own text has the query.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// maxReason is how many bytes of a refusal are read.
const maxReason = 4 << 10

func (s *service) judge(answer *http.Response, token string) error {
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxReason)) // as much as came
	return &HTTPError{URL: s.String(), StatusCode: answer.StatusCode, Message: s.foreign(strings.TrimSpace(string(body)), token)}
}

// HTTPError is a failed login of [HTTP].
type HTTPError struct {
	URL        string // without its query
	StatusCode int    // of the answer, 0 if there was none
	Message    string // of its body, without the token
	Err        error  // of the connection
}

func (e *HTTPError) Unwrap() error { return e.Err }

func (e *HTTPError) Error() string {
	text := "GET " + e.URL + ": "
	switch {
	case e.StatusCode == 0 && e.Err != nil:
		return text + clean(e.Err.Error())
	case e.StatusCode == 0:
		return text + "no answer"
	}
	text += fmt.Sprint(e.StatusCode)
	if e.Message != "" {
		text += " " + quote(e.Message)
	}
	switch {
	case e.StatusCode == http.StatusUnauthorized || e.StatusCode == http.StatusForbidden:
		text += "; it refused the token: compare the issuer, the audience and the subject that it wants with the token's"
	case isRedirect(e.StatusCode):
		text += "; redirects are not followed, since they would take the token elsewhere: name the final URL"
	case e.StatusCode >= 400 && e.StatusCode < 500:
		text += "; that says nothing about the token: is it the right URL?"
	}
	return text
}

func isRedirect(status int) bool { return status >= 300 && status < 400 }
