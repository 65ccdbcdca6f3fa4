package awspodid

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// hint says what to mend, by what the agent's statuses mean, and where the
// runbook says more.
func (e *AgentError) hint() (text, section string) {
	if isTokenFile(e.Err) {
		return "nothing was sent", agentRefused // its error has a section of its own
	}
	switch e.StatusCode {
	case 0:
		return e.hintNoAnswer()
	case http.StatusBadRequest:
		if strings.Contains(e.Message, "ThrottlingException") {
			return shareOne, agentThrottled
		}
		return "the agent, or EKS behind it, refused the token", agentRefused
	case http.StatusForbidden:
		if strings.Contains(e.Message, "invalid address") {
			return "the request reached the agent by another address than its own", badAddress
		}
		return "EKS refused: compare the trust policy of the association's role (pods.eks.amazonaws.com, sts:AssumeRole and sts:TagSession) " +
			"and the node role's eks-auth:AssumeRoleForPodIdentity", agentDenied
	case http.StatusNotFound:
		if !strings.Contains(e.Message, "ResourceNotFoundException") {
			return "there is nothing at this path: compare " + fullURI + " with what the webhook injects", badAddress
		}
		return fmt.Sprintf("there is no association for %s in this cluster; it may have been deleted after this pod was admitted", quote(e.Subject)), agentNoRole
	case http.StatusTooManyRequests:
		return shareOne, agentThrottled
	}
	switch {
	case e.StatusCode >= 500:
		return "the agent could not get credentials from EKS", agentFailed
	case e.StatusCode >= 300 && e.StatusCode < 400:
		return "redirects are not followed: they would take the token elsewhere", agentAnswer
	}
	return "", agentAnswer
}

const shareOne = "a rate limit: share one provider in the program"

// hintNoAnswer is the hint where the agent did not answer, or something else did.
func (e *AgentError) hintNoAnswer() (text, section string) {
	switch {
	case errors.Is(e.Err, errAnswer):
		return "what answers at this address is not the agent, or this host's clock is wrong", agentAnswer
	case errors.Is(e.Err, errAddress):
		return "nothing was sent", badAddress
	case errors.Is(e.Err, errFollowed), errors.Is(e.Err, errNoAnswer):
		return "that is a matter of Options.HTTPClient", httpClient
	case errors.As(e.Err, new(*net.DNSError)), errors.As(e.Err, new(*tls.CertificateVerificationError)):
		return "compare " + fullURI + " with what the webhook injects", badAddress
	}
	return "the agent does not answer on this node: is the eks-pod-identity-agent add-on installed, does its DaemonSet run here " +
		"(it does not on Fargate and Windows), and does no network policy or firewall rule block the address?", agentSilent
}

// hint says what to mend, by what STS's codes mean, and where the runbook says
// more.
func (e *STSError) hint() (text, section string) {
	switch {
	case isTokenFile(e.Err):
		return "nothing was sent", stsRefused // its error has a section of its own
	case errors.Is(e.Err, errClear):
		return "nothing was sent", stsClear
	}
	switch e.Code {
	case "":
		if e.StatusCode != 0 || errors.Is(e.Err, errAnswer) {
			return "what answered is not STS, or this host's clock is wrong: is there a proxy on the way?", stsAnswer
		}
		return "STS was not reached: is there a way to it from this pod (a NAT gateway or a VPC endpoint of the region)?", stsSilent
	case "ExpiredTokenException":
		return "the token is good by this host's clock and not by AWS's: compare the two", stsExpired
	case "InvalidIdentityToken":
		return e.hintInvalid()
	case "AccessDenied", "AccessDeniedException":
		host := strings.TrimPrefix(e.Issuer, "https://")
		return fmt.Sprintf("the role does not exist, or its trust policy does not allow this: its condition must be StringEquals %s = %s and %s = %s, and its principal the provider of this cluster",
			quote(host+":sub"), quote(e.Subject), quote(host+":aud"), quote(firstOf(append(e.Audience, "sts.amazonaws.com")...))), stsDenied
	case "IDPCommunicationError":
		return "AWS could not reach the cluster's issuer for the moment", stsKeys
	case "Throttling", "ThrottlingException", "RequestLimitExceeded":
		return shareOne, stsThrottled
	}
	return "", stsRefused
}

// hintInvalid is the hint for the code that STS has for three things.
func (e *STSError) hintInvalid() (text, section string) {
	switch {
	case strings.Contains(e.Message, "audience"):
		return fmt.Sprintf("the audiences of the IAM OpenID Connect provider do not hold %s", quoteAll(e.Audience)), stsAudience
	case strings.Contains(e.Message, "verification key"):
		return "AWS could not fetch the cluster's keys for the moment", stsKeys
	}
	return fmt.Sprintf("IAM needs an OpenID Connect provider for %s in the role's account", quote(e.Issuer)), stsNoProvider
}

const maxQuoted = 300 // bytes of foreign text that are shown

// quote makes foreign text fit for a message: one line, bounded.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.QuoteToASCII(s[:maxQuoted]) + "..."
	}
	return strconv.Quote(s)
}

func quoteAll(texts []string) string {
	quoted := make([]string, 0, len(texts))
	for i, t := range texts {
		if i == 8 {
			quoted = append(quoted, "...")
			break
		}
		quoted = append(quoted, quote(t))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// clean is foreign text as it is where it is one printable line, else quoted.
func clean(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return quote(s)
		}
	}
	if len(s) > 4*maxQuoted {
		return s[:4*maxQuoted] + "..."
	}
	return s
}
