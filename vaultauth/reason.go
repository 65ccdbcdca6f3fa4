package vaultauth

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/hashicorp/vault/api"
)

// Reason tells failures apart, for metrics and for deciding what to do. It is
// made from the server's status and text, so it is what the server said and
// not always what is wrong: see PermissionDenied.
type Reason string

const (
	TokenFile        Reason = "token file"        // the token was not fit to be sent; nothing was sent
	Misconfigured    Reason = "misconfigured"     // a field of Method or Session is missing or wrong; nothing was sent
	AudienceRefused  Reason = "audience refused"  // the role wants another audience
	NotBound         Reason = "not bound"         // the role is not bound to this service account, namespace, subject or claim
	NoSuchRole       Reason = "no such role"      // the role does not exist at this mount
	IssuerRefused    Reason = "issuer refused"    // the mount trusts another issuer
	SignatureRefused Reason = "signature refused" // the mount does not have the key
	ClockRefused     Reason = "clock refused"     // expired, or not yet valid, by the server's clock
	PermissionDenied Reason = "permission denied" // 403 without a reason: no such mount, or the server could not or would not review the token
	NoSuchPath       Reason = "no such path"      // 404: namespace or mount
	KeysUnreachable  Reason = "keys unreachable"  // the server cannot fetch the issuer's keys
	RateLimited      Reason = "rate limited"      // 429
	Sealed           Reason = "sealed"            // 503
	Standby          Reason = "standby"           // the server has no active node to send the request to
	ServerFailed     Reason = "server failed"     // another 5xx
	Unreachable      Reason = "unreachable"       // no answer: name, connection, TLS or time
	BadAnswer        Reason = "bad answer"        // an answer that is not a login server's, or is wrapped
	Refused          Reason = "refused"           // another 4xx
	Canceled         Reason = "canceled"          // the caller's ctx ended
	TokenDead        Reason = "token dead"        // of a renewal: the server does not know the token any more
	NotRenewable     Reason = "not renewable"     // of a renewal: refused, and a login follows while the token lives
)

// passesSoon tells what heals by itself from what someone must mend.
func (r Reason) passesSoon() bool {
	switch r {
	case RateLimited, Sealed, Standby, ServerFailed, Unreachable, KeysUnreachable:
		return true
	}
	return false
}

// aboutToken says whether another token from the same file could fare better.
func (r Reason) aboutToken() bool {
	switch r {
	case TokenFile, AudienceRefused, NotBound, IssuerRefused, SignatureRefused, ClockRefused, PermissionDenied:
		return true
	}
	return false
}

// said finds a reason in a server's text. OpenBao's and Vault's words are the
// same where both have them; the first match counts.
var said = []struct {
	words  string
	reason Reason
}{
	{"fetching keys", KeysUnreachable},
	{"token is expired", ClockRefused},
	{"(exp) claim", ClockRefused},
	{"(nbf) claim", ClockRefused},
	{"(iat) claim", ClockRefused},
	{"not yet valid", ClockRefused},
	{"issued in the future", ClockRefused},
	{"(aud) claim", AudienceRefused},
	{"audience", AudienceRefused},
	{"(iss) claim", IssuerRefused},
	{`claim "iss" is invalid`, IssuerRefused},
	{"issuer", IssuerRefused},
	{"signature", SignatureRefused},
	{"(sub) claim", NotBound},
	{"bound claim", NotBound},
	{"not authorized", NotBound},
	{"could not be found", NoSuchRole},
	{"invalid role name", NoSuchRole},
	{"missing role", NoSuchRole},
	{"missing client token", NoSuchPath}, // the path is no login, in this namespace
	{"permission denied", PermissionDenied},
}

// reasonOf is why a request failed.
func reasonOf(ctx context.Context, err error) Reason {
	var refused *api.ResponseError
	if !errors.As(err, &refused) {
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return Canceled
		case errors.Is(err, errRedirect):
			return Standby
		case errors.Is(err, errWrapped), errors.Is(err, errMFA), errors.Is(err, errNoToken), errors.Is(err, errBadAnswer):
			return BadAnswer
		}
		return Unreachable
	}
	text := strings.ToLower(strings.Join(refused.Errors, "\n"))
	switch status := refused.StatusCode; {
	case status == http.StatusTooManyRequests:
		return RateLimited
	case strings.Contains(text, "active cluster node not found"), strings.Contains(text, "standby"),
		status == 472, status == 473: // disaster-recovery and performance standby
		return Standby
	case status == http.StatusServiceUnavailable && strings.Contains(text, "sealed"):
		return Sealed
	case status == http.StatusInternalServerError && !refused.RawError:
		return reasonIn(text, ServerFailed) // old servers refuse an issuer or an audience so
	case status >= 500, status == http.StatusPreconditionFailed: // 412: the node lags behind
		return ServerFailed
	case refused.RawError: // a proxy's page, whose words mean nothing
		return Refused
	case status == http.StatusNotFound:
		return NoSuchPath
	}
	return reasonIn(text, Refused)
}

func reasonIn(text string, otherwise Reason) Reason {
	for _, s := range said {
		if strings.Contains(text, s.words) {
			return s.reason
		}
	}
	return otherwise
}

// isLate says that no answer came in time.
func isLate(err error) bool {
	var timed interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timed) && timed.Timeout()
}

// isDead tells a token that is gone from one that may not do what was asked:
// both are a 403. OpenBao answers a bare "permission denied" for the first,
// Vault adds "invalid token"; both count their errors for the second.
func isDead(err error) bool {
	var refused *api.ResponseError
	if !errors.As(err, &refused) || refused.StatusCode != http.StatusForbidden || refused.RawError {
		return false
	}
	text := strings.Join(refused.Errors, "\n")
	return strings.Contains(text, "permission denied") && !deniedByPolicy(text)
}

// isDeadText knows Vault's text of a 403 for a dead token, which OpenBao does not have.
func isDeadText(text string) bool {
	return strings.Contains(text, "2 errors occurred") && strings.Contains(text, "permission denied") && strings.Contains(text, "invalid token")
}

// deniedByPolicy knows the text of a 403 for what a living token may not do.
func deniedByPolicy(text string) bool { return strings.Contains(text, "1 error occurred") }

// isRefusal says that a renewal will not succeed however often it is repeated.
func isRefusal(err error) bool {
	var refused *api.ResponseError
	if !errors.As(err, &refused) || refused.RawError {
		return false
	}
	switch refused.StatusCode {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return false
}
