package party

import (
	"strconv"
	"strings"
)

const maxQuoted = 300 // bytes of foreign text that are shown

// quote makes foreign text fit for a message: one line, bounded.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.QuoteToASCII(s[:maxQuoted]) + "..."
	}
	return strconv.Quote(s)
}

// clean is foreign text as it is where it is one short printable line, else
// quoted.
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

// telling is how many bytes in a row of a secret must not be in a text.
const telling = 8

// without replaces whatever a foreign text has of a secret by a mark: some
// parties quote the request, or only the beginning of it.
func without(text, secret, mark string) string {
	var b strings.Builder
	for text != "" {
		n := shared(text, secret)
		if n == 0 {
			b.WriteByte(text[0])
			n = 1
		} else {
			b.WriteString(mark)
		}
		text = text[n:]
	}
	return b.String()
}

// shared is how many bytes at the beginning of text are in secret, 0 if those
// are too few to tell.
func shared(text, secret string) int {
	if len(text) < telling || !strings.Contains(secret, text[:telling]) {
		return 0
	}
	n := telling
	for n < len(text) && strings.Contains(secret, text[:n+1]) {
		n++
	}
	return n
}
