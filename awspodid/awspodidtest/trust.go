package awspodidtest

import (
	"slices"
	"strings"
	"time"
)

// TrustPolicy says whose tokens may assume a role. The conditions must all be
// met; one that is empty always is, as in a trust policy that lacks it. The
// zero TrustPolicy lets every service account of the cluster in.
type TrustPolicy struct {
	// Provider is the issuer URL of the trusted OpenID Connect provider. If
	// empty, that of the issuer with which the STS was made.
	Provider string

	// Sub and Aud are the values of StringEquals for the token's claims, one
	// of which must be equal. A wild card has no meaning there, which is a
	// common mistake.
	Sub []string
	Aud []string

	// SubLike are the values of StringLike, with the wild cards * and ?.
	SubLike []string

	// MaxSessionDuration is the role's. If zero, one hour.
	MaxSessionDuration time.Duration
}

func (t TrustPolicy) trusts(token *claims) bool {
	in := func(list []string) func(string) bool {
		return func(value string) bool { return slices.Contains(list, value) }
	}
	switch {
	case len(t.Sub) > 0 && !slices.Contains(t.Sub, token.Subject):
	case len(t.SubLike) > 0 && !slices.ContainsFunc(t.SubLike, func(p string) bool { return like(p, token.Subject) }):
	case len(t.Aud) > 0 && !slices.ContainsFunc(token.Audience, in(t.Aud)):
	default:
		return true
	}
	return false
}

func (t TrustPolicy) maxSession() time.Duration {
	if t.MaxSessionDuration == 0 {
		return time.Hour
	}
	return t.MaxSessionDuration
}

// like is StringLike: * stands for any text, ? for one letter.
func like(pattern, text string) bool {
	head, tail, found := strings.Cut(pattern, "*")
	if len(text) < len(head) || !alike(head, text[:len(head)]) {
		return false
	}
	text = text[len(head):]
	if !found {
		return text == ""
	}
	for i := range len(text) + 1 {
		if like(tail, text[i:]) {
			return true
		}
	}
	return false
}

// alike compares texts of the same length.
func alike(pattern, text string) bool {
	for i := range len(pattern) {
		if pattern[i] != '?' && pattern[i] != text[i] {
			return false
		}
	}
	return true
}
