package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	progressEvery = 100 * time.Millisecond
	progressWidth = 30
)

// progress is a line on a terminal that says how far a file was read. A nil one
// does nothing.
type progress struct {
	w     io.Writer
	name  string
	size  int64 // 0 if it is not known
	next  time.Time
	shown bool
}

// newProgress shows nothing of what is done at once.
func newProgress(w io.Writer, name string, size int64) *progress {
	return &progress{w: w, name: name, size: size, next: time.Now().Add(progressEvery)}
}

func (p *progress) update(read int64) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.shown = now.Add(progressEvery), true
	const mega = 1e6
	if p.size <= 0 {
		fmt.Fprintf(p.w, "\r\x1b[K%s  %.0f MB", p.name, float64(read)/mega)
		return
	}
	part := min(float64(read)/float64(p.size), 1)
	full := int(part * progressWidth)
	fmt.Fprintf(p.w, "\r\x1b[K%s  %s%s %3.0f %%  %.0f of %.0f MB", p.name, strings.Repeat("█", full),
		strings.Repeat("░", progressWidth-full), part*100, float64(read)/mega, float64(p.size)/mega)
}

// clear makes room for other lines.
func (p *progress) clear() {
	if p != nil && p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
