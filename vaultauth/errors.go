package vaultauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/vault/api"

	"github.com/podtoken/podtoken/tokenfile"
)

// ErrNotLoggedIn is what Session.Ready's error is when there is no usable
// token, whatever the reason.
var ErrNotLoggedIn = errors.New("not logged in")

// notReady is ErrNotLoggedIn and why, where no login has failed.
func notReady(why string, args ...any) error {
	return fmt.Errorf("vaultauth: %w"+why+notLoggedIn, append([]any{ErrNotLoggedIn}, args...)...)
}

// LoginError is every failure of a login. Its text says what was refused, what
// the token claims, and what to change where, and ends with the address of the
// runbook's section about it; it never holds a byte of a token.
//
// Unwrap leads to the cause: *tokenfile.Error if the token was not fit to be
// sent, *api.ResponseError if the server refused it, or the error of the
// connection.
type LoginError struct {
	Mount string // path of the auth method, without "auth/"
	Role  string
	Err   error

	Reason    Reason
	Namespace string // the namespace that the request named
	Address   string // of the server, without credentials

	// What the token claims that was sent; zero if none was.
	Audience []string
	Subject  string
	Expiry   time.Time

	now time.Time // when the request failed
}

func (e *LoginError) Unwrap() error { return e.Err }

func (e *LoginError) Error() string {
	var b strings.Builder
	b.WriteString("vaultauth: login")
	if e.Role != "" {
		b.WriteString(" as role " + quote(e.Role))
	}
	if e.Mount != "" {
		b.WriteString(" at auth/" + clean(e.Mount))
	}
	if e.Namespace != "" {
		b.WriteString(" in namespace " + quote(e.Namespace))
	}
	if e.Address != "" && e.Reason != TokenFile && e.Reason != Misconfigured {
		b.WriteString(" of " + e.Address)
	}
	b.WriteString(": " + causeText(e.Err))
	if e.Subject != "" || e.Audience != nil {
		b.WriteString("; the token that was sent claims " + e.claims())
	}
	if hint := e.hint(); hint != "" {
		b.WriteString("; " + hint)
	}
	return b.String() + see(e.Reason, e.Err)
}

// claims is what the server could have looked at.
func (e *LoginError) claims() string {
	aud := make([]string, 0, len(e.Audience))
	for i, a := range e.Audience {
		if i == 8 {
			aud = append(aud, "...")
			break
		}
		aud = append(aud, quote(a))
	}
	text := fmt.Sprintf("aud [%s], sub %s", strings.Join(aud, ", "), quote(e.Subject))
	if !e.Expiry.IsZero() {
		text += ", exp " + e.Expiry.UTC().Format(time.RFC3339)
		if !e.now.IsZero() {
			if left := e.Expiry.Sub(e.now).Round(time.Second); left >= 0 {
				text += " (in " + left.String() + ")"
			} else {
				text += " (" + (-left).String() + " ago)"
			}
		}
	}
	return text
}

// refused fills in why the server, or the way to it, did not accept token.
func (e *LoginError) refused(ctx context.Context, token *tokenfile.Token, err error) {
	e.Audience, e.Subject, e.Expiry, e.now = token.Audience(), token.Subject(), token.Expiry(), time.Now()
	e.Reason = reasonOf(ctx, err)
	e.Err = err
}

// scrub takes out of an error what must not be printed: a server or proxy that
// quotes the request, and a password in the address.
func scrub(err error, secret string) error {
	var refused *api.ResponseError
	if errors.As(err, &refused) {
		for i, text := range refused.Errors {
			refused.Errors[i] = withoutToken(text, secret)
		}
		if u, err := url.Parse(refused.URL); err == nil && u.User != nil {
			refused.URL = u.Redacted()
		}
	}
	if text := err.Error(); withoutToken(text, secret) != text {
		return &scrubbed{text: withoutToken(text, secret), timeout: errors.Is(err, context.DeadlineExceeded)}
	}
	return err
}

// scrubbed is in place of an error that quotes a secret, and so of its chain.
type scrubbed struct {
	text    string
	timeout bool
}

func (e *scrubbed) Error() string        { return e.text }
func (e *scrubbed) Is(target error) bool { return e.timeout && target == context.DeadlineExceeded }

// telling is how many bytes in a row of a secret no text shows.
const telling = 8

// withoutToken replaces whatever a text has of secret: some servers quote the
// request, or only the beginning of it.
func withoutToken(text, secret string) string {
	if len(secret) < telling || len(text) < telling {
		return text
	}
	known := make(map[string]bool, len(secret)) // pieces of it
	for end := telling; end <= len(secret); end++ {
		known[secret[end-telling:end]] = true
	}
	var b strings.Builder
	for from := 0; from < len(text); {
		end := from + telling
		for end <= len(text) && known[text[end-telling:end]] {
			end++
		}
		if end--; end < from+telling { // no piece begins here
			b.WriteByte(text[from])
			from++
			continue
		}
		b.WriteString("[token]")
		from = end
	}
	return b.String()
}

// causeText is the cause in one line of a length that a person reads.
func causeText(err error) string {
	if err == nil {
		return "unknown failure"
	}
	var refused *api.ResponseError
	if !errors.As(err, &refused) {
		return clean(unseen(err))
	}
	text := strings.TrimSpace(strings.Join(refused.Errors, "; "))
	if text == "" {
		text = "no reason given"
	}
	answer := fmt.Sprintf("the server answered %d %s", refused.StatusCode, quote(text))
	// What was put around the client's error, as a ctx that ended meanwhile.
	if around, found := strings.CutSuffix(err.Error(), refused.Error()); found && around != "" {
		answer = clean(strings.TrimSpace(around)) + " " + answer
	}
	return answer
}

const maxQuoted = 300 // bytes of a server's or a claim's text that is shown

// quote makes foreign text fit for a message: one line, bounded.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.QuoteToASCII(s[:maxQuoted]) + "..."
	}
	return strconv.Quote(s)
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

// address is where the client sends requests, fit for a text.
func address(c *api.Client) string {
	u, err := url.Parse(c.Address())
	if err != nil {
		return ""
	}
	return u.Redacted()
}
