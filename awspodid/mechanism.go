package awspodid

// Mechanism is a way in which EKS gives a pod an AWS identity.
type Mechanism string

const (
	// PodIdentity is EKS Pod Identity: an agent on the node hands out the
	// credentials of the role that is associated with the service account.
	PodIdentity Mechanism = "EKS Pod Identity"

	// WebIdentity is IRSA, IAM roles for service accounts: STS hands them out
	// for the role that is annotated on the service account.
	WebIdentity Mechanism = "IRSA"
)

// pair is what the webhook injects for a mechanism. It injects both or, if
// either is in the pod's manifest already, neither.
func (m Mechanism) pair() [2]string {
	if m == WebIdentity {
		return [2]string{roleARN, webIdentityFile}
	}
	return [2]string{fullURI, tokenFile}
}

// file is the variable that names the mechanism's token.
func (m Mechanism) file() string { return m.pair()[1] }

// audience is what the webhook's tokens are for.
func (m Mechanism) audience() string {
	if m == WebIdentity {
		return "sts.amazonaws.com"
	}
	return "pods.eks.amazonaws.com"
}

func (m Mechanism) other() Mechanism {
	if m == WebIdentity {
		return PodIdentity
	}
	return WebIdentity
}
