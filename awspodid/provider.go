package awspodid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/podtoken/podtoken/tokenfile"
)

// providerName is the Source of the credentials.
const providerName = "podtoken"

// Provider gives a pod's AWS credentials: of EKS Pod Identity, or of IRSA. Most
// programs hand one to the SDK at start:
//
//	provider, err := awspodid.New()
//	if err != nil {
//		return err // says that, and why, nothing was injected
//	}
//	cfg, err := config.LoadDefaultConfig(ctx, config.WithCredentialsProvider(provider))
//
// It caches. Nobody waits while credentials are valid: they are refreshed in
// the background, early, and used on while a refresh fails, until they really
// expire. It needs no Close: a goroutine lives only while a refresh runs.
// A service that answers ExpiredToken nevertheless is a case for Invalidate.
//
// Use one Provider in a program. All methods may be called by many goroutines.
type Provider struct {
	mechanism Mechanism
	fetcher   fetcher
	retryer   *retry.Standard
	fallback  aws.CredentialsProvider
	injection Injection
	logger    *slog.Logger

	current atomic.Pointer[held] // nil: none

	mu     sync.Mutex      // what follows
	flight *flight         // the fetch that is under way, nil if none is
	next   time.Time       // of the next refresh
	failed failure         // the last fetch, if it failed
	told   map[string]bool // the failures that were logged since the last success
	stats  Stats
}

var (
	_ aws.CredentialsProvider                     = (*Provider)(nil)
	_ aws.CredentialProviderSource                = (*Provider)(nil)
	_ aws.AdjustExpiresByCredentialsCacheStrategy = (*Provider)(nil)
)

// fetcher makes one attempt.
type fetcher interface {
	fetch(context.Context) (aws.Credentials, error)
}

// New finds out what was injected into this container. It fails at once, with
// a *NotInjectedError if nothing was, and with an *InjectionError if what was
// cannot be used. It sends nothing.
func New(optFns ...func(*Options)) (*Provider, error) {
	o := newOptions(optFns)
	in := inspect(o)
	p := &Provider{injection: in, logger: o.Logger, retryer: newRetryer()}
	if in.Empty() && o.Fallback != nil && !in.InKubernetes {
		p.fallback = o.Fallback
		if _, ok := o.Fallback.(*aws.CredentialsCache); !ok {
			p.fallback = aws.NewCredentialsCache(o.Fallback)
		}
		p.log(slog.LevelInfo, "no AWS identity is injected here, using the fall-back")
		return p, nil
	}
	m, err := choose(o.Mechanism, in)
	if err != nil {
		return nil, err
	}
	p.mechanism = m
	if err := check(o, m, in); err != nil {
		return nil, err
	}
	if o.Mechanism == "" && !in.none(m.other()) {
		p.log(slog.LevelInfo, fmt.Sprintf("both %s and %s are injected: using %s, as the SDK's chain would", m, m.other(), m))
	}
	if p.fetcher, err = newFetcher(o, m); err != nil {
		return nil, &InjectionError{Mechanism: m, Err: err, Injection: in}
	}
	return p, nil
}

// choose decides by what is there: the mechanism that was asked for, or the
// one that the SDK's chain would take.
func choose(asked Mechanism, in Injection) (Mechanism, error) {
	switch {
	case asked != "" && asked != PodIdentity && asked != WebIdentity:
		return "", &InjectionError{Err: fmt.Errorf("Options.Mechanism is %s", quote(string(asked))), Injection: in}
	case asked != "" && in.none(asked):
		return "", &NotInjectedError{Mechanism: asked, Missing: in.missing(asked), Injection: in}
	case asked != "":
		return asked, nil
	case in.Empty():
		return "", &NotInjectedError{Missing: append(in.missing(PodIdentity), in.missing(WebIdentity)...), Injection: in}
	case !in.none(WebIdentity):
		return WebIdentity, nil
	}
	return PodIdentity, nil
}

// check refuses what cannot work. A token that is expired just now is none of
// that: the kubelet may replace it.
func check(o *Options, m Mechanism, in Injection) error {
	wrong := func(variable string, err error) error {
		return &InjectionError{Mechanism: m, Variable: variable, Err: err, Injection: in}
	}
	for _, name := range m.pair() {
		switch v := in.variable(name); {
		case !v.Set:
			return wrong(name, errHalf)
		case v.Value == "":
			return wrong(name, errEmpty)
		}
	}
	if m == PodIdentity {
		if err := checkURI(lookup(o.Lookup).get(fullURI)); err != nil {
			return wrong(fullURI, err)
		}
	} else if o.region() == "" && o.STSClient == nil {
		return wrong(region, errors.New("is not set, so that there is no STS to ask: set it, or Options.Region"))
	}
	for _, t := range in.Tokens {
		if t.Mechanism == m && isMisconfigured(t.Err) {
			return wrong(m.file(), t.Err)
		}
	}
	return nil
}

// isMisconfigured tells a token that no waiting makes usable.
func isMisconfigured(err error) bool {
	return errors.As(err, new(*tokenfile.AudienceError)) || errors.Is(err, tokenfile.ErrNoExpiry) ||
		errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid)
}

func newFetcher(o *Options, m Mechanism) (fetcher, error) {
	env := lookup(o.Lookup)
	source := &tokenfile.Source{Path: env.get(m.file()), Audience: o.audience(m)}
	if m == WebIdentity {
		client, err := newSTSClient(o)
		return &webIdentity{
			role: env.get(roleARN), name: firstOf(o.SessionName, env.get(sessionName)), duration: o.Duration,
			source: source, client: client,
		}, err
	}
	client := o.HTTPClient
	if client == nil {
		client = newHTTPClient(env.get(fullURI))
	}
	return &agent{uri: env.get(fullURI), source: source, client: direct(client)}, nil
}

// Mechanism is the one in use, or "" if it is the fall-back.
func (p *Provider) Mechanism() Mechanism { return p.mechanism }

// Injection is what New found.
func (p *Provider) Injection() Injection { return p.injection }

// ProviderSources is for the SDK's telemetry: what its own chain would say.
func (p *Provider) ProviderSources() []aws.CredentialSource {
	switch {
	case p.fallback != nil:
		if s, ok := p.fallback.(aws.CredentialProviderSource); ok {
			return s.ProviderSources()
		}
		return nil
	case p.mechanism == WebIdentity:
		return []aws.CredentialSource{aws.CredentialSourceEnvVarsSTSWebIDToken, aws.CredentialSourceSTSAssumeRoleWebID}
	}
	return []aws.CredentialSource{aws.CredentialSourceHTTP}
}

// AdjustExpiresBy is for the SDK's cache, which would ask earlier still.
// Retrieve has its own windows.
func (p *Provider) AdjustExpiresBy(c aws.Credentials, d time.Duration) (aws.Credentials, error) {
	if p.fallback != nil && c.CanExpire {
		c.Expires = c.Expires.Add(d)
	}
	return c, nil
}

// Format writes the mechanism, whatever the verb, and no credentials.
func (p *Provider) Format(f fmt.State, _ rune) {
	if p == nil {
		io.WriteString(f, "awspodid.Provider(nil)")
		return
	}
	fmt.Fprintf(f, "awspodid.Provider(%s)", firstOf(string(p.mechanism), "fall-back"))
}

func (p *Provider) log(level slog.Level, text string, args ...any) {
	if p.logger != nil {
		p.logger.Log(context.Background(), level, "awspodid: "+text, args...)
	}
}

// uniform is a duration between the two, which spreads out those who do the
// same at the same time.
func uniform(from, to time.Duration) time.Duration {
	return from + time.Duration(rand.Float64()*float64(to-from))
}
