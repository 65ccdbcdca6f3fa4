package tokenfile

import (
	"context"
	"errors"
	"io/fs"
)

// runbook says, for each failure, what to do at three in the morning.
const runbook = "https://github.com/podtoken/podtoken/blob/main/docs/runbook.md"

// The runbook's sections, by their anchors.
const (
	fileMissing         = "token-file-missing"
	filePermission      = "token-file-permission"
	fileNotRegular      = "token-file-not-regular"
	fileNotRead         = "token-file-not-read"
	tokenMalformed      = "token-malformed"
	tokenNoExpiry       = "token-without-expiry"
	tokenExpired        = "token-expired"
	tokenFrozen         = "token-mounted-by-subpath"
	tokenWrittenLate    = "token-expired-when-written"
	tokenMinTTL         = "token-below-minttl"
	tokenNotYetValid    = "token-not-yet-valid"
	tokenAudience       = "token-audience"
	tokenIssuer         = "token-issuer"
	tokenSubject        = "token-subject"
	tokenLifetime       = "token-lifetime"
	tokenStale          = "token-stale"
	noNotifications     = "no-file-notifications"
	sourceMisconfigured = "source-misconfigured"
	contextEnded        = "context-ended"
)

// see ends a text with a section of the runbook.
func see(section string) string {
	if section == "" {
		return ""
	}
	return "; see " + runbook + "#" + section
}

// sectionOf is where the runbook has err, "" if err names a section itself.
// What gave up waiting is about what it waited for.
func sectionOf(err error) string {
	var expired *ExpiredError
	var claim *ClaimError
	switch {
	case as[*Error](err):
		return ""
	case isConfigError(err):
		return sourceMisconfigured
	case errors.Is(err, fs.ErrNotExist):
		return fileMissing
	case errors.Is(err, fs.ErrPermission):
		return filePermission
	case as[*kindError](err):
		return fileNotRegular
	case errors.Is(err, ErrMalformed):
		return tokenMalformed
	case errors.Is(err, ErrNoExpiry):
		return tokenNoExpiry
	case errors.As(err, &expired):
		return expired.section()
	case as[*NotYetValidError](err):
		return tokenNotYetValid
	case as[*AudienceError](err):
		return tokenAudience
	case errors.As(err, &claim):
		return claim.section()
	case as[*LifetimeError](err):
		return tokenLifetime
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return contextEnded
	}
	return fileNotRead
}

// section tells what is most likely to have happened.
func (e *ExpiredError) section() string {
	switch {
	case e.frozen:
		return tokenFrozen
	case e.Now.Before(e.Expiry) && e.Now.Before(e.due.Add(kubeletPeriod)):
		return tokenMinTTL
	case e.Modified.After(e.Expiry) && !e.Modified.After(e.Now):
		return tokenWrittenLate
	}
	return tokenExpired
}

func (e *ClaimError) section() string {
	if e.Claim == "sub" {
		return tokenSubject
	}
	return tokenIssuer
}
