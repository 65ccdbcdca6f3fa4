// Command reader is the user's program in the pods of these tests. It logs in
// with its projected token again and again, in each of podtoken's triggers at
// once, and keeps its verdict in a file that the test reads.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

const (
	pause  = 50 * time.Millisecond  // between two logins in one trigger
	maxAge = 500 * time.Millisecond // of the schedule trigger
)

func main() {
	path := flag.String("path", "", "the token `file`")
	audience := flag.String("audience", "", "the audience that the token must have")
	login := flag.String("login", "", "the `URL` to log in to")
	verdict := flag.String("verdict", "", "the `file` for the verdict")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	j := newJudge(*path)
	for _, t := range []trigger{
		{name: "call", source: &tokenfile.Source{}},
		{name: "schedule", source: &tokenfile.Source{MaxAge: maxAge}},
		{name: "change", source: &tokenfile.Source{}, watch: true},
	} {
		t.source.Path, t.source.Audience = *path, *audience
		t.source.Logger = slog.New(warnings{j, t.name})
		t.judge, t.login = j, *login+"/"+t.name
		go t.run(ctx)
	}
	if err := report(ctx, j, *verdict); err != nil {
		log.Fatal(err)
	}
}

// report writes the verdict until ctx ends, each time in one piece.
func report(ctx context.Context, j *judge, file string) error {
	for {
		text, err := json.Marshal(j.verdict())
		if err != nil {
			return err
		}
		if err := os.WriteFile(file+".new", text, 0o644); err != nil {
			return err
		}
		if err := os.Rename(file+".new", file); err != nil {
			return err
		}
		if !wait(ctx, 4*pause) {
			return nil
		}
	}
}

// wait reports whether ctx is still alive after d.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
