package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
)

// soakView shows a soak while it runs: a line for each event and, on a
// terminal, a bar beneath.
type soakView struct {
	w   io.Writer
	bar *progressbar.ProgressBar // nil without a terminal
}

// barSteps is how fine the bar is.
const barSteps = 1000

func newSoakView(sys system) *soakView {
	v := &soakView{w: sys.stderr}
	if sys.progress {
		v.bar = newBar(sys.stderr, barSteps, progressbar.OptionShowDescriptionAtLineEnd(), progressbar.OptionClearOnFinish())
	}
	return v
}

func (v *soakView) event(e soak.Event) {
	v.clear()
	fmt.Fprintf(v.w, "%s %s\n", e.At.UTC().Format(time.RFC3339), e.Text)
}

// status is nil where there is nothing to draw.
func (v *soakView) status() func(soak.Status) {
	if v.bar == nil {
		return nil
	}
	return func(s soak.Status) {
		v.bar.Describe(fitting(describeStatus(s), columnsOf(v.w)))
		_ = v.bar.Set(min(barSteps-1, int(s.Part*barSteps))) // only the verdict ends it
	}
}

const (
	besides      = 12 // columns of the bar's frame and its percentage
	usualColumns = 80
)

// columnsOf is how wide a terminal is just now.
func columnsOf(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return usualColumns
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil || columns == 0 {
		return usualColumns
	}
	return columns
}

// fitting cuts a text that is shown behind the bar: a line that is wrapped
// cannot be drawn over, and makes another one each second.
func fitting(text string, columns int) string {
	return text[:min(len(text), max(0, columns-barColumns-besides))]
}

func describeStatus(s soak.Status) string {
	text := fmt.Sprintf("%d", s.Rotations)
	if s.Wanted > 0 {
		text += fmt.Sprintf("/%d", s.Wanted)
	}
	text += fmt.Sprintf(" rotations, %d logins", s.Logins[party.Accepted])
	for _, outcome := range []party.Outcome{party.Refused, party.NoAnswer, party.NotSent} {
		if n := s.Logins[outcome]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, outcome)
		}
	}
	if left := s.Next.Sub(s.Now); left > 0 {
		return text + ", next rotation in " + left.Round(time.Second).String()
	}
	return text + ", next rotation is due"
}

// clear makes room for other lines.
func (v *soakView) clear() {
	if v.bar != nil {
		_ = v.bar.Clear()
	}
}
