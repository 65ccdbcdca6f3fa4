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

// telling is how many bytes in a row of a secret no text shows.
const telling = 8

// without replaces whatever a foreign text has of a secret by a mark: some
// parties quote the request, or only the beginning of it.
func without(text, secret, mark string) string {
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
		b.WriteString(mark)
		from = end
	}
	return b.String()
}
