package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openbao/openbao/api/v2"

	"github.com/podtoken/podtoken/baoauth"
	"github.com/podtoken/podtoken/tokenfile"
)

// A report is what the program prints: a line for each thing that changed, with
// the time since the start, and a summary.
type report struct {
	start  time.Time
	logger *slog.Logger // its lines become the report's

	mu     sync.Mutex // what follows
	out    io.Writer
	reads  int
	failed int
	logins int
	last   string // what was printed of the last read
}

func newReport(out io.Writer) *report {
	r := &report{start: time.Now(), out: out}
	r.logger = slog.New(withoutInfo{slog.NewTextHandler(writer{r}, &slog.HandlerOptions{
		Level: slog.LevelDebug, // tells of renewals
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{} // the line has one
			}
			return a
		},
	})})
	return r
}

// withoutInfo leaves out what OnLogin tells as well.
type withoutInfo struct{ slog.Handler }

func (h withoutInfo) Handle(ctx context.Context, record slog.Record) error {
	if record.Level == slog.LevelInfo {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

// writer is a report as its logger sees it.
type writer struct{ *report }

func (w writer) Write(line []byte) (int, error) {
	w.printf("%s", strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}

func (r *report) printf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.print(format, args...)
}

// print is printf for those who hold the lock.
func (r *report) print(format string, args ...any) {
	fmt.Fprintf(r.out, "%6.1fs  %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

func (r *report) login(secret *api.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logins++
	r.print("login %d: a lease of %s, the policies %s", r.logins,
		time.Duration(secret.Auth.LeaseDuration)*time.Second, strings.Join(secret.Auth.Policies, ", "))
}

func (r *report) token(token *tokenfile.Token, err error) {
	if err != nil {
		r.printf("service-account token: %v", err)
		return
	}
	r.printf("service-account token: one that is good for %s", time.Until(token.Expiry()).Round(100*time.Millisecond))
}

// read counts each read, and prints what is new.
func (r *report) read(secret *api.KVSecret, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	var line string
	if err != nil {
		r.failed++
		line = "read failed: " + strings.Join(strings.Fields(err.Error()), " ")
	} else {
		line = fmt.Sprintf("read version %d of the secret, with the fields %s",
			secret.VersionMetadata.Version, strings.Join(slices.Sorted(maps.Keys(secret.Data)), ", "))
	}
	if line != r.last {
		r.last = line
		r.print("%s", line)
	}
}

// summary prints the end, and returns an error if a read failed.
func (r *report) summary(session baoauth.Stats, file tokenfile.Stats) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, `
reads      %d, of which %d failed
rotations  %d
logins     %d
renewals   %d
failures   %d of logins and renewals
`, r.reads, r.failed, file.Rotations, session.Logins, session.Renewals, total(session.Failures))
	if r.failed > 0 {
		return fmt.Errorf("%d of %d reads failed", r.failed, r.reads)
	}
	return nil
}

func total(failures map[baoauth.Reason]uint64) uint64 {
	sum := uint64(0)
	for _, n := range failures {
		sum += n
	}
	return sum
}
