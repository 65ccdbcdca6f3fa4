// Command s3 lists a bucket with the AWS SDK and the credentials of EKS Pod
// Identity or IRSA, and keeps listing it while the token is replaced,
// credentials end and the agent is away. Where nothing was injected into the
// pod it does not begin, and says why. The few lines that it takes are at the
// beginning of run.
//
//	go run ./examples/s3
//	go run ./examples/s3 -not-injected
//
// # What it plays
//
// Unless it is told of a bucket, all is in this process, and it ends after
// twelve seconds: a pod whose token is replaced every four or five seconds, an
// EKS Pod Identity agent that gives credentials for ten, and a stand-in for S3
// that lets in whoever has them, both on the loopback interface. The agent is
// away when the credentials are to be refreshed, and back before they end.
//
// # In a pod
//
// With -bucket or BUCKET nothing is embedded. It lists that bucket, its first
// thousand objects, until it is interrupted:
//
//	s3 -bucket invoices -every 1m
//
// # Exit status
//
//	0  every listing succeeded
//	1  a listing failed, or nothing was injected
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
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/podtoken/podtoken/awspodid"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(start(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// start is main with everything that a test needs to hold in its hands.
func start(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "s3: %v\nRun with -help for the flags.\n", err)
		return 2
	}
	r := newReport(stdout)
	if o.bucket == "" {
		err = embedded(ctx, o.notInjected, r)
	} else {
		err = run(ctx, o.bucket, o.every, r, place{pod: []func(*awspodid.Options){r.logTo}})
	}
	if err != nil {
		fmt.Fprintf(stderr, "s3: %v\n", err)
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	bucket      string
	every       time.Duration
	notInjected bool
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("s3", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // start says what is wrong, once
	flags.StringVar(&o.bucket, "bucket", os.Getenv("BUCKET"), "the bucket's `name`, in place of BUCKET; without either, all is embedded")
	flags.DurationVar(&o.every, "every", 10*time.Second, "the time between two listings of that bucket")
	flags.BoolVar(&o.notInjected, "not-injected", false, "play a pod that was admitted too early")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
		}
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: there are only flags", flags.Arg(0))
	case o.every <= 0:
		return o, fmt.Errorf("-every %v: want more than nothing", o.every)
	case o.notInjected && o.bucket != "":
		return o, errors.New("-not-injected is a play, and with -bucket or BUCKET nothing is played")
	}
	return o, nil
}

// place is what the stage has in place of a pod's environment and of AWS's
// addresses. In a pod neither is needed.
type place struct {
	pod []func(*awspodid.Options)
	aws []func(*s3.Options)
}

// run returns an error if it cannot begin or if a listing failed, and nil when
// ctx ends.
func run(ctx context.Context, bucket string, every time.Duration, r *report, at place) error {
	provider, err := awspodid.New(at.pod...)
	if err != nil {
		return err // says what was not injected, why, and how to recreate the pod
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithCredentialsProvider(provider))
	if err != nil {
		return err
	}
	client := s3.NewFromConfig(cfg, at.aws...)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for ctx.Err() == nil {
		page, err := client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket})
		if ctx.Err() == nil { // else nobody waited for it
			r.listing(page, err)
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return r.summary(provider.Stats())
}
