package vaultauth

import (
	"errors"
	"strings"

	"github.com/podtoken/podtoken/tokenfile"
)

// runbook says, for each failure, what to do at three in the morning. A text
// that names a section of it ends with this and the section's anchor.
const runbook = "; see https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#"

// The runbook's sections of what has no Reason of its own.
const (
	notLoggedIn = runbook + "not-logged-in"
	wrongFields = runbook + "login-misconfigured"
	deadToken   = runbook + "login-token-dead"
)

// sections are the anchors of the runbook by Reason. That of TokenFile is
// tokenfile's to name.
var sections = map[Reason]string{
	Misconfigured:    "login-misconfigured",
	AudienceRefused:  "login-audience-refused",
	NotBound:         "login-not-bound",
	NoSuchRole:       "login-no-such-role",
	IssuerRefused:    "login-issuer-refused",
	SignatureRefused: "login-signature-refused",
	ClockRefused:     "login-clock-refused",
	PermissionDenied: "login-permission-denied",
	NoSuchPath:       "login-no-such-path",
	KeysUnreachable:  "login-keys-unreachable",
	RateLimited:      "login-rate-limited",
	Sealed:           "login-sealed",
	Standby:          "login-standby",
	ServerFailed:     "login-server-failed",
	Unreachable:      "login-unreachable",
	BadAnswer:        "login-bad-answer",
	Refused:          "login-refused",
	Canceled:         "context-ended",
	TokenDead:        "login-token-dead",
	NotRenewable:     "login-not-renewable",
}

// see ends the text about cause with a section of the runbook: with the one
// that cause names itself, if it does.
func see(reason Reason, cause error) string {
	if named := namedBy(cause); named != "" {
		return named
	}
	section := sections[reason]
	if section == "" {
		section = sections[Refused]
	}
	return runbook + section
}

// namedBy is the end of an error of this project in err's chain that names a
// section, "" if there is none.
func namedBy(err error) string {
	var text string
	var file *tokenfile.Error
	var login *LoginError
	var renewal *renewError
	switch {
	case errors.As(err, &renewal):
		text = renewal.Error()
	case errors.As(err, &login):
		text = login.Error()
	case errors.As(err, &file):
		text = file.Error()
	}
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
