package awspodid

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/podtoken/podtoken/tokenfile"
)

// newRetryer is the SDK's standard one, with the knowledge of what the agent
// and STS mean by their answers.
func newRetryer() *retry.Standard {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxBackoff = 2 * time.Second // a caller may be waiting
		o.Retryables = append([]retry.IsErrorRetryable{retry.IsErrorRetryableFunc(isRetryable)}, o.Retryables...)
	})
}

// isRetryable decides on what the SDK does not know, or sees otherwise.
func isRetryable(err error) aws.Ternary {
	if errors.As(err, new(*tokenfile.Error)) {
		return aws.FalseTernary // Source has looked twice already
	}
	if errors.Is(err, errAddress) {
		return aws.FalseTernary
	}
	if refused := new(AgentError); errors.As(err, &refused) && refused.StatusCode != 0 {
		return aws.BoolTernary(agentHeals(refused))
	}
	if refused := new(STSError); errors.As(err, &refused) && refused.Code == "InvalidIdentityToken" {
		// One code for two things: AWS did not get the issuer's keys just now, or the token is wrong.
		return aws.BoolTernary(strings.Contains(refused.Message, "verification key"))
	}
	return aws.UnknownTernary
}

// agentHeals knows an answer of the agent that may be another in a moment.
func agentHeals(e *AgentError) bool {
	return e.StatusCode == http.StatusTooManyRequests || e.StatusCode >= 500 || strings.Contains(e.Message, "ThrottlingException")
}

// heals says whether a fetch that failed in all its attempts may succeed soon.
func heals(err error) bool {
	if refused := new(AgentError); errors.As(err, &refused) {
		return refused.StatusCode == 0 && !errors.As(err, new(*tokenfile.Error)) || agentHeals(refused)
	}
	if refused := new(STSError); errors.As(err, &refused) {
		switch refused.Code {
		case "InvalidIdentityToken", "AccessDenied", "AccessDeniedException", "ExpiredTokenException", "ValidationError", "MissingParameter":
			return false
		case "":
			return !errors.As(err, new(*tokenfile.Error))
		}
	}
	return true
}

// retryAfter is what a refusal asked for.
func retryAfter(err error) time.Duration {
	if refused := new(AgentError); errors.As(err, &refused) {
		return min(refused.retryAfter, flightTime)
	}
	return 0
}

// reasonOf tells failures apart for the log, without what changes each time.
func reasonOf(err error) string {
	if refused := new(AgentError); errors.As(err, &refused) && refused.StatusCode != 0 {
		return http.StatusText(refused.StatusCode)
	}
	if refused := new(STSError); errors.As(err, &refused) && refused.Code != "" {
		return refused.Code
	}
	if file := new(tokenfile.Error); errors.As(err, &file) {
		return "token file"
	}
	return "unreachable"
}
