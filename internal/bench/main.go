package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

var errMissed = errors.New("a budget is missed")

func main() {
	if err := command(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// command runs the benchmarks as args say. Speed alone is never an error,
// unless -check makes it one.
func command(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	asJSON := flags.Bool("json", false, "print JSON instead of Markdown")
	fast := flags.Bool("quick", false, "measure for a few seconds only")
	check := flags.Bool("check", false, "exit with status 1 if a budget is missed")
	_ = flags.Parse(args) // exits

	p := thorough
	if *fast {
		p = quick
	}
	r, err := run(p, cases)
	if err != nil {
		return err
	}
	if err := r.write(out, *asJSON); err != nil {
		return err
	}
	if *check && !r.holds() {
		return errMissed
	}
	return nil
}

func (r *Report) write(w io.Writer, asJSON bool) error {
	if !asJSON {
		return r.markdown(w)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(r)
}
