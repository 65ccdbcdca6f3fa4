package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

const barColumns = 16

// newBar is a bar on a terminal as each command draws it. Of a whole that is
// not known, -1, it shows what is done.
func newBar(w io.Writer, whole int64, options ...progressbar.Option) *progressbar.ProgressBar {
	return progressbar.NewOptions64(whole, append([]progressbar.Option{
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetWidth(barColumns),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine: it is drawn when there is something new
	}, options...)...)
}

const fileBarEvery = 100 * time.Millisecond

// fileBar says how far a file was read. A nil one does nothing.
type fileBar struct {
	name  string
	size  int64 // -1 if it is not known
	next  time.Time
	shown bool
	bar   *progressbar.ProgressBar
}

// newFileBar shows nothing of what is done at once.
func newFileBar(w io.Writer, name string, size int64) *fileBar {
	return &fileBar{name: name, size: size, next: time.Now().Add(fileBarEvery), bar: newBar(w, size)}
}

func (b *fileBar) update(read int64) {
	now := time.Now()
	if now.Before(b.next) {
		return
	}
	b.next, b.shown = now.Add(fileBarEvery), true
	const mega = 1e6
	if b.size < 0 {
		b.bar.Describe(fmt.Sprintf("%s, %.0f MB", b.name, float64(read)/mega))
		return
	}
	b.bar.Describe(fmt.Sprintf("%s, %.0f of %.0f MB", b.name, float64(read)/mega, float64(b.size)/mega))
	_ = b.bar.Set64(min(read, b.size-1)) // the end of the file clears it
}

// clear makes room for other lines.
func (b *fileBar) clear() {
	if b != nil && b.shown {
		_ = b.bar.Clear()
		b.shown = false
	}
}
