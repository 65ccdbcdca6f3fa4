package party

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/baoauth"
	"github.com/podtoken/podtoken/tokenfile"
	"github.com/podtoken/podtoken/vaultauth"
)

// Outcome is what the end of a login says about the pod's identity.
type Outcome string

const (
	Accepted    Outcome = "accepted"    // the login succeeded
	Refused     Outcome = "rejected"    // the party answered, and refused the identity
	NoAnswer    Outcome = "unreachable" // nothing that says anything about the identity: no connection, sealed, throttled, 5xx
	NotSent     Outcome = "not sent"    // the token was not fit to be sent, or the party is not one that can be asked
	Interrupted Outcome = "interrupted" // the caller's ctx was canceled
)

// Rejected says that the party answered and refused the identity.
func Rejected(err error) bool { return Judge(err) == Refused }

// Unreachable says that there was no answer that says anything about the
// identity.
func Unreachable(err error) bool { return Judge(err) == NoAnswer }

// Judge tells what an error of Login says. What it does not know is NoAnswer,
// since it says nothing about the identity.
func Judge(err error) Outcome {
	var (
		vault *vaultauth.LoginError
		bao   *baoauth.LoginError
		agent *awspodid.AgentError
		sts   *awspodid.STSError
		other *HTTPError
	)
	switch {
	case err == nil:
		return Accepted
	case errors.Is(err, context.Canceled):
		return Interrupted
	case isTokenFile(err), isInjection(err), errors.Is(err, ErrNoTokenNeeded):
		return NotSent
	case errors.As(err, &vault):
		return outcomeOf(vault.Reason)
	case errors.As(err, &bao):
		return outcomeOf(vaultauth.Reason(bao.Reason))
	case errors.As(err, &agent) && refusedByAgent(agent), errors.As(err, &sts) && refusedBySTS(sts):
		return Refused
	case errors.As(err, &other) && (other.StatusCode == http.StatusUnauthorized || other.StatusCode == http.StatusForbidden):
		return Refused
	}
	return NoAnswer
}

// isTokenFile knows a token that was not fit to be sent, and not a read that
// was cut short.
func isTokenFile(err error) bool {
	return errors.As(err, new(*tokenfile.Error)) && !errors.Is(err, context.DeadlineExceeded)
}

func isInjection(err error) bool {
	return errors.As(err, new(*awspodid.NotInjectedError)) || errors.As(err, new(*awspodid.InjectionError))
}

// outcomeOf knows the reasons of vaultauth, and of baoauth, whose reasons are
// the same.
func outcomeOf(reason vaultauth.Reason) Outcome {
	switch reason {
	case vaultauth.TokenFile, vaultauth.Misconfigured:
		return NotSent
	case vaultauth.Canceled:
		return Interrupted
	case vaultauth.AudienceRefused, vaultauth.NotBound, vaultauth.NoSuchRole, vaultauth.IssuerRefused, vaultauth.SignatureRefused,
		vaultauth.ClockRefused, vaultauth.PermissionDenied, vaultauth.NoSuchPath, vaultauth.Refused:
		return Refused
	}
	return NoAnswer
}

func refusedByAgent(e *awspodid.AgentError) bool {
	return isClientError(e.StatusCode) && !strings.Contains(e.Message, "ThrottlingException")
}

// refusedBySTS knows the answers that are about the identity. A status without
// a code is a proxy's.
func refusedBySTS(e *awspodid.STSError) bool {
	switch {
	case e.Code == "", !isClientError(e.StatusCode), strings.HasPrefix(e.Code, "Throttling"):
		return false
	case e.Code == "RequestLimitExceeded", e.Code == "IDPCommunicationError":
		return false
	case e.Code == "InvalidIdentityToken" && strings.Contains(e.Message, "verification key"):
		return false // AWS could not fetch the issuer's keys just now
	}
	return true
}

func isClientError(status int) bool {
	return status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}
