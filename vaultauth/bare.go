package vaultauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hashicorp/vault/api"
	"golang.org/x/time/rate"
)

const (
	tokenHeader = api.AuthHeaderName
	wrapHeader  = "X-Vault-Wrap-TTL"

	maxAnswer = 1 << 20 // bytes of an answer to a login or a renewal that are read
)

// answer is what the server said to a login, a renewal or a look-up.
type answer struct {
	secret     *api.Secret
	numUses    int           // of the token; the client's own type leaves it out
	retryAfter time.Duration // of a refusal, 0 if the server named none
}

// bareClient is the client that a session's own requests go through. It shares
// the connections and limits of the client that it was made from, and has
// neither that one's token nor its hidden retries, which would repeat the same
// body. It follows no redirect, which would take the token to another host:
// there is no way to see whether the client would.
type bareClient struct {
	of        *api.Client
	address   string
	namespace string
	timeout   time.Duration // of one request at the most, 0 for none; see within
	limiter   *rate.Limiter
	client    *api.Client
}

// bareCache keeps the last bareClient: making one costs most of a login on loopback.
type bareCache struct{ last atomic.Pointer[bareClient] }

func (b *bareCache) get(c *api.Client) (*api.Client, error) {
	want := bareClient{of: c, address: c.Address(), namespace: c.Namespace(), limiter: c.Limiter()}
	if own := c.ClientTimeout(); own > 0 {
		want.timeout = max(own, longestWait) // for another package's method that does not look at its context
	}
	if last := b.last.Load(); last != nil {
		want.client = last.client
		if *last == want {
			return last.client, nil
		}
	}
	config := c.CloneConfig() // with an http.Client of its own
	config.Address, config.AgentAddress = want.address, ""
	config.Timeout = want.timeout
	config.MaxRetries, config.DisableRedirects = 0, true
	config.HttpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	config.HttpClient.Transport = &bounded{config.HttpClient.Transport}
	bare, err := api.NewClient(config)
	if err != nil {
		return nil, fmt.Errorf("a client like this one: %w", err)
	}
	bare.ClearToken()
	bare.ClearNamespace()
	if want.namespace != "" {
		bare.SetNamespace(want.namespace)
	}
	want.client = bare
	b.last.Store(&want)
	return bare, nil
}

// bounded cuts answers off, since the client reads a refusal to its end.
type bounded struct{ base http.RoundTripper }

func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &rest{io.LimitReader(resp.Body, maxAnswer+1), resp.Body}
	return resp, nil
}

// ownRequest marks the context of a session's own requests, which its
// transport lets pass as they are.
type ownRequest struct{}

// patient marks the context of what Run does, which bounds it by itself: in the
// end for longer than a client waits, whose default is a minute.
type patient struct{}

// within bounds what is done with c's bareClient as c itself would.
func within(ctx context.Context, c *api.Client) (context.Context, context.CancelFunc) {
	if timeout := c.ClientTimeout(); timeout > 0 && ctx.Value(patient{}) == nil {
		return context.WithTimeout(ctx, timeout)
	}
	return context.WithCancel(ctx)
}

// send makes one request with token, or without one, and with the headers that
// c has now. An error is the client's *api.ResponseError or that of the
// connection, and its text has neither token nor jwt in it.
func (b *bareCache) send(ctx context.Context, c *api.Client, method, path, token string, body any) (answer, error) {
	a, err := b.attempt(ctx, c, method, path, token, body)
	if err != nil {
		err = scrub(err, token)
		if login, ok := body.(*loginRequest); ok {
			err = scrub(err, login.JWT)
		}
	}
	return a, err
}

// loginRequest is the body of a login.
type loginRequest struct {
	Role string `json:"role"`
	JWT  string `json:"jwt"`
}

func (b *bareCache) attempt(ctx context.Context, c *api.Client, method, path, token string, body any) (answer, error) {
	bare, err := b.get(c)
	if err != nil {
		return answer{}, err
	}
	r := c.NewRequest(method, "/v1/"+path)
	r.ClientToken = token
	r.WrapTTL = ""
	r.Headers.Del(tokenHeader)
	r.Headers.Del(wrapHeader)
	if body != nil {
		if err := r.SetJSONBody(body); err != nil {
			return answer{}, err
		}
	}
	ctx, cancel := within(context.WithValue(ctx, ownRequest{}, true), c)
	defer cancel()
	// Nothing else shows the headers of a refusal in both libraries.
	resp, err := bare.RawRequestWithContext(ctx, r) //lint:ignore SA1019 see above
	var a answer
	if resp != nil && resp.Response != nil {
		defer resp.Body.Close()
		a.retryAfter = retryAfter(resp.Header)
	}
	switch {
	case err != nil:
		return a, err
	case resp.StatusCode >= 300:
		return a, errRedirect
	}
	return a, a.read(resp.Body)
}

// errRedirect is what a standby answers that does not forward requests.
var errRedirect = errors.New("the answer is a redirect, which is not followed")

// read takes the secret and what the client's own type leaves out.
func (a *answer) read(body io.Reader) error {
	var read struct {
		api.Secret
		Auth *struct {
			api.SecretAuth
			NumUses int `json:"num_uses"`
		} `json:"auth"`
	}
	limited := &io.LimitedReader{R: body, N: maxAnswer}
	decoder := json.NewDecoder(limited)
	decoder.UseNumber() // as the client does
	switch err := decoder.Decode(&read); {
	case errors.Is(err, io.EOF): // 204, as revoke-self answers
		return nil
	case err != nil && limited.N == 0:
		return fmt.Errorf("%w: more than %d bytes", errBadAnswer, maxAnswer)
	case err != nil && !isSyntax(err):
		return err // of the connection
	case err != nil:
		// A decoder quotes what it stumbled on, which may be part of a token.
		return fmt.Errorf("%w: no JSON of a secret", errBadAnswer)
	}
	a.secret = &read.Secret
	if read.Auth != nil {
		a.secret.Auth, a.numUses = &read.Auth.SecretAuth, read.Auth.NumUses
	}
	return nil
}

func isSyntax(err error) bool {
	return errors.As(err, new(*json.SyntaxError)) || errors.As(err, new(*json.UnmarshalTypeError)) || errors.Is(err, io.ErrUnexpectedEOF)
}

var errBadAnswer = errors.New("not the answer of a login server")
