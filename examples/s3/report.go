package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/podtoken/podtoken/awspodid"
)

// A report is what the program prints: a line for each thing that is new, with
// the time since the start, and a summary.
type report struct {
	start time.Time

	mu       sync.Mutex // what follows
	out      io.Writer
	listings int
	failed   int
	last     string // what was printed of the last listing
}

func newReport(out io.Writer) *report { return &report{start: time.Now(), out: out} }

func (r *report) printf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.print(format, args...)
}

// print is printf for those who hold the lock.
func (r *report) print(format string, args ...any) {
	fmt.Fprintf(r.out, "%6.1fs  %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

// Write makes lines of a log part of the report.
func (r *report) Write(line []byte) (int, error) {
	r.printf("%s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

// logTo lets the provider tell of its refreshes.
func (r *report) logTo(o *awspodid.Options) {
	o.Logger = slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{
		Level: slog.LevelDebug, // tells of refreshes that succeeded
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{} // the line has one
			}
			return a
		},
	}))
}

// listing counts each listing, and prints what is new.
func (r *report) listing(page *s3.ListObjectsV2Output, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listings++
	var line string
	if err != nil {
		r.failed++
		line = "listing failed: " + strings.Join(strings.Fields(err.Error()), " ")
	} else {
		line = fmt.Sprintf("listed %d objects", len(page.Contents))
	}
	if line != r.last {
		r.last = line
		r.print("%s", line)
	}
}

// summary prints the end, and returns an error if a listing failed.
func (r *report) summary(did awspodid.Stats) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "\nlistings     %d, of which %d failed\ncredentials  fetched %d times, failed %d times\n",
		r.listings, r.failed, did.Fetches, did.Failures)
	if r.failed > 0 {
		return fmt.Errorf("%d of %d listings failed", r.failed, r.listings)
	}
	return nil
}

// add prints more of the summary. A fetch that outlived its caller may be
// telling of itself.
func (r *report) add(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format, args...)
}
