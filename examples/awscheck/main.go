// Command awscheck is an init container that checks the pod's AWS identity
// before the program starts. If EKS injected none, or what it injected cannot
// be used, the pod does not become ready, and "kubectl describe pod" shows why
// at Init Containers, Last State, Message:
//
//	awscheck -mechanism pod-identity -retrieve
//
// The file pod.yaml is the manifest. The webhook injects into init containers
// as it does into others, so what this one finds is what the program will.
// Kubernetes starts it again and again, which heals what an administrator
// mends outside of the pod: a missing trust policy, an agent that starts later.
// A pod into which nothing was injected is healed by nothing but its
// recreation, and the message has the command.
//
// On standard output is what the container was given, for a log.
//
// # Exit status
//
// It tells what to do:
//
//	0  there is an identity and, with -retrieve, it gave credentials
//	1  nothing was injected: recreate the pod
//	2  wrong flags
//	3  what was injected cannot be used: change the manifest
//	4  there were no credentials: ask the agent, or IAM
//
// With each of 1, 2, 3 and 4 the reason is in the termination message and on
// standard error.
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
	"time"

	"github.com/podtoken/podtoken/awspodid"
)

// The exit status.
const (
	good = iota
	notInjected
	wrongFlags
	unusable
	noCredentials
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with everything that a test needs to hold in its hands. A pod
// needs no optFns.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, optFns ...func(*awspodid.Options)) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return good
	}
	code := wrongFlags
	if err == nil {
		optFns = append(optFns, func(options *awspodid.Options) { options.Mechanism = o.mechanism })
		fmt.Fprintln(stdout, awspodid.Inspect(optFns...))
		code, err = check(ctx, o, stdout, optFns)
	}
	if err != nil {
		fmt.Fprintln(stderr, "awscheck:", err)
		if err := writeMessage(o.message, err.Error()); err != nil {
			fmt.Fprintln(stderr, "awscheck: the reason is not in the termination message:", err)
		}
	}
	return code
}

// check returns the exit status and the reason.
func check(ctx context.Context, o options, stdout io.Writer, optFns []func(*awspodid.Options)) (code int, err error) {
	provider, err := awspodid.New(optFns...)
	switch {
	case errors.Is(err, awspodid.ErrNotInjected):
		return notInjected, err
	case err != nil:
		return unusable, err
	case !o.retrieve:
		fmt.Fprintf(stdout, "%s is injected\n", provider.Mechanism())
		return good, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("no answer in the %v of -timeout", o.timeout))
	defer cancel()
	if _, err := provider.Retrieve(ctx); err != nil {
		return noCredentials, err
	}
	fmt.Fprintf(stdout, "%s gives credentials until %s\n", provider.Mechanism(), provider.Stats().Expiry.UTC().Format(time.RFC3339))
	return good, nil
}

// options are the flags.
type options struct {
	mechanism awspodid.Mechanism
	retrieve  bool
	timeout   time.Duration
	message   string
}

// mechanisms are the values of the flag.
var mechanisms = map[string]awspodid.Mechanism{
	"any": "", "pod-identity": awspodid.PodIdentity, "irsa": awspodid.WebIdentity,
}

// parseFlags returns, beside an error, as much as is known by then: the error
// has to be written somewhere.
func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("awscheck", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run says what is wrong, once
	flags.StringVar(&o.message, "termination-log", "/dev/termination-log",
		"the container's terminationMessagePath, a `file`; empty for nowhere")
	flags.BoolVar(&o.retrieve, "retrieve", false, "also get credentials, once")
	// A provider gives up by itself after half a minute, and knows more of the reason.
	flags.DurationVar(&o.timeout, "timeout", 45*time.Second, "how long that may take")
	flags.Func("mechanism", "what must be injected: pod-identity, irsa or any (default any)", func(text string) error {
		var known bool
		if o.mechanism, known = mechanisms[text]; !known {
			return errors.New("want pod-identity, irsa or any")
		}
		return nil
	})
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(stderr)
		flags.Usage()
	case err != nil:
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	case o.timeout <= 0:
		err = fmt.Errorf("-timeout %v: want more than nothing", o.timeout)
	}
	return o, err
}
