// Command podtoken says what is wrong with a pod's token, and what to change.
//
//	podtoken doctor
//	podtoken doctor --watch --rotations 1
//	podtoken soak --vault-role web --audience openbao --svg soak.svg
//	podtoken lint deploy/*.yaml
//	helm template . | podtoken lint -
//	kubectl get pods,serviceaccounts -A -o json | podtoken lint --associations associations.json -
//
// doctor looks at the container that it runs in: every mounted token with its
// audience, lifetime and rotations, the AWS identity that was injected and, if
// asked to, a real login. In an ephemeral container --pid 1 looks at the one
// that it was made for. It sends nothing unless --cluster or a login is asked for.
//
// soak logs in through two rotations, or for as long as it is told to, and ends
// with a verdict. Standard error shows what happens, standard output the
// verdict. Ctrl-C gives the verdict so far.
//
// lint looks at manifests, and at what kubectl prints of a running cluster: of
// any size, since it reads a list item by item. Its rules are in
//
//	podtoken lint --rules
//
// each with its reason and its mend. With --associations it also finds running
// pods into which EKS Pod Identity was not injected although their service
// account has an association. The file is any of
//
//	aws eks list-pod-identity-associations --cluster-name CLUSTER
//	terraform show -json
//	kubectl get podidentityassociations -o json    # Crossplane, ACK
//	a line NAMESPACE/SERVICE_ACCOUNT for each
//
// A finding that is wanted is silenced with a reason, by an annotation on the
// object or the pod template, or by a comment on the line or above it:
//
//	podtoken.dev/ignore: "PT003: why"
//	# podtoken:ignore PT003 why
//	--ignore "PT013: why"                  # a rule everywhere: manifests of others
//
// Output is for a person, with colours on a terminal unless NO_COLOR is set, or
// --output json, or --output sarif for code scanning. It shows nothing that a
// Secret holds.
//
// # Exit status
//
//	0  no findings, or every point of the soak held
//	1  findings as bad as --fail-on, a warning if not given; or a point of the
//	   soak failed, or was not shown yet
//	2  wrong usage, or something that could not be looked at or begun
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// The exit status.
const (
	exitGood = iota
	exitFindings
	exitUnreadable
)

func main() {
	os.Exit(run(os.Args[1:], system{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		colours:  os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd())),
		progress: term.IsTerminal(int(os.Stderr.Fd())),
		interrupt: func() (context.Context, context.CancelFunc) {
			return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		},
	}))
}

// system is what a test holds in its hands.
type system struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	colours        bool // on stdout
	progress       bool // on stderr

	// interrupt returns a context that ends when a person or the kubelet wants
	// the program to end. A command that does not call it is killed instead.
	interrupt func() (context.Context, context.CancelFunc)
}

// command is one that ends with an exit status.
type command interface {
	run(system) int
}

// run is main.
func run(args []string, sys system) int {
	var cli struct {
		Doctor  doctorCommand  `cmd:"" help:"Look at this container: its tokens, its AWS identity, its logins."`
		Soak    soakCommand    `cmd:"" help:"Log in through rotations, for a time or a number of them, and end with a verdict."`
		Lint    lintCommand    `cmd:"" help:"Look at manifests, and at what kubectl get prints, for what will break a token or an AWS identity."`
		Version versionCommand `cmd:"" help:"Print the version."`
	}
	exited := -1
	parser := kong.Must(&cli,
		kong.Name("podtoken"),
		kong.Description("Says what is wrong with a pod's token, and what to change."),
		kong.Writers(sys.stdout, sys.stderr),
		kong.Exit(func(status int) { exited = status }),
	)
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		parser.Errorf("%s", err)
		return exitUnreadable
	}
	return parsed.Selected().Target.Addr().Interface().(command).run(sys)
}
