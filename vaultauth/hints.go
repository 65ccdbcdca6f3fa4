package vaultauth

import (
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/hashicorp/vault/api"
)

// hint says what to change, and where. It promises no more than the server's
// answer tells.
func (e *LoginError) hint() string {
	mount := "auth/" + clean(e.Mount)
	role := mount + "/role/" + clean(e.Role)
	switch e.Reason {
	case AudienceRefused:
		return fmt.Sprintf("make the audience of the pod's projected volume (and Source.Audience) and that of %s the same: "+
			"bound_audiences of a jwt role, audience of a kubernetes role", role)
	case NotBound:
		return fmt.Sprintf("%s is for other pods: compare its bound_service_account_names and bound_service_account_namespaces "+
			"(kubernetes), bound_subject and bound_claims (jwt) with sub; if they are right, the pod runs under the wrong service account", role)
	case NoSuchRole:
		if e.Role == "" {
			return "set Method.Role"
		}
		return fmt.Sprintf("there is no role of this name at %s: compare it with the list of %s/role", mount, mount)
	case IssuerRefused:
		return fmt.Sprintf("bound_issuer (jwt) or issuer (kubernetes) in %s/config must be the iss of the cluster's tokens", mount)
	case SignatureRefused:
		return fmt.Sprintf("%s/config does not have the key that signed the token: another cluster's token, "+
			"or keys that were pinned before the cluster changed its own", mount)
	case ClockRefused:
		return "the token is good by this host's clock and not by the server's: compare the two clocks"
	case PermissionDenied:
		return fmt.Sprintf("the server says no more than this in all of these cases: there is no auth method at %s (in this namespace); "+
			"at a kubernetes mount the API server did not accept the token (its pod or service account was deleted, "+
			"or it is another cluster's), the server could not ask it (unreachable, 401, 429, 5xx), "+
			"or the server's own token_reviewer_jwt has expired; the server's log tells which", mount)
	case NoSuchPath:
		return "the namespace, or the auth method in it, does not exist"
	case KeysUnreachable:
		return fmt.Sprintf("the server cannot reach the jwks_url or oidc_discovery_url of %s/config", mount)
	case RateLimited:
		return "a rate limit quota of the server is used up"
	case Sealed:
		return "the server is sealed, and answers again once someone unseals it"
	case Standby:
		return "this node is a standby that does not reach, or does not forward to, an active one: address the active node"
	case Unreachable:
		if errors.As(e.Err, new(x509.UnknownAuthorityError)) {
			return "the client does not trust who signed the server's certificate: set " + api.EnvVaultCACert
		}
	case BadAnswer:
		return "check that the address is that of the server, and what proxies are on the way"
	}
	return ""
}
