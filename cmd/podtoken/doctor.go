package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/doctor"
)

type doctorCommand struct {
	Files []string `arg:"" optional:"" name:"token" help:"Token files to look at beside those that are mounted and those that variables name."`

	Expect         []string      `placeholder:"AUDIENCE" sep:"none" help:"A token with this audience must be there; PATH=AUDIENCE says where. May be repeated."`
	ExpectLifetime time.Duration `placeholder:"DURATION" help:"The lifetime that was declared for every token but the API server's and AWS's, such as 1h."`
	ExpectAWS      bool          `name:"expect-aws" help:"An AWS identity must have been injected."`
	Cluster        bool          `help:"Ask the API server for this pod's spec, to compare lifetimes with what is declared."`

	PID  int    `name:"pid" placeholder:"N" help:"Look at the container of this process, from an ephemeral debug container."`
	Root string `placeholder:"DIR" help:"Look at the container whose root this is, such as /proc/1/root."`

	doctorLogins `embed:""`

	Watch     bool `help:"Follow the tokens, and say when each is rotated."`
	Rotations int  `placeholder:"N" help:"End --watch after so many rotations."`

	Output      string             `short:"o" enum:"text,json" default:"text" help:"${enum}."`
	FailOn      string             `enum:"error,warning,note" default:"warning" help:"The least finding that makes the exit status 1: ${enum}."`
	Termination terminationMessage `name:"termination-message" placeholder:"FILE" help:"Write the findings where kubectl describe pod shows them: to /dev/termination-log, or --termination-message=FILE."`
	Rules       bool               `help:"List what doctor looks for, and do nothing else."`
}

// Help is what --help says beside the flags.
func (*doctorCommand) Help() string {
	return `It sends nothing unless a login is asked for. Of each token the table has:

LIFE, and in brackets what the kubelet rotates by if the API server extended it; AGE, and how much of that life is
over: the kubelet replaces the file at 80 %, after a day at the latest; ROTATED, whether the file was replaced since
the container started; NEXT, when it will be.

Exit status: 0 healthy, 1 findings, 2 wrong usage or something could not be looked at.`
}

func (c *doctorCommand) run(sys system) int {
	if c.Rules {
		return c.listRules(sys)
	}
	ctx, stop := interruptible(sys)
	defer stop()
	options, err := c.options(ctx)
	if err != nil {
		return c.unable(err, sys)
	}
	if c.Watch {
		return c.watch(ctx, options, sys)
	}
	return c.report(doctor.Examine(ctx, options), sys)
}

// unable says why nothing was looked at, also to who reads the pod's status.
func (c *doctorCommand) unable(err error, sys system) int {
	fmt.Fprintln(sys.stderr, "podtoken doctor:", err)
	if err := c.Termination.write(&doctor.Report{Errors: []string{err.Error()}}); err != nil {
		fmt.Fprintln(sys.stderr, "podtoken doctor:", err)
	}
	return exitUnreadable
}

// interruptible is the context of a command that a test may run without. The
// second interrupt kills, whatever keeps the command.
func interruptible(sys system) (context.Context, context.CancelFunc) {
	if sys.interrupt == nil {
		return context.WithCancel(context.Background())
	}
	ctx, stop := sys.interrupt()
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

func (c *doctorCommand) options(ctx context.Context) (o doctor.Options, err error) {
	if err := c.conflict(); err != nil {
		return o, err
	}
	o = doctor.Options{
		Root: c.root(), Paths: c.Files, Lifetime: c.ExpectLifetime, ExpectAWS: c.ExpectAWS,
		Expect: expectations(c.Expect), Timeout: c.Timeout,
	}
	if c.Cluster {
		if o.Declared, err = declaredInCluster(ctx, o); err != nil {
			return o, err
		}
	}
	return o, c.addParties(&o)
}

func (c *doctorCommand) conflict() error {
	switch {
	case c.PID != 0 && c.Root != "":
		return fmt.Errorf("--pid %d is --root /proc/%d/root: give one of them", c.PID, c.PID)
	case c.PID < 0, c.Rotations < 0, c.ExpectLifetime < 0, c.Timeout <= 0:
		return errors.New("--pid, --rotations, --expect-lifetime and --timeout are not negative")
	case c.Rotations > 0 && !c.Watch:
		return errors.New("--rotations ends --watch, which is not given")
	case c.Watch && c.any():
		return errors.New("--watch logs in to nobody: podtoken soak does that through rotations")
	case c.Watch && (len(c.Expect) > 0 || c.ExpectAWS || c.ExpectLifetime > 0 || c.Cluster):
		return errors.New("--watch expects nothing: run doctor without it first")
	}
	return c.doctorLogins.conflict()
}

func (c *doctorCommand) root() string {
	switch {
	case c.PID > 0:
		return fmt.Sprintf("/proc/%d/root", c.PID)
	case c.Root != "":
		return c.Root
	}
	return "/"
}

// expectations reads AUDIENCE and PATH=AUDIENCE. No audience starts as a path
// does.
func expectations(texts []string) (list []doctor.Expectation) {
	for _, text := range texts {
		want := doctor.Expectation{Audience: text}
		if path, audience, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "/") {
			want = doctor.Expectation{Path: path, Audience: audience}
		}
		list = append(list, want)
	}
	return list
}

// report prints what was found, for whoever reads it, and returns the status.
func (c *doctorCommand) report(r *doctor.Report, sys system) int {
	err := c.Termination.write(r) // first: to print may be the end, on a pipe that nobody reads
	if err = errors.Join(err, c.print(r, sys)); err != nil {
		fmt.Fprintln(sys.stderr, "podtoken doctor:", err)
		return exitUnreadable
	}
	return c.status(r)
}

func (c *doctorCommand) print(r *doctor.Report, sys system) error {
	if c.Output == "json" {
		return writeJSON(sys.stdout, r)
	}
	p := &doctorPerson{person{w: sys.stdout, stderr: sys.stderr, colours: sys.colours}}
	p.report(r)
	return p.err
}

func (c *doctorCommand) status(r *doctor.Report) int {
	switch {
	case len(r.Errors) > 0:
		return exitUnreadable
	case r.Has(doctor.Level(c.FailOn)):
		return exitFindings
	}
	return exitGood
}

func (c *doctorCommand) listRules(sys system) int {
	var list []ruleText
	for _, r := range doctor.Rules() {
		list = append(list, ruleText{r.ID, r.Title, string(r.Level), r.Reason, r.Mend})
	}
	if err := writeRules(sys.stdout, c.Output, doctor.Rules(), list); err != nil {
		fmt.Fprintln(sys.stderr, "podtoken doctor:", err)
		return exitUnreadable
	}
	return exitGood
}
