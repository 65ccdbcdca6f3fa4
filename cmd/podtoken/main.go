// Command podtoken says what is wrong with a pod's token, and what to change.
//
//	podtoken lint deploy/*.yaml
//	helm template . | podtoken lint -
//	kubectl get pods,serviceaccounts -A -o json | podtoken lint --associations associations.json -
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
//
// Output is for a person, with colours on a terminal unless NO_COLOR is set, or
// --output json, or --output sarif for code scanning. It shows nothing that a
// Secret holds.
//
// # Exit status
//
//	0  no findings
//	1  findings
//	2  wrong usage, or input that could not be read; findings may be there too
package main

import (
	"io"
	"os"

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
	}))
}

// system is what a test holds in its hands.
type system struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	colours        bool // on stdout
	progress       bool // on stderr
}

// command is one that ends with an exit status.
type command interface {
	run(system) int
}

// run is main.
func run(args []string, sys system) int {
	var cli struct {
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
