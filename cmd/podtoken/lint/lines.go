package lint

import "bytes"

// lines are those of a document in its file. The parser also ends one at a lone
// "\r", at a NEL and at Unicode's two separators, where no editor does, so its
// numbers are not the file's wherever a text has those.
type lines struct {
	first int
	last  int   // of the document
	known []int // by the parser's number less one; nil where the two agree
}

var otherBreaks = [][]byte{[]byte("\u0085"), []byte("\u2028"), []byte("\u2029")}

func newLines(text []byte, first int) lines {
	l := lines{first: first, last: first + bytes.Count(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))}
	other := bytes.Count(text, []byte("\r")) > bytes.Count(text, []byte("\r\n"))
	for _, b := range otherBreaks {
		other = other || bytes.Contains(text, b)
	}
	if !other {
		return l
	}
	l.known = []int{first}
	for line := first; len(text) > 0; {
		end, newline := lineEnd(text)
		if newline {
			line++
		}
		if end > 0 {
			l.known = append(l.known, line)
		}
		text = text[max(end, 1):]
	}
	return l
}

// lineEnd is the length of what ends a line for the parser at the beginning of
// text, and whether an editor agrees.
func lineEnd(text []byte) (length int, newline bool) {
	switch {
	case text[0] == '\n':
		return 1, true
	case bytes.HasPrefix(text, []byte("\r\n")):
		return 2, true
	case text[0] == '\r':
		return 1, false
	}
	for _, b := range otherBreaks {
		if bytes.HasPrefix(text, b) {
			return len(b), false
		}
	}
	return 0, false
}

// of is the file's line for one of the parser's, which begin with 1, within the
// document.
func (l lines) of(line int) int {
	if l.known == nil {
		return max(l.first, min(l.first+line-1, l.last))
	}
	return l.known[max(0, min(line, len(l.known))-1)]
}
