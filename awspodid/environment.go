package awspodid

import "os"

// The variables that the webhook and the SDK know.
const (
	fullURI          = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
	tokenFile        = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
	relativeURI      = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
	fixedToken       = "AWS_CONTAINER_AUTHORIZATION_TOKEN"
	roleARN          = "AWS_ROLE_ARN"
	webIdentityFile  = "AWS_WEB_IDENTITY_TOKEN_FILE"
	sessionName      = "AWS_ROLE_SESSION_NAME"
	region           = "AWS_REGION"
	defaultRegion    = "AWS_DEFAULT_REGION"
	regionalSTS      = "AWS_STS_REGIONAL_ENDPOINTS"
	accessKey        = "AWS_ACCESS_KEY_ID"
	secretKey        = "AWS_SECRET_ACCESS_KEY"
	profile          = "AWS_PROFILE"
	inKubernetes     = "KUBERNETES_SERVICE_HOST"
	podName, podHost = "POD_NAME", "HOSTNAME"
	podNamespace     = "POD_NAMESPACE"
)

// shown are the variables that an Injection lists, in this order, with their
// values unless those are secret.
var shown = []struct {
	name   string
	secret bool
}{
	{fullURI, false}, {tokenFile, false}, {relativeURI, false}, {fixedToken, true},
	{roleARN, false}, {webIdentityFile, false},
	{region, false}, {defaultRegion, false}, {regionalSTS, false},
	{accessKey, true}, {secretKey, true}, {profile, false},
}

// lookup is os.LookupEnv, or what stands for it.
type lookup func(name string) (string, bool)

func (l lookup) get(name string) string {
	value, _ := l.find(name)
	return value
}

func (l lookup) find(name string) (string, bool) {
	if l == nil {
		return os.LookupEnv(name)
	}
	return l(name)
}

func (l lookup) isSet(name string) bool {
	_, ok := l.find(name)
	return ok
}
