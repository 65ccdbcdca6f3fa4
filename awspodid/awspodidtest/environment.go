package awspodidtest

import "maps"

// The variables that the webhook injects.
const (
	FullURI           = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
	AuthorizationFile = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
	RoleARN           = "AWS_ROLE_ARN"
	WebIdentityFile   = "AWS_WEB_IDENTITY_TOKEN_FILE"
	Region            = "AWS_REGION"
	DefaultRegion     = "AWS_DEFAULT_REGION"
	RegionalEndpoints = "AWS_STS_REGIONAL_ENDPOINTS"
)

// Lookup is os.LookupEnv for a program in the pod.
func (p *Pod) Lookup(key string) (string, bool) {
	value, ok := p.environment[key]
	return value, ok
}

// Environ returns the variables by name. The map is the caller's.
func (p *Pod) Environ() map[string]string { return maps.Clone(p.environment) }

// With returns a container of the same pod whose environment has key set to
// value, as by the container's own env, or "" for a variable that is set but
// empty. The volumes are the same.
func (p *Pod) With(key, value string) *Pod {
	other := p.clone()
	other.environment[key] = value
	return other
}

// Without returns a container of the same pod whose environment lacks keys, as
// after "env -u" in a shell wrapper: half of a pair. The volumes are the same.
func (p *Pod) Without(keys ...string) *Pod {
	other := p.clone()
	for _, key := range keys {
		delete(other.environment, key)
	}
	return other
}

func (p *Pod) clone() *Pod {
	other := *p
	other.environment = p.Environ()
	if other.environment == nil {
		other.environment = make(map[string]string)
	}
	return &other
}
