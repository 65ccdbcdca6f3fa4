package awspodid

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
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
	if isTokenFile(err) { // Source has looked twice already
		return aws.FalseTernary
	}
	if errors.Is(err, errAddress) || errors.Is(err, errFollowed) || errors.Is(err, errClear) {
		return aws.FalseTernary
	}
	if refused := new(AgentError); errors.As(err, &refused) && refused.StatusCode != 0 {
		return aws.BoolTernary(agentHeals(refused))
	}
	if refused := new(STSError); errors.As(err, &refused) {
		switch refused.Code {
		case "InvalidIdentityToken":
			// One code for two things: AWS did not get the issuer's keys just now, or the token is wrong.
			return aws.BoolTernary(strings.Contains(refused.Message, "verification key"))
		case "IDPCommunicationError":
			return aws.TrueTernary
		}
	}
	return aws.UnknownTernary
}

// agentHeals knows an answer of the agent that may be another in a moment.
func agentHeals(e *AgentError) bool {
	return e.StatusCode == http.StatusTooManyRequests || e.StatusCode >= 500 || strings.Contains(e.Message, "ThrottlingException")
}

// isTokenFile knows a token that could not be sent, and not one whose reading
// was cut short.
func isTokenFile(err error) bool {
	return errors.As(err, new(*tokenfile.Error)) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// isThrottle knows a rate limit of either.
func isThrottle(err error) bool {
	if refused := new(AgentError); errors.As(err, &refused) {
		return refused.StatusCode == http.StatusTooManyRequests || strings.Contains(refused.Message, "ThrottlingException")
	}
	refused := new(STSError)
	return errors.As(err, &refused) && (strings.HasPrefix(refused.Code, "Throttling") || refused.Code == "RequestLimitExceeded")
}

// heals says whether a fetch that failed in all its attempts may succeed soon.
func heals(err error) bool {
	if refused := new(AgentError); errors.As(err, &refused) {
		return refused.StatusCode == 0 || agentHeals(refused)
	}
	if refused := new(STSError); errors.As(err, &refused) {
		switch refused.Code {
		case "InvalidIdentityToken", "AccessDenied", "AccessDeniedException", "ExpiredTokenException", "ValidationError", "MissingParameter":
			return false
		}
	}
	return true
}

// retryAfter is what a refusal asked for.
func retryAfter(err error) time.Duration {
	if refused := new(AgentError); errors.As(err, &refused) {
		return min(refused.retryAfter, longestRetryAfter)
	}
	return 0
}

// longestRetryAfter bounds what an answer can ask for.
const longestRetryAfter = 5 * time.Minute

// awsCode finds the code in the agent's text: "[ID]: (Code): message".
var awsCode = regexp.MustCompile(`\(([A-Za-z]{1,64})\):`)

// reasonOf tells failures apart for the log, without what changes each time.
func reasonOf(err error) string {
	if refused := new(AgentError); errors.As(err, &refused) && refused.StatusCode != 0 {
		return fmt.Sprint(refused.StatusCode, awsCode.FindString(refused.Message))
	}
	if refused := new(STSError); errors.As(err, &refused) && refused.Code != "" {
		return refused.Code
	}
	if file := new(tokenfile.Error); errors.As(err, &file) {
		return fmt.Sprintf("token file: %T", file.Err)
	}
	return "unreachable"
}
