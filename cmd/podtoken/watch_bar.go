package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
)

// rotationBar is a line on a terminal that fills up to the next rotation. A nil
// one does nothing.
type rotationBar struct {
	w   io.Writer
	of  *followed
	due time.Time
	bar *progressbar.ProgressBar
}

// show draws it for the token that is replaced first.
func (b *rotationBar) show(next *followed, now time.Time) {
	if b == nil || next == nil {
		return
	}
	if b.of != next || !b.due.Equal(next.due) {
		b.clear()
		b.of, b.due = next, next.due
		b.bar = newBar(b.w, max(int64(next.due.Sub(next.issued)/time.Second), 1))
	}
	left := next.due.Sub(now)
	b.bar.Describe("next rotation of " + next.path + " in " + doctor.Rough(max(left, 0)))
	passed := int64(now.Sub(next.issued) / time.Second)
	_ = b.bar.Set64(min(max(passed, 0), b.bar.GetMax64()-1)) // full only when it has come, which ends the bar
}

// clear makes room for other lines.
func (b *rotationBar) clear() {
	if b != nil && b.bar != nil {
		_ = b.bar.Clear()
	}
}
