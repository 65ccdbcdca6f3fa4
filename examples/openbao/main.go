// Command openbao reads a secret from OpenBao with the pod's service-account
// token, and keeps reading it while that token is replaced, leases end and
// tokens are revoked. It takes twenty seconds and needs no cluster:
//
//	go run ./examples/openbao
//
// The file reader.go is what a program copies.
//
// # What it plays
//
// Unless it is told of a server, all is in this process: an issuer, a kubelet
// that replaces the service-account token every four or five seconds, and an
// OpenBao server on the loopback interface, whose own tokens live for seven
// seconds and are renewed up to their max TTL of nine. The secret changes twice,
// and an administrator revokes every token.
//
// # With a real server
//
// With -address, or BAO_ADDR and the other variables of OpenBao's client,
// nothing is embedded, and it reads until it is interrupted:
//
//	BAO_ADDR=https://openbao:8200 openbao -role web -token-file /var/run/secrets/openbao/token
//
// The secret is read from a KV engine of version 2 at secret/. What is printed
// of it is its version and the names of its fields, never their values.
//
// # Exit status
//
//	0  every read succeeded
//	1  a read failed, or the first login did
//	2  wrong flags
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/openbao/openbao/api/v2"

	"github.com/podtoken/podtoken/baoauth"
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
		fmt.Fprintf(stderr, "openbao: %v\nRun with -help for the flags.\n", err)
		return 2
	}
	r := newReport(stdout)
	if o.embedded() {
		err = embedded(ctx, o, r)
	} else {
		err = attached(ctx, o, r)
	}
	if err != nil {
		fmt.Fprintf(stderr, "openbao: %v\n", err)
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	address   string
	role      string
	mount     string
	tokenFile string
	audience  string
	secret    string
	every     time.Duration
	ready     string
	noNotify  bool // see tokenfile.Source
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("openbao", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run says what is wrong, once
	flags.StringVar(&o.address, "address", "", "the server's `URL`, in place of BAO_ADDR; without either, all is embedded")
	flags.StringVar(&o.ready, "ready", "127.0.0.1:0", "where to answer readiness probes; empty for nowhere")
	everywhere := map[string]bool{"address": true, "ready": true}
	flags.StringVar(&o.role, "role", "web", "the role to log in as")
	flags.StringVar(&o.mount, "mount", baoauth.DefaultMount, "the `path` of the auth method")
	flags.StringVar(&o.tokenFile, "token-file", "/var/run/secrets/openbao/token", "the service-account token's `file`")
	flags.StringVar(&o.audience, "audience", "openbao", "who the service-account token is for")
	flags.StringVar(&o.secret, "secret", "web", "the `path` of the secret below secret/")
	flags.DurationVar(&o.every, "every", time.Second, "the time between two reads")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
		}
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	}
	if o.every <= 0 {
		return o, fmt.Errorf("-every %v: want more than nothing", o.every)
	}
	var alone error
	flags.Visit(func(f *flag.Flag) {
		if o.embedded() && !everywhere[f.Name] {
			alone = fmt.Errorf("-%s is for a real server: set -address or BAO_ADDR", f.Name)
		}
	})
	return o, alone
}

// embedded says that neither a flag nor the environment names a server.
func (o options) embedded() bool {
	return o.address == "" && api.ReadBaoVariable(api.EnvVaultAddress) == "" && api.ReadBaoVariable(api.EnvVaultAgentAddr) == ""
}

// attached reads from the server that the flags and the environment name.
func attached(ctx context.Context, o options, r *report) error {
	config := api.DefaultConfig()
	if o.address != "" {
		config.Address, config.AgentAddress = o.address, ""
	}
	return read(ctx, config, o, r)
}

// read is the whole program, but for where the server is. Its error says why
// it could not begin, or that reads failed.
func read(ctx context.Context, config *api.Config, o options, r *report) error {
	reader, err := newReader(config, o, r)
	if err != nil {
		return err
	}
	if o.ready != "" {
		at, err := net.Listen("tcp", o.ready)
		if err != nil {
			return fmt.Errorf("-ready: %w", err)
		}
		server := &http.Server{Handler: readiness(reader.session), ReadHeaderTimeout: time.Second}
		go func() { _ = server.Serve(at) }()
		defer server.Close()
		r.printf("readiness is told at http://%s/", at.Addr())
	}
	if err := reader.run(ctx); err != nil {
		return err
	}
	return r.summary(reader.session.Stats(), reader.source.Stats())
}
