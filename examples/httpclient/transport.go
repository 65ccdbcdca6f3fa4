// Package httpclient is an http.RoundTripper to copy: it sends the pod's token
// with each request to one server.
package httpclient

import (
	"io"
	"net/http"

	"github.com/podtoken/podtoken/tokenfile"
)

// Transport sets Authorization on requests to Origin, and on no others: a
// redirect elsewhere, or to plain HTTP, must not take the token along. When it is refused with
// 401 and the file holds a newer token, it asks once more with that.
type Transport struct {
	Source *tokenfile.Source
	Origin string            // such as https://payments.example, with the port if the URLs have one
	Base   http.RoundTripper // such as http.DefaultTransport
}

var _ http.RoundTripper = (*Transport)(nil)

func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme+"://"+r.URL.Host != t.Origin {
		return t.Base.RoundTrip(r)
	}
	token, err := t.Source.Token(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper does, also when it fails
		}
		return nil, err
	}
	response, err := t.send(r, r.Body, token)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	newer, err := t.Source.Reload(r.Context())
	if err != nil || newer.Raw() == token.Raw() {
		return response, nil // the refusal stands
	}
	body, again := rewind(r)
	if !again {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection is used again
	_ = response.Body.Close()
	return t.send(r, body, newer)
}

// send works on a copy: a RoundTripper must not change the request.
func (t *Transport) send(r *http.Request, body io.ReadCloser, token *tokenfile.Token) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Body = body
	r.Header.Set("Authorization", "Bearer "+token.Raw())
	return t.Base.RoundTrip(r)
}

// rewind returns the body once more, if the request can be sent again.
func rewind(r *http.Request) (body io.ReadCloser, ok bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r.Body, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	return body, err == nil
}
