package vaultauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// body.
type bareClient struct {
	of        *api.Client
	namespace string
	timeout   time.Duration
	limiter   *rate.Limiter
	client    *api.Client
}

// bareCache keeps the last bareClient: making one costs a third of a login on loopback.
type bareCache struct{ last atomic.Pointer[bareClient] }

func (b *bareCache) get(c *api.Client) (*api.Client, error) {
	want := bareClient{of: c, namespace: c.Namespace(), timeout: c.ClientTimeout(), limiter: c.Limiter()}
	if last := b.last.Load(); last != nil {
		want.client = last.client
		if *last == want {
			return last.client, nil
		}
	}
	bare, err := c.Clone()
	if err != nil {
		return nil, fmt.Errorf("cloning the client: %w", err)
	}
	bare.ClearToken()
	bare.ClearNamespace()
	if want.namespace != "" {
		bare.SetNamespace(want.namespace)
	}
	bare.SetMaxRetries(0)
	want.client = bare
	b.last.Store(&want)
	return bare, nil
}

// ownRequest marks the context of a session's own requests, which its
// transport lets pass as they are.
type ownRequest struct{}

// send makes one request, as c would make it now but for its token,
// response wrapping and retries. An error is either the client's
// *api.ResponseError or that of the transport.
func (b *bareCache) send(ctx context.Context, c *api.Client, method, path, token string, body any) (answer, error) {
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
	ctx = context.WithValue(ctx, ownRequest{}, true)
	// Nothing else shows the headers of a refusal in both libraries.
	resp, err := bare.RawRequestWithContext(ctx, r) //lint:ignore SA1019 see above
	var a answer
	if resp != nil && resp.Response != nil {
		defer resp.Body.Close()
		a.retryAfter = retryAfter(resp.Header)
	}
	if err != nil {
		return a, err
	}
	return a, a.read(resp.Body)
}

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
