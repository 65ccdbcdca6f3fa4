package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// newView returns what shows a timeline while it grows: a picture that is
// drawn over and over on a terminal, lines on anything else.
func newView(w io.Writer) func(timeline) {
	if isTerminal(w) {
		return (&live{w: w, colour: os.Getenv("NO_COLOR") == ""}).show
	}
	return (&lines{w: w}).show
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// lines is a view for logs: a line for each second.
type lines struct {
	w    io.Writer
	told time.Duration // what happened before this is written
}

func (v *lines) show(t timeline) {
	for ; v.told+time.Second <= t.now; v.told += time.Second {
		v.second(t, v.told, v.told+time.Second)
	}
}

// second writes how the logins of one second went.
func (v *lines) second(t timeline, from, to time.Duration) {
	if from == 0 {
		v.row("", t.lanes, func(l lane) string { return l.name }, "")
	}
	note := ""
	for i, at := range t.rotations {
		if from <= at && at < to {
			note = fmt.Sprintf("rotation %d", i+1)
		}
	}
	v.row(fmt.Sprintf("t=%.0fs", to.Seconds()), t.lanes, func(l lane) string { return summary(l.between(from, to)) }, note)
}

func (v *lines) row(first string, lanes []lane, cell func(lane) string, last string) {
	row := fmt.Sprintf("%-6s", first)
	for _, l := range lanes {
		row += fmt.Sprintf("  %-20s", cell(l))
	}
	fmt.Fprintln(v.w, strings.TrimRight(row+"  "+last, " "))
}

// summary is "10 accepted", or how many of them were not.
func summary(logins []login) string {
	accepted, rejected, _ := lane{logins: logins}.count()
	if rejected > 0 {
		return fmt.Sprintf("%d of %d REJECTED", rejected, accepted+rejected)
	}
	return fmt.Sprintf("%d accepted", accepted)
}

// live is a view for people: a bar for each client, drawn over the last one.
type live struct {
	w      io.Writer
	colour bool
	drawn  int // lines on the screen
}

const (
	cells = 36 // of a bar

	// Long lines must not wrap, or the next drawing would not cover them.
	wrapOff, wrapOn = "\x1b[?7l", "\x1b[?7h"
	clearRest       = "\x1b[K"
	green, red      = "\x1b[32m", "\x1b[31m"
	blue, plain     = "\x1b[34m", "\x1b[0m"
)

func (v *live) show(t timeline) {
	frame := []string{fmt.Sprintf("t=%s, which is %s on a cluster", seconds(t.now), clock(t.real(t.now)))}
	frame = append(frame, v.line("kubelet rotates", v.marks(t), fmt.Sprintf("%d times", len(t.rotations))))
	for _, l := range t.lanes {
		accepted, rejected, _ := l.count()
		frame = append(frame, v.line(l.name, v.bar(t, l), fmt.Sprintf("%d accepted, %d rejected", accepted, rejected)))
	}
	var b strings.Builder
	if v.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.drawn)
	}
	b.WriteString(wrapOff + strings.Join(frame, clearRest+"\n") + clearRest + "\n" + wrapOn)
	v.drawn = len(frame)
	_, _ = io.WriteString(v.w, b.String())
}

func (v *live) line(name, bar, rest string) string {
	return fmt.Sprintf("%-20s %s  %s", name, bar, rest)
}

// bar is a client's logins, red where one was rejected.
func (v *live) bar(t timeline, l lane) string {
	return v.cells(t, func(from, to time.Duration) string {
		logins := l.between(from, to)
		_, rejected, _ := lane{logins: logins}.count()
		switch {
		case rejected > 0:
			return v.paint(red, "x")
		case len(logins) > 0:
			return v.paint(green, "━")
		}
		return " "
	})
}

func (v *live) marks(t timeline) string {
	return v.cells(t, func(from, to time.Duration) string {
		for _, at := range t.rotations {
			if from <= at && at < to {
				return v.paint(blue, "|")
			}
		}
		return " "
	})
}

func (v *live) cells(t timeline, cell func(from, to time.Duration) string) string {
	var b strings.Builder
	for i := range time.Duration(cells) {
		b.WriteString(cell(t.length*i/cells, t.length*(i+1)/cells))
	}
	return b.String()
}

func (v *live) paint(colour, s string) string {
	if !v.colour {
		return s
	}
	return colour + s + plain
}
