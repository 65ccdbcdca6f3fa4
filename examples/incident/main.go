// Command incident lets you watch what a service-account token's rotation does
// to programs. It takes under twenty seconds and needs no cluster:
//
//	go run ./examples/incident
//
// # What it plays
//
// An issuer publishes its keys by OpenID Connect discovery, a kubelet keeps a
// projected volume fresh, and a relying party, such as OpenBao's or Vault's
// JWT login, verifies signature, issuer, audience and expiry of what it is
// sent. Five clients log in side by side:
//
//   - one that read its token once, when it started
//   - one that sends the default token, which is meant for the API server
//   - podtoken in each of its three triggers: every call, MaxAge and Watch
//
// Everything runs in this process and talks HTTP on the loopback interface.
// The tokens, the volume's swap of links and the rule for when the kubelet
// replaces a token are those of Kubernetes. Only time is scaled: a token lives
// five seconds instead of an hour, and every other period shrinks with it.
//
// # What it shows
//
// Progress while it runs: live on a terminal, one line a second elsewhere (or
// with TERM=dumb). NO_COLOR, if set, is honoured. Then a table, a sentence
// that explains it, and a picture of the same as an SVG file, incident.svg in
// the current directory unless -svg says otherwise.
//
// # Exit status
//
//	0  podtoken was never refused, and the other two were
//	1  it did not come out so, or was interrupted, or could not run
//	2  wrong flags
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with everything that a test needs to hold in its hands.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "incident: %v\nRun with -help for the flags.\n", err)
		return 2
	}
	if err := demonstrate(ctx, o, stdout); err != nil {
		fmt.Fprintf(stderr, "incident: %v\n", err)
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	lifetime time.Duration
	svg      string
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("incident", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run says what is wrong, once
	flags.DurationVar(&o.lifetime, "lifetime", 5*time.Second, "how long a token lives, in whole seconds; all else scales with it")
	flags.StringVar(&o.svg, "svg", "incident.svg", "the `file` for the picture; empty for none")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
		}
		return o, err
	}
	return o, o.check(flags.Args())
}

func (o options) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q: there are only flags", rest[0])
	}
	if o.lifetime < 3*time.Second || o.lifetime > time.Minute || o.lifetime%time.Second != 0 {
		return fmt.Errorf("-lifetime %v: want whole seconds, from 3s to 1m", o.lifetime)
	}
	if o.svg == "" {
		return nil
	}
	if !isDirectory(filepath.Dir(o.svg)) {
		return fmt.Errorf("-svg %s: there is no directory %s", o.svg, filepath.Dir(o.svg))
	}
	if isDirectory(o.svg) {
		return fmt.Errorf("-svg %s: it is a directory", o.svg)
	}
	return nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// demonstrate plays the incident over loopback and reports on it. Its error
// says why the demonstration did not come out as it should.
func demonstrate(ctx context.Context, o options, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "incident")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, closeServers, err := onLoopback(o.lifetime, dir)
	if err != nil {
		return err
	}
	defer closeServers()
	seen, err := s.play(ctx, newView(stdout))
	if err != nil {
		return err
	}
	return report(ctx, seen, o.svg, stdout)
}

// report writes what was seen, and judges it.
func report(ctx context.Context, seen timeline, svg string, stdout io.Writer) error {
	writeTable(stdout, seen)
	if ctx.Err() != nil {
		return errors.New("interrupted: the table shows what happened until then")
	}
	if svg != "" {
		if err := os.WriteFile(svg, drawSVG(seen), 0o644); err != nil {
			return err
		}
	}
	if err := verdict(seen); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%s\n", conclusion(seen))
	if svg != "" {
		fmt.Fprintf(stdout, "\nThe same as a picture: %s\n", svg)
	}
	return nil
}
