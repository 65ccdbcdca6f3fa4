package main

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
)

// doctorPerson prints a report for one.
type doctorPerson struct{ person }

func (p *doctorPerson) report(r *doctor.Report) {
	p.heading(r)
	p.tokens(r)
	p.aws(r.AWS)
	p.logins(r.Logins)
	p.findings(r)
}

// heading says where this is.
func (p *doctorPerson) heading(r *doctor.Report) {
	c := r.Container
	var parts []string
	add := func(format, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	if c.Pod != "" {
		add("pod %s", path.Join(c.Namespace, c.Pod))
	} else {
		add("namespace %s", c.Namespace)
	}
	add("service account %s", c.ServiceAccount)
	add("node %s", c.Node)
	if c.UID >= 0 {
		add("%s", fmt.Sprintf("uid %d, gid %d", c.UID, c.GID))
	}
	if !c.Started.IsZero() {
		add("started %s ago", doctor.Rough(r.At.Sub(c.Started)))
	}
	p.printf("%s\n", wrapped(strings.Join(parts, ", "), ""))
}

// tokens prints a table that fits a terminal.
func (p *doctorPerson) tokens(r *doctor.Report) {
	if len(r.Tokens) == 0 {
		return
	}
	p.printf("\nTOKEN\n%s\n", columns("AUDIENCE", "LIFE", "AGE", "ROTATED", "NEXT", "MODE"))
	for _, t := range r.Tokens {
		p.printf("%s\n%s\n", t.Path, columns(audience(t), life(t), age(t), rotated(t), next(t, r.At), t.Mode))
	}
}

// columns is what a table has of one token, below its path, which is for
// copying and so in one piece.
func columns(cells ...any) string {
	t := table.NewWriter()
	t.SetStyle(tableStyle())
	var configs []table.ColumnConfig
	for i, width := range []int{25, 10, 12, 7, 9, 4} {
		configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMin: width, WidthMax: width, WidthMaxEnforcer: text.WrapHard})
	}
	t.SetColumnConfigs(configs)
	t.AppendRow(cells)
	return "  " + strings.ReplaceAll(trimmed(t.Render()), "\n", "\n  ")
}

// tableStyle is columns and nothing between them.
func tableStyle() table.Style {
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	return style
}

// trimmed takes the padding off the ends of lines.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

const notKnown = "-"

func life(t doctor.Token) string {
	switch {
	case t.Legacy:
		return "no end"
	case t.Lifetime == 0:
		return notKnown
	case t.Extended:
		return doctor.Rough(time.Duration(t.Lifetime)) + " (" + doctor.Rough(time.Duration(t.Rotated)) + ")"
	}
	return doctor.Rough(time.Duration(t.Lifetime))
}

func audience(t doctor.Token) string {
	if len(t.Audience) == 0 {
		return notKnown
	}
	return strings.Join(t.Audience, "\n")
}

// age is the token's, and of what the kubelet rotates at 80 % of.
func age(t doctor.Token) string {
	if t.Age == 0 {
		return notKnown
	}
	text := doctor.Rough(time.Duration(t.Age))
	if t.Age > 0 && t.Rotated > 0 {
		text += fmt.Sprintf(" %.0f %%", 100*float64(t.Age)/float64(t.Rotated))
	}
	return text
}

func rotated(t doctor.Token) string {
	switch t.Rotation {
	case doctor.RotationSeen:
		return "yes"
	case doctor.RotationAwaited:
		return "not yet"
	}
	return string(t.Rotation)
}

func next(t doctor.Token, now time.Time) string {
	switch left := t.RotationAt.Sub(now); {
	case t.RotationAt.IsZero():
		return notKnown
	case left < 0:
		return "due"
	default:
		return "in " + doctor.Rough(left)
	}
}

func (p *doctorPerson) aws(a *doctor.AWS) {
	if a == nil {
		return
	}
	mechanism := a.Mechanism
	if mechanism == "" {
		mechanism = p.colour(red, "none that can be used")
	}
	p.printf("\nAWS identity: %s\n", mechanism)
	for _, v := range a.Variables {
		value := v.Value
		if value == "" {
			value = "(set)"
		}
		p.printf("    %s=%s\n", v.Name, value)
	}
}

func (p *doctorPerson) logins(logins []doctor.Login) {
	for i, l := range logins {
		if i == 0 {
			p.printf("\n")
		}
		verdict := p.colour(green, "ok")
		if !l.OK {
			verdict = p.colour(red, "failed")
		}
		p.printf("login %s after %.0f ms: %s\n", verdict, l.Millis, l.Party)
	}
}

func (p *doctorPerson) findings(r *doctor.Report) {
	codes := map[doctor.Level]string{doctor.LevelError: red, doctor.LevelWarning: yellow, doctor.LevelNote: cyan}
	for _, f := range r.Findings {
		subject := ""
		if f.Subject() != "" {
			subject = " " + p.colour(bold, f.Subject())
		}
		p.printf("\n%s %s%s\n%s\n%s\n    see %s\n", p.colour(codes[f.Level], string(f.Level)), f.Rule, subject,
			wrapped(f.Message, "    "), p.colour(green, wrapped("mend: "+f.Mend, "    ")), f.See)
	}
	for _, text := range r.Errors {
		fmt.Fprintln(p.stderr, "podtoken doctor:", text)
	}
	if r.Healthy() {
		p.printf("\n%s\n", p.colour(green, "healthy"))
	}
}

// terminalWidth is that of a terminal which is not wide.
const terminalWidth = 80

// wrapped breaks a text between words, and never within one: commands and paths
// are for copying.
func wrapped(s, indent string) string {
	return indent + strings.ReplaceAll(trimmed(text.WrapSoft(s, terminalWidth-len(indent))), "\n", "\n"+indent)
}
