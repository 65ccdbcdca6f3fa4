package vaultauth

import (
	"bytes"
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
	of      *api.Client
	timeout time.Duration
	limiter *rate.Limiter
	client  *api.Client
}

// bareCache keeps the last bareClient: making one costs a third of a login on loopback.
type bareCache struct{ last atomic.Pointer[bareClient] }

func (b *bareCache) get(c *api.Client) (*api.Client, error) {
	timeout, limiter := c.ClientTimeout(), c.Limiter()
	if last := b.last.Load(); last != nil && last.of == c && last.timeout == timeout && last.limiter == limiter {
		return last.client, nil
	}
	bare, err := c.Clone()
	if err != nil {
		return nil, fmt.Errorf("cloning the client: %w", err)
	}
	bare.ClearToken()
	bare.SetMaxRetries(0)
	b.last.Store(&bareClient{of: c, timeout: timeout, limiter: limiter, client: bare})
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
	resp, err := bare.WithNamespace(c.Namespace()).RawRequestWithContext(ctx, r) //lint:ignore SA1019 see above
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

// read takes the secret and what the client's own parser leaves out.
func (a *answer) read(body io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(text) > maxAnswer {
		return fmt.Errorf("%w: more than %d bytes", errBadAnswer, maxAnswer)
	}
	if len(text) == 0 { // 204, as revoke-self answers
		return nil
	}
	secret, err := api.ParseSecret(bytes.NewReader(text))
	if err != nil {
		// A decoder quotes what it stumbled on, which may be part of a token.
		return fmt.Errorf("%w: no JSON of a secret", errBadAnswer)
	}
	var more struct {
		Auth struct {
			NumUses int `json:"num_uses"`
		}
	}
	if json.Unmarshal(text, &more) == nil {
		a.numUses = more.Auth.NumUses
	}
	a.secret = secret
	return nil
}

var errBadAnswer = errors.New("not the answer of a login server")
