package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/podtoken/podtoken/cmd/podtoken/lint"
)

// person prints for one.
type person struct {
	w, stderr io.Writer
	colours   bool
	count     int
	err       error // of the first write that failed
}

const (
	bold, red, yellow, cyan, green = "1", "31", "33", "36", "32"
)

func (p *person) colour(code, text string) string {
	if !p.colours {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p *person) finding(f lint.Finding) {
	p.count++
	code := map[lint.Level]string{lint.LevelError: red, lint.LevelWarning: yellow, lint.LevelNote: cyan}[f.Level]
	object := ""
	if f.Object != "" {
		object = f.Object + ": "
	}
	p.printf("%s %s %s%s\n    %s\n", p.colour(bold, f.Place()+":"), p.colour(code, f.Rule),
		object, f.Message, p.colour(green, f.Mend))
}

func (p *person) unreadable(err error) { fmt.Fprintln(p.stderr, err) }

func (p *person) end() error {
	if p.count > 0 {
		plural := "s"
		if p.count == 1 {
			plural = ""
		}
		p.printf("%d finding%s\n", p.count, plural)
	}
	return p.err
}

func (p *person) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.w, format, args...); p.err == nil {
		p.err = err
	}
}

// jsonPrinter prints one object: findings and what could not be read.
type jsonPrinter struct {
	w, stderr io.Writer
	findings  []lint.Finding
	errors    []string
}

func (p *jsonPrinter) finding(f lint.Finding) { p.findings = append(p.findings, f) }

func (p *jsonPrinter) unreadable(err error) {
	p.errors = append(p.errors, err.Error())
	fmt.Fprintln(p.stderr, err)
}

func (p *jsonPrinter) end() error {
	return writeJSON(p.w, struct {
		Findings []lint.Finding `json:"findings"`
		Errors   []string       `json:"errors"`
	}{append([]lint.Finding{}, p.findings...), append([]string{}, p.errors...)})
}

// ruleText is a rule of any command, for a person.
type ruleText struct{ id, title, level, reason, mend string }

// writeRules lists rules: as they are in JSON, and for a person.
func writeRules(w io.Writer, output string, rules any, list []ruleText) error {
	if output == "json" {
		return writeJSON(w, rules)
	}
	p := &person{w: w}
	for _, r := range list {
		p.printf("%s %s (%s)\n    why:  %s\n    mend: %s\n", r.id, r.title, r.level, r.reason, r.mend)
	}
	return p.err
}

func writeJSON(w io.Writer, value any) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	return buffered.Flush()
}
