package awspodid

import (
	"errors"
	"strings"

	"github.com/podtoken/podtoken/tokenfile"
)

// runbook says, for each failure, what to do at three in the morning. A text
// that names a section of it ends with this and the section's anchor.
const runbook = "; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#"

// The runbook's sections, by their anchors.
const (
	notInjected    = "aws-not-injected"
	otherInjected  = "aws-other-mechanism"
	outsidePod     = "aws-outside-a-pod"
	variablesGone  = "aws-variables-gone"
	halfInjected   = "aws-half-injected"
	noRegion       = "aws-region"
	badAddress     = "aws-agent-address"
	misconfigured  = "aws-misconfigured"
	httpClient     = "aws-http-client"
	waitEnded      = "aws-wait-ended"
	agentSilent    = "agent-unreachable"
	agentAnswer    = "agent-bad-answer"
	agentRefused   = "agent-token-refused"
	agentDenied    = "agent-access-denied"
	agentNoRole    = "agent-no-association"
	agentThrottled = "agent-rate-limited"
	agentFailed    = "agent-failed"
	stsSilent      = "sts-unreachable"
	stsAnswer      = "sts-bad-answer"
	stsClear       = "sts-not-https"
	stsExpired     = "sts-token-expired"
	stsAudience    = "sts-audience"
	stsKeys        = "sts-keys-unreachable"
	stsNoProvider  = "sts-no-provider"
	stsDenied      = "sts-access-denied"
	stsThrottled   = "sts-rate-limited"
	stsRefused     = "sts-refused"
)

// see ends the text about cause with a section of the runbook: with the one
// that cause names itself, if it does.
func see(section string, cause error) string {
	if named := namedBy(cause); named != "" {
		return named
	}
	return runbook + section
}

// namedBy is the end of a token file's error in err's chain, which names a
// section; "" if there is no such error.
func namedBy(err error) string {
	var file *tokenfile.Error
	if !errors.As(err, &file) {
		return ""
	}
	text := file.Error()
	if at := strings.LastIndex(text, runbook); at >= 0 {
		return text[at:]
	}
	return ""
}

// unseen is err's text without the section that it names, for a text around it
// to end with, and not to cut off.
func unseen(err error) string {
	named := namedBy(err)
	if named == "" {
		return err.Error()
	}
	return strings.ReplaceAll(err.Error(), named, "")
}

// section tells what is most likely to have happened.
func (e *NotInjectedError) section() string {
	in := e.Injection
	switch {
	case !in.InKubernetes && len(in.Variables) > 0:
		return outsidePod
	case in.Mounted != "":
		return variablesGone
	case e.injectedInstead():
		return otherInjected
	}
	return notInjected
}

func (e *InjectionError) section() string {
	switch {
	case errors.Is(e.Err, errHalf), errors.Is(e.Err, errEmpty):
		return halfInjected
	case e.Variable == fullURI:
		return badAddress
	case e.Variable == region:
		return noRegion
	}
	return misconfigured
}
