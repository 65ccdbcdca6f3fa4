package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Finding is something to change in a manifest or in the cluster.
type Finding struct {
	Rule    string `json:"rule"`
	Level   Level  `json:"level"`
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1
	Object  string `json:"object"` // such as "Deployment shop/web"; empty for a comment between objects
	Message string `json:"message"`
	Mend    string `json:"mend"`
}

// String is the finding on one line, as compilers write theirs.
func (f Finding) String() string {
	object := ""
	if f.Object != "" {
		object = f.Object + ": "
	}
	return fmt.Sprintf("%s: %s: %s%s: %s", f.Place(), f.Rule, object, f.Message, f.Mend)
}

// Place is the file and the line, "FILE:LINE", on one line whatever the file's
// name is.
func (f Finding) Place() string { return fmt.Sprintf("%s:%d", printable(f.File), f.Line) }

// Level is how bad a finding is, in SARIF's words.
type Level string

// The levels.
const (
	LevelError   Level = "error"   // does not work, or will stop to
	LevelWarning Level = "warning" // works, and is a risk
	LevelNote    Level = "note"    // works; say what you mean
)

// AtLeast tells whether l is as bad as least, or worse.
func (l Level) AtLeast(least Level) bool {
	worst := []Level{LevelError, LevelWarning, LevelNote}
	return slices.Index(worst, l) <= slices.Index(worst, least)
}

// DocumentError is a document that cannot be read. Those after it are.
type DocumentError struct {
	File string
	Line int // in the file, from 1
	Err  error
}

func (e *DocumentError) Error() string {
	return fmt.Sprintf("%s:%d: %v", printable(e.File), e.Line, e.Err)
}

func (e *DocumentError) Unwrap() error { return e.Err }

const maxQuoted = 100 // bytes of a value that a message shows

// quote makes a value fit for a message: on one line, without control
// characters, and never a token that was pasted into the wrong field.
func quote(s string) string {
	if strings.Contains(s, "eyJ") {
		return "(a token)"
	}
	if len(s) > maxQuoted {
		return strconv.QuoteToASCII(s[:maxQuoted]) + "..."
	}
	return strconv.Quote(s)
}

// printable is a name as it is, or quoted where it would break a line.
func printable(name string) string {
	clean := len(name) <= maxQuoted*3
	for _, r := range name {
		clean = clean && strconv.IsPrint(r)
	}
	if clean && !strings.Contains(name, "eyJ") {
		return name
	}
	return quote(name)
}
