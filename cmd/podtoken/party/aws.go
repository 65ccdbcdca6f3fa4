package party

import (
	"context"
	"fmt"

	"github.com/podtoken/podtoken/awspodid"
)

// AWS is the AWS identity that was injected into this pod: the Pod Identity
// agent of the node, or STS with IRSA. It fails with awspodid's errors if
// nothing was injected or if what was cannot be used.
func AWS(optFns ...func(*awspodid.Options)) (Party, error) {
	provider, err := awspodid.New(optFns...)
	if err != nil {
		return nil, err
	}
	if provider.Mechanism() == "" {
		return nil, awspodid.ErrNotInjected // a fall-back is no identity of a pod
	}
	return &account{mechanism: provider.Mechanism(), injection: provider.Injection(), optFns: optFns}, nil
}

// account is a Party.
type account struct {
	mechanism awspodid.Mechanism
	injection awspodid.Injection
	optFns    []func(*awspodid.Options)
}

// Login makes a provider for each retrieval, since it is the provider that
// keeps credentials.
func (a *account) Login(ctx context.Context) error {
	provider, err := awspodid.New(a.optFns...)
	if err != nil {
		return err
	}
	_, err = provider.Retrieve(ctx)
	return err
}

func (a *account) Audience() string {
	var o awspodid.Options
	for _, fn := range a.optFns {
		fn(&o)
	}
	switch {
	case o.Audience != "":
		return o.Audience
	case a.mechanism == awspodid.WebIdentity:
		return "sts.amazonaws.com"
	}
	return "pods.eks.amazonaws.com"
}

func (a *account) Path() string {
	for _, token := range a.injection.Tokens {
		if token.Mechanism == a.mechanism {
			return token.Path
		}
	}
	return ""
}

// String names the role, or the agent, whose role EKS knows.
func (a *account) String() string {
	name, what := "AWS_CONTAINER_CREDENTIALS_FULL_URI", "agent"
	if a.mechanism == awspodid.WebIdentity {
		name, what = "AWS_ROLE_ARN", "role"
	}
	for _, v := range a.injection.Variables {
		if v.Name == name && v.Value != "" {
			return fmt.Sprintf("AWS by %s, %s %s", a.mechanism, what, clean(v.Value))
		}
	}
	return fmt.Sprintf("AWS by %s", a.mechanism)
}
