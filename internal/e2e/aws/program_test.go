//go:build linux

package aws

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/podtoken/podtoken/awspodid"
	"github.com/podtoken/podtoken/tokenfile"
)

// A program under test is this very test binary in a process of its own, as in
// a container: what is in its environment is what was injected, and nothing
// else. Each line that it reads is an order to write and read an object.
const (
	programVar = "PODTOKEN_E2E_PROGRAM" // which one; set in its process only
	s3Var      = "PODTOKEN_E2E_S3"
	stsVar     = "AWS_ENDPOINT_URL_STS"

	ours    = "podtoken"
	control = "the SDK's default chain"
)

// A reply is what a program says of its start, and of each order.
type reply struct {
	Source string        // of the credentials that were last signed with
	Error  string        // empty if all went well
	Kinds  []string      // what kinds of error that is
	Took   time.Duration // of an order
}

func (r reply) err() error {
	if r.Error == "" {
		return nil
	}
	return errors.New(r.Error)
}

func (r reply) is(kind string) bool { return slices.Contains(r.Kinds, kind) }

// runProgram is a program's main function.
func runProgram(name string) int {
	out := json.NewEncoder(os.Stdout)
	cfg, err := load(context.Background(), name)
	if err := out.Encode(replyTo(err)); err != nil || cfg == nil {
		return 1
	}
	signer := &notingSigner{Signer: v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })} // as S3 needs it
	client := s3.NewFromConfig(*cfg, func(o *s3.Options) {
		o.BaseEndpoint, o.UsePathStyle = sdk.String(os.Getenv(s3Var)), true
		o.HTTPSignerV4 = signer
	})
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		start := time.Now()
		err := putAndGet(ctx, client, in.Text())
		r := replyTo(err)
		r.Took, r.Source = time.Since(start), signer.source
		cancel()
		if err := out.Encode(r); err != nil {
			return 1
		}
	}
	return 0
}

// load is how a program gets its configuration: the one line that podtoken
// adds is all that tells the two apart.
func load(ctx context.Context, name string) (*sdk.Config, error) {
	var options []func(*config.LoadOptions) error
	if name == ours {
		provider, err := awspodid.New(func(o *awspodid.Options) {
			o.STSOptions = append(o.STSOptions, func(o *sts.Options) { o.BaseEndpoint = sdk.String(os.Getenv(stsVar)) })
		})
		if err != nil {
			return nil, err
		}
		options = append(options, config.WithCredentialsProvider(provider))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, err
	}
	return &cfg, nil
}

func replyTo(err error) reply {
	if err != nil {
		return reply{Error: err.Error(), Kinds: kinds(err)}
	}
	return reply{}
}

// A notingSigner notes whose credentials a request was signed with.
type notingSigner struct {
	*v4.Signer
	source string
}

func (s *notingSigner) SignHTTP(
	ctx context.Context, creds sdk.Credentials, r *http.Request, hash, service, region string, at time.Time,
	optFns ...func(*v4.SignerOptions),
) error {
	s.source = creds.Source
	return s.Signer.SignHTTP(ctx, creds, r, hash, service, region, at, optFns...)
}

// kinds are the types of an error, the outermost first, and STS's or S3's code.
func kinds(err error) []string {
	var found []string
	is := func(kind string, yes bool) {
		if yes {
			found = append(found, kind)
		}
	}
	is("NotInjectedError", errors.As(err, new(*awspodid.NotInjectedError)))
	is("InjectionError", errors.As(err, new(*awspodid.InjectionError)))
	is("STSError", errors.As(err, new(*awspodid.STSError)))
	is("AudienceError", errors.As(err, new(*tokenfile.AudienceError)))
	is("ExpiredError", errors.As(err, new(*tokenfile.ExpiredError)))
	is("ErrMalformed", errors.Is(err, tokenfile.ErrMalformed))
	is("ErrNotExist", errors.Is(err, fs.ErrNotExist))
	if api := smithy.APIError(nil); errors.As(err, &api) {
		found = append(found, fmt.Sprintf("code %s", api.ErrorCode()))
	}
	return found
}
