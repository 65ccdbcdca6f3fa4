package vaultauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/podtoken/podtoken/tokenfile"
)

// DefaultMount is where a server has the Kubernetes auth method unless it was
// enabled elsewhere.
const DefaultMount = "kubernetes"

// Method logs in with the service-account token that Source reads. It serves
// both the kubernetes and the jwt auth method: they take the same request.
//
// Most programs put it into a [Session]. Where they only want to log in once,
// client.Auth().Login(ctx, method) does that.
//
// The token is read and validated anew at every attempt. A token that fails
// validation is never sent. The request carries neither the token that the
// client has from an earlier login nor a request to wrap the answer, and goes
// to the client's namespace; nothing on the client is changed.
//
// The fields are set before first use and not changed after. A Method may be
// used by many goroutines and with many clients; do not copy one that is used.
type Method struct {
	Role   string            // the role to log in as; empty: the default role of a jwt mount
	Mount  string            // path of the auth method, without "auth/"; empty: DefaultMount
	Source *tokenfile.Source // required: its Audience is what the role asks for

	bare bareCache
}

var _ api.AuthMethod = (*Method)(nil)

// Login logs in and returns the server's answer, whose Auth holds the client
// token. It does not set the token on client; client.Auth().Login does.
//
// An attempt that failed for a reason that passes soon (no connection, 429,
// 5xx) is repeated as often as the client's MaxRetries says, with the token
// that the file holds then. Every failure is a *LoginError.
func (m *Method) Login(ctx context.Context, client *api.Client) (*api.Secret, error) {
	a, err := m.login(ctx, client)
	return a.secret, err
}

func (m *Method) login(ctx context.Context, client *api.Client) (answer, error) {
	pauses := newPauses(soon)
	for retries := 0; ; retries++ {
		a, _, failed := m.attempt(ctx, client)
		if failed == nil {
			return a, nil
		}
		if !failed.Reason.passesSoon() || retries >= client.MaxRetries() || a.retryAfter > longestPause {
			return answer{}, failed
		}
		if err := sleep(ctx, pauses.after(a.retryAfter)); err != nil {
			failed.Reason = reasonOf(ctx, err)
			failed.Err = fmt.Errorf("%w while waiting to try again after: %w", err, failed.Err)
			return answer{}, failed
		}
	}
}

// longestPause is the longest Retry-After that Login waits for by itself.
const longestPause = 10 * time.Second

// attempt reads the token and sends it once. It returns the token that it
// read, nil if there was none to send.
func (m *Method) attempt(ctx context.Context, client *api.Client) (answer, *tokenfile.Token, *LoginError) {
	if err := m.check(client); err != nil {
		return answer{}, nil, err
	}
	token, err := m.Source.Token(ctx)
	if err != nil {
		failed := &LoginError{Mount: m.mount(), Role: m.Role, Namespace: client.Namespace(), Reason: TokenFile, Err: err}
		if errors.Is(ctx.Err(), context.Canceled) {
			failed.Reason = Canceled
		}
		return answer{}, nil, failed
	}
	a, err := m.bare.send(ctx, client, http.MethodPut, "auth/"+m.mount()+"/login", "", &loginRequest{Role: m.Role, JWT: token.Raw()})
	if err == nil {
		err = checkAuth(a.secret)
	}
	if err == nil {
		return a, token, nil
	}
	failed := &LoginError{Mount: m.mount(), Role: m.Role, Namespace: client.Namespace(), Address: address(client)}
	failed.refused(ctx, token, err)
	return a, token, failed
}

func (m *Method) mount() string {
	if m.Mount == "" {
		return DefaultMount
	}
	return strings.TrimPrefix(strings.Trim(m.Mount, "/"), "auth/")
}

// check says what is wrong with the fields.
func (m *Method) check(client *api.Client) *LoginError {
	var wrong string
	switch {
	case m == nil:
		return &LoginError{Reason: Misconfigured, Err: errors.New("no Method")}
	case client == nil:
		wrong = "no client"
	case m.Source == nil:
		wrong = "Method.Source is not set"
	case !isMount(m.mount()):
		wrong = "Method.Mount is not the path of an auth method"
	}
	err := errors.New(wrong)
	if wrong == "" {
		// What the client has from the environment may be no configuration.
		if _, err = m.bare.get(client); err == nil {
			return nil
		}
	}
	return &LoginError{Mount: m.mount(), Role: m.Role, Reason: Misconfigured, Err: err}
}

func isMount(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, notInPath) {
			return false
		}
	}
	return true
}

// notInPath knows what a server's path does not have, and what would change
// where a request goes.
func notInPath(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("?#%\\", r) }

var (
	errWrapped = errors.New("the answer is wrapped: something between this program and the server asks for response wrapping")
	errMFA     = errors.New("the server asks for a second factor, which a program cannot give: exempt this auth method from it")
	errNoToken = errors.New("the answer holds no client token")
)

// checkAuth says why an answer is not that of a login.
func checkAuth(secret *api.Secret) error {
	switch {
	case secret != nil && secret.WrapInfo != nil:
		return errWrapped
	case secret == nil || secret.Auth == nil:
		return errNoToken
	case secret.Auth.MFARequirement != nil:
		return errMFA
	case secret.Auth.ClientToken == "" || strings.ContainsFunc(secret.Auth.ClientToken, notInHeader):
		return errNoToken
	}
	return nil
}

// notInHeader knows what no server puts into a token and no header may hold.
func notInHeader(r rune) bool { return r <= ' ' || r >= 0x7f }
