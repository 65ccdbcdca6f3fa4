package awspodidtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Upstream is the state of EKS Auth, the service that the agent asks for
// credentials.
type Upstream string

// The states. In those that pass, the agent retries for as long as the real
// one does before it answers, and succeeds if the state is another by then.
const (
	Healthy           Upstream = ""
	Throttled         Upstream = "throttled"                // 429 after 2.5 to 3.5 s
	ThrottledAs400    Upstream = "throttled, 400"           // the same with status 400
	InternalError     Upstream = "internal error"           // 500 after 0.5 to 1.5 s
	Unavailable       Upstream = "unavailable"              // 503 after 0.5 to 1.5 s
	Slow              Upstream = "slow"                     // 500 with the body "[]" after 6 s
	RoleDenied        Upstream = "role denied"              // 403: the role does not trust EKS
	NodeDenied        Upstream = "node denied"              // 403: the node may not ask
	TokenExpiredThere Upstream = "token expired over there" // 400: the clocks differ
)

// SetUpstream changes the state of EKS Auth. What the agent has in its cache
// it gives out in every state.
func (a *Agent) SetUpstream(u Upstream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.upstream = u
}

func (a *Agent) state() Upstream {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.upstream
}

func (a *Agent) count() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log.counts.Upstream++
}

// passing tells whether the agent retries.
func (u Upstream) passing() bool { return u.patience() > 0 }

// patience is how long the agent retries.
func (u Upstream) patience() time.Duration {
	upToOneSecond := time.Duration(rand.Int64N(int64(time.Second)))
	switch u {
	case Throttled, ThrottledAs400:
		return 2500*time.Millisecond + upToOneSecond
	case InternalError, Unavailable:
		return 500*time.Millisecond + upToOneSecond
	case Slow:
		return 6 * time.Second
	}
	return 0
}

// fetch asks EKS Auth for credentials, in the time that this takes.
func (a *Agent) fetch(c *call, token *presented) (*answer, error) {
	a.count()
	if err := a.wait(c.Context(), a.state().patience()); err != nil {
		return nil, err
	}
	entry, refusal := a.ask(token)
	if refusal != nil {
		return refusal, nil
	}
	return entry.answer(), nil
}

// ask is one call of AssumeRoleForPodIdentity.
func (a *Agent) ask(token *presented) (*cached, *answer) {
	if refusal := a.state().refusal(token); refusal != nil {
		return nil, refusal
	}
	if refusal := a.verify(token); refusal != nil {
		return nil, refusal
	}
	a.mu.Lock()
	role, found := a.associations[token.serviceAccount()]
	a.mu.Unlock()
	if !found {
		return nil, upstreamError(http.StatusNotFound, "ResourceNotFoundException",
			"No association found for the service account of the token", "client")
	}
	entry, left := a.store(token.digest, role)
	if entry == nil {
		return nil, plain(http.StatusInternalServerError, fmt.Sprintf(
			"fetched credentials are expired or will expire within the next %0.2f seconds", left.Seconds()))
	}
	return entry, nil
}

// refusal is what EKS Auth answers in a state, whatever the token.
func (u Upstream) refusal(token *presented) *answer {
	switch u {
	case Throttled:
		return upstreamError(http.StatusTooManyRequests, "ThrottlingException", "Rate exceeded", "client")
	case ThrottledAs400:
		return upstreamError(http.StatusBadRequest, "ThrottlingException", "Rate exceeded", "client")
	case InternalError:
		return upstreamError(http.StatusInternalServerError, "InternalServerException", "Internal server error", "server")
	case Unavailable:
		return upstreamError(http.StatusServiceUnavailable, "ServiceUnavailableException", "Service unavailable", "server")
	case Slow:
		return plain(http.StatusInternalServerError, "[]")
	case RoleDenied:
		return upstreamError(http.StatusForbidden, "AccessDeniedException",
			"Unauthorized Exception! EKS does not have permissions to assume the associated role.", "client")
	case NodeDenied:
		return upstreamError(http.StatusForbidden, "AccessDeniedException", nodeDenied, "client")
	case TokenExpiredThere:
		return expiredUpstream(token)
	}
	return nil
}

const nodeDenied = "User: arn:aws:sts::111122223333:assumed-role/node/i-0a1b2c3d4e5f60718 is not authorized to perform: " +
	"eks-auth:AssumeRoleForPodIdentity on resource: arn:aws:eks:eu-central-1:111122223333:cluster/shop " +
	"because no identity-based policy allows the eks-auth:AssumeRoleForPodIdentity action"

// verify does with a token what the agent leaves to EKS Auth.
func (a *Agent) verify(token *presented) *answer {
	if !slices.Contains(token.Audience, PodIdentityAudience) {
		return upstreamError(http.StatusBadRequest, "InvalidTokenException", "Audience not supported", "client")
	}
	_, err := a.issuer.Verify(token.reveal(), PodIdentityAudience)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrTokenExpired):
		return expiredUpstream(token)
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return upstreamError(http.StatusBadRequest, "InvalidTokenException", "Issuer not supported", "client")
	}
	return upstreamError(http.StatusBadRequest, "InvalidTokenException", "Token could not be verified", "client")
}

func expiredUpstream(token *presented) *answer {
	var expiry time.Time
	if token.ExpiresAt != nil {
		expiry = token.ExpiresAt.Time
	}
	return upstreamError(http.StatusBadRequest, "ExpiredTokenException", fmt.Sprintf(
		"The token included in the request is expired: current date/time %s must be before the expiration date/time %s",
		time.Now().UTC().Format(time.RFC3339Nano), expiry.UTC().Format(time.RFC3339)), "client")
}

// upstreamError is how the agent passes on what EKS Auth said.
func upstreamError(status int, code, message, fault string) *answer {
	a := plain(status, fmt.Sprintf("[%s]: (%s): %s, fault: %s", uuid(), code, message, fault))
	a.code = code
	return a
}
