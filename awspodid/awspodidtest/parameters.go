package awspodidtest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// assumption is what a request for AssumeRoleWithWebIdentity asks for, but for
// the token.
type assumption struct {
	role     string
	session  string
	duration time.Duration
}

// constraint is what a parameter must satisfy.
type constraint struct {
	parameter string // as sent; the texts begin it in lower case
	pattern   string // as the service writes it; "" for none
	allowed   *regexp.Regexp
	min, max  int
	secret    bool // its value is in no text
}

const (
	sessionPattern = `[\w+=,.@-]*`
	anyPattern     = `[\u0009\u000A\u000D\u0020-\u007E\u0085\u00A0-\uD7FF\uE000-\uFFFD\u10000-\u10FFFF]+`
)

var (
	sessionAllowed = regexp.MustCompile(`^[\w+=,.@-]*$`)
	anyAllowed     = regexp.MustCompile(`^[\x{9}\x{A}\x{D}\x{20}-\x{7E}\x{85}\x{A0}-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]+$`)
	roleARN        = regexp.MustCompile(`^arn:aws[\w-]*:iam::\d{12}:role/\S+$`)
)

var constraints = []constraint{
	{"RoleArn", anyPattern, anyAllowed, 20, 2048, false},
	{"RoleSessionName", sessionPattern, sessionAllowed, 2, 64, false},
	{"WebIdentityToken", "", nil, 4, 20000, true},
}

// parameters checks the parameters of AssumeRoleWithWebIdentity and lists all
// that is wrong with them, as the service does.
func parameters(form url.Values) (*assumption, *answer) {
	var wrong []string
	for _, constraint := range constraints {
		wrong = append(wrong, constraint.check(form)...)
	}
	duration, violations, refusal := duration(form)
	if refusal != nil {
		return nil, refusal
	}
	wrong = append(wrong, violations...)
	if len(wrong) > 0 {
		plural := ""
		if len(wrong) > 1 {
			plural = "s"
		}
		return nil, invalid(fmt.Sprintf("%d validation error%s detected: %s", len(wrong), plural, strings.Join(wrong, "; ")))
	}
	role := form.Get("RoleArn")
	if !roleARN.MatchString(role) {
		return nil, invalid("Request ARN is invalid")
	}
	return &assumption{role, form.Get("RoleSessionName"), duration}, nil
}

// check lists which constraints a parameter violates.
func (p constraint) check(form url.Values) []string {
	if !form.Has(p.parameter) {
		return []string{violation("null", p.parameter, "Member must not be null")}
	}
	value := form.Get(p.parameter)
	shown := "'" + redact(value) + "'"
	if p.secret {
		shown = ""
	}
	var wrong []string
	if p.allowed != nil && !p.allowed.MatchString(value) {
		wrong = append(wrong, violation(shown, p.parameter, "Member must satisfy regular expression pattern: "+p.pattern))
	}
	switch n := utf8.RuneCountInString(value); {
	case n < p.min:
		wrong = append(wrong, violation(shown, p.parameter, fmt.Sprint("Member must have length greater than or equal to ", p.min)))
	case n > p.max:
		wrong = append(wrong, violation(shown, p.parameter, fmt.Sprint("Member must have length less than or equal to ", p.max)))
	}
	return wrong
}

// duration reads how long a session is to be, an hour if the request does not
// say.
func duration(form url.Values) (time.Duration, []string, *answer) {
	const parameter, shortest, longest = "DurationSeconds", 900, 43200
	if !form.Has(parameter) {
		return time.Hour, nil, nil
	}
	text := form.Get(parameter)
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, nil, stsError(http.StatusBadRequest, "MalformedInput", "")
	}
	shown := "'" + text + "'"
	switch {
	case seconds < shortest:
		return 0, []string{violation(shown, parameter, fmt.Sprint("Member must have value greater than or equal to ", shortest))}, nil
	case seconds > longest:
		return 0, []string{violation(shown, parameter, fmt.Sprint("Member must have value less than or equal to ", longest))}, nil
	}
	return time.Duration(seconds) * time.Second, nil, nil
}

// violation is how the service words what is wrong with a parameter.
func violation(value, parameter, constraint string) string {
	if value != "" {
		value = " " + value
	}
	member := strings.ToLower(parameter[:1]) + parameter[1:]
	return fmt.Sprintf("Value%s at '%s' failed to satisfy constraint: %s", value, member, constraint)
}
