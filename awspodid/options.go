package awspodid

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// HTTPClient sends requests; *http.Client is one.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

// Options are what New and Inspect can be told. The zero value is right for a
// pod of EKS.
type Options struct {
	// Mechanism, if set, is the only one to use. A pod that is meant for Pod
	// Identity and was given IRSA instead then fails at start. If empty, it is
	// what the SDK's own chain would take of the two: IRSA, if both are there.
	Mechanism Mechanism

	// Audience overrides what the token is for. If empty,
	// "pods.eks.amazonaws.com" for Pod Identity and "sts.amazonaws.com" for
	// IRSA; other partitions may have others.
	Audience string

	// Region is that of STS. If empty, AWS_REGION or AWS_DEFAULT_REGION.
	Region string

	// SessionName is IRSA's role session name, which CloudTrail shows. If
	// empty, AWS_ROLE_SESSION_NAME, or it is made from the token's namespace,
	// service account and pod.
	SessionName string

	// Duration is how long IRSA's credentials are asked for. If zero, STS
	// decides.
	Duration time.Duration

	// HTTPClient sends the requests to the agent. If nil, a client that
	// reaches the allowed addresses only, directly and without a proxy;
	// another one has its own rules for proxies and names.
	HTTPClient HTTPClient

	// STSClient sends the requests to STS. If nil, the SDK's. It should not
	// retry: the provider does, with the token that the file holds then.
	STSClient stscreds.AssumeRoleWithWebIdentityAPIClient

	// STSOptions are applied to the SDK's STS client, if STSClient is nil.
	STSOptions []func(*sts.Options)

	// Fallback is what New uses, if set, where nothing at all of either
	// mechanism was injected and this is not a pod: on a laptop, in CI.
	Fallback aws.CredentialsProvider

	// Logger is told of refreshes and of failures whose reason is new. If
	// nil, the provider is silent.
	Logger *slog.Logger

	// Lookup is the environment. If nil, os.LookupEnv.
	Lookup func(name string) (string, bool)

	// ServiceAccountDir is where the pod's own files are. If empty,
	// /var/run/secrets/kubernetes.io/serviceaccount.
	ServiceAccountDir string
}

func newOptions(optFns []func(*Options)) *Options {
	o := new(Options)
	for _, f := range optFns {
		f(o)
	}
	return o
}

func (o *Options) audience(m Mechanism) string { return firstOf(o.Audience, m.audience()) }

func (o *Options) serviceAccountDir() string {
	return firstOf(o.ServiceAccountDir, "/var/run/secrets/kubernetes.io/serviceaccount")
}

func (o *Options) region() string {
	env := lookup(o.Lookup)
	return firstOf(o.Region, env.get(region), env.get(defaultRegion))
}
