package doctor

import (
	"fmt"
	"strings"

	"github.com/podtoken/podtoken/cmd/podtoken/container"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	LevelError   Level = "error"   // does not work, or will stop to
	LevelWarning Level = "warning" // works, and is a risk
	LevelNote    Level = "note"    // for the record
)

var severity = map[Level]int{LevelError: 0, LevelWarning: 1, LevelNote: 2}

// Worse says whether a level is as bad as another, or worse.
func (l Level) Worse(other Level) bool { return severity[l] <= severity[other] }

// Finding is something to change in the pod, on its node or at a relying party.
// Of Token, Variable and Party those are set that it is about.
type Finding struct {
	Rule     string `json:"rule"`
	Level    Level  `json:"level"`
	Token    string `json:"token"`    // path of the file
	Variable string `json:"variable"` // of the environment
	Party    string `json:"party"`    // a relying party, for a person
	Message  string `json:"message"`
	Mend     string `json:"mend"`
	See      string `json:"see"` // the runbook's section, with the commands
}

// Subject is what the finding is about, for a person; empty for the container.
func (f Finding) Subject() string {
	var parts []string
	for _, part := range []string{f.Token, f.Variable, f.Party} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// String is the finding on one line.
func (f Finding) String() string {
	text := f.Rule + " "
	if subject := f.Subject(); subject != "" {
		text += subject + ": "
	}
	return fmt.Sprintf("%s%s: %s", text, f.Message, f.Mend)
}

const runbook = "https://github.com/podtoken/podtoken/blob/main/docs/runbook.md#"

// see takes the address of the runbook off the end of an error's text. Where
// there is none, it is the rule's.
func (r *Rule) see(text string) (message, address string) {
	if message, section, ok := strings.Cut(text, "; see "+runbook); ok && !strings.ContainsAny(section, " ;") {
		return message, runbook + section
	}
	return text, runbook + r.section
}

// mendFor is a rule's mend with the names of this pod, as far as they are known.
func mendFor(r *Rule, id container.Identity) string {
	var pairs []string
	for _, p := range [][2]string{{"NAMESPACE", id.Namespace}, {"POD", id.Pod}, {"NODE", id.Node}} {
		if p[1] != "" {
			pairs = append(pairs, p[0], p[1])
		}
	}
	return strings.NewReplacer(pairs...).Replace(r.Mend)
}
