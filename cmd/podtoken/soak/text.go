package soak

import (
	"fmt"
	"strings"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
)

// String is the verdict for a person, on several lines.
func (v Verdict) String() string {
	return v.Text(func(_ State, text string) string { return text })
}

// Text is String with each state's word as colour gives it back.
func (v Verdict) Text(colour func(State, string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s, %s of %s\n", v.Party, printable(v.Subject), printable(v.Path), v.during())
	fmt.Fprintf(&b, "%s; %s\n\n", v.loginCounts(), count(v.Rotated, "rotation"))
	for _, p := range v.Points {
		p.write(&b, colour)
	}
	fmt.Fprintf(&b, "\n%s\n", v.sentence(colour))
	if len(v.ByHand) > 0 {
		b.WriteString("\nStill to be done by hand, since no pod can see it:\n")
	}
	for _, step := range v.ByHand {
		fmt.Fprintf(&b, "  - %s:\n      %s\n", step.What, step.Command)
	}
	return b.String()
}

func (v Verdict) during() string {
	return fmt.Sprintf("%s to %s (%s)", stamp(v.Began), stamp(v.Ended), short(v.Ended.Sub(v.Began)))
}

func (v Verdict) loginCounts() string {
	var parts []string
	for _, outcome := range lanes {
		if n := v.Logins[outcome]; n > 0 || outcome == party.Accepted {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	return "logins: " + strings.Join(parts, ", ")
}

// stateWidth is that of the longest state.
const stateWidth = len(NotYet)

func (p Point) write(b *strings.Builder, colour func(State, string) string) {
	word := fmt.Sprintf("%-*s", stateWidth, p.State)
	indent := strings.Repeat(" ", stateWidth+2)
	fmt.Fprintf(b, "%s  %s\n", colour(p.State, word), p.Claim)
	writeWrapped(b, indent, p.Evidence)
	if p.Mend != "" && p.State != Held {
		writeWrapped(b, indent, "-> "+p.Mend)
	}
}

// columns is what a line of words has at most; one long word may have more.
const columns = 110

func writeWrapped(b *strings.Builder, indent, text string) {
	line := indent
	for word := range strings.SplitSeq(text, " ") {
		if len(line)+len(word) > columns && line != indent {
			fmt.Fprintln(b, strings.TrimRight(line, " "))
			line = indent
		}
		line += word + " "
	}
	fmt.Fprintln(b, strings.TrimRight(line, " "))
}

// sentence is the verdict itself.
func (v Verdict) sentence(colour func(State, string) string) string {
	held := fmt.Sprintf("%d of %d points held", v.count(Held), len(v.Points))
	if n := v.count(NotSeen); n > 0 {
		held += fmt.Sprintf(", %d not seen", n)
	}
	switch {
	case v.Passed:
		return colour(Held, "passed") + ": " + held + v.because()
	case v.count(Failed) > 0:
		held += fmt.Sprintf(", %d failed", v.count(Failed))
		if n := v.count(NotYet); n > 0 {
			held += fmt.Sprintf(", %d not shown yet", n)
		}
		return colour(Failed, "failed") + ": " + held + v.because()
	}
	return fmt.Sprintf("%s: %s, %d not shown yet%s", colour(NotYet, "not shown yet"), held, v.count(NotYet), v.because())
}

// because says how it ended, where that is not as asked for.
func (v Verdict) because() string {
	switch v.Ending {
	case Interrupted:
		return " when it was interrupted"
	case FirstRejected:
		return "; it ended at once, since the first login was rejected"
	case Stuck:
		return "; it ended since the token has expired and no new one came"
	}
	return ""
}
