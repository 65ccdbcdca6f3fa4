package awspodid_test

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/podtoken/podtoken/awspodid"
)

// Users compile against these names and types: see the root's contract_test.go.
var (
	_ func(...func(*awspodid.Options)) (*awspodid.Provider, error)       = awspodid.New
	_ func(...func(*awspodid.Options)) awspodid.Injection                = awspodid.Inspect
	_ func(*awspodid.Provider, context.Context) (aws.Credentials, error) = (*awspodid.Provider).Retrieve
	_ func(*awspodid.Provider) []aws.CredentialSource                    = (*awspodid.Provider).ProviderSources
	_ func(*awspodid.Provider) awspodid.Mechanism                        = (*awspodid.Provider).Mechanism
	_ func(*awspodid.Provider)                                           = (*awspodid.Provider).Invalidate
	_ func(*awspodid.Provider) awspodid.Stats                            = (*awspodid.Provider).Stats
	_ []error                                                            = []error{awspodid.ErrNotInjected,
		(*awspodid.NotInjectedError)(nil), (*awspodid.InjectionError)(nil), (*awspodid.AgentError)(nil), (*awspodid.STSError)(nil)}
	_ = []awspodid.Mechanism{awspodid.PodIdentity, awspodid.WebIdentity}
)

func field[T any](*T) {}

// The fields' types, exactly.
func _() {
	var none awspodid.NotInjectedError
	field[[]string](&none.Missing)
	field[awspodid.Injection](&none.Injection)

	var refused awspodid.AgentError
	field[int](&refused.StatusCode)
	field[string](&refused.Message)
	field[error](&refused.Err)

	var options awspodid.Options
	field[awspodid.Mechanism](&options.Mechanism)
	field[awspodid.HTTPClient](&options.HTTPClient)
	field[func(string) (string, bool)](&options.Lookup)
}
