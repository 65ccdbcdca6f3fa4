package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

var errMissed = errors.New("a budget is missed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the tidying up
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command runs the benchmarks as args say. Speed alone is never an error,
// unless -check makes it one.
func command(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	fast := flags.Bool("quick", false, "measure for half a minute only, and leave out what takes longer")
	check := flags.Bool("check", false, "exit with status 1 if a budget is missed")
	from := flags.String("from", "", "measure nothing, and take what -json wrote to this file")
	var files outputs
	files.flags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if err := files.writable(); err != nil {
		return err // now, and not after ten minutes
	}
	r, err := report(ctx, *from, *fast, progress)
	if err != nil {
		return err
	}
	if err := errors.Join(r.markdown(out), files.write(r)); err != nil {
		return err
	}
	if *check && !r.holds() {
		return errMissed
	}
	return nil
}

// report measures, or reads what was measured before.
func report(ctx context.Context, from string, fast bool, progress io.Writer) (*Report, error) {
	switch {
	case from != "":
		return load(from)
	case fast:
		return run(ctx, quick, progress)
	}
	return run(ctx, thorough, progress)
}
