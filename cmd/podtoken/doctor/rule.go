package doctor

// Rule is something that Examine looks for.
type Rule struct {
	ID     string `json:"id"`
	Level  Level  `json:"level"`
	Title  string `json:"title"`
	Reason string `json:"reason"` // what happens if nothing is changed
	Mend   string `json:"mend"`   // with NAMESPACE, POD and NODE, which a finding names

	section string // of the runbook
}

// Rules are all rules by their number, which is never given to another.
func Rules() []Rule {
	var all []Rule
	for _, r := range rules {
		all = append(all, *r)
	}
	return all
}

var rules = []*Rule{
	ruleNothing, ruleMissing, ruleUnreadable, ruleNoToken, ruleExpired, ruleNotYet, ruleClock, ruleOverdue, ruleSubPath,
	ruleLegacy, ruleInherited, ruleExtended, ruleLifetime, ruleLong, ruleAPIServer, ruleDefaultPath, ruleAudience,
	ruleNotInjected, ruleInjection, ruleOverridden, ruleRefused, ruleUnreachable, ruleNoStart,
}

const volumeToDeclare = "declare a projected volume: {name: token, projected: {sources: [{serviceAccountToken: " +
	"{audience: AUDIENCE, expirationSeconds: 3600, path: token}}]}}, and mount it"

var (
	ruleNothing = &Rule{
		ID: "PD001", Level: LevelError, Title: "no token is mounted", section: "the-pod-starts-but-cannot-log-in",
		Reason: "no program here has an identity of the pod; automountServiceAccountToken: false does that, and a volume that only another container mounts",
		Mend:   volumeToDeclare + " in this container; name a file that is elsewhere as an argument",
	}
	ruleMissing = &Rule{
		ID: "PD002", Level: LevelError, Title: "token file that is not there", section: "token-file-missing",
		Reason: "the program that is configured with it fails, or takes another identity",
		Mend:   "compare the path with mountPath and serviceAccountToken.path: kubectl -n NAMESPACE get pod POD -o yaml",
	}
	ruleUnreadable = &Rule{
		ID: "PD003", Level: LevelError, Title: "token file that this user cannot read", section: "token-file-permission",
		Reason: "every program of this user fails with permission denied",
		Mend:   "set the pod's securityContext.fsGroup, and the kubelet makes the file readable to that group and to nobody else",
	}
	ruleNoToken = &Rule{
		ID: "PD004", Level: LevelError, Title: "file that holds no token", section: "token-malformed",
		Reason: "what is read there is refused by whomever it is sent to",
		Mend:   "name the file that the kubelet writes; " + volumeToDeclare,
	}
	ruleExpired = &Rule{
		ID: "PD005", Level: LevelError, Title: "expired token", section: "token-expired",
		Reason: "every relying party refuses it",
		Mend:   "look at the kubelet of node NODE (journalctl -u kubelet | grep -i token), then recreate the pod: kubectl -n NAMESPACE delete pod POD",
	}
	ruleNotYet = &Rule{
		ID: "PD006", Level: LevelError, Title: "token of the future", section: "token-not-yet-valid",
		Reason: "relying parties with a good clock refuse it, and the kubelet does not replace it until its time has come",
		Mend:   "synchronise the clocks of node NODE and of the control plane, then recreate the pod: kubectl -n NAMESPACE delete pod POD",
	}
	ruleClock = &Rule{
		ID: "PD007", Level: LevelWarning, Title: "clock behind the API server's", section: "token-not-yet-valid",
		Reason: "a token is refused in its first seconds, and more of them as the clocks drift",
		Mend:   "synchronise the clock of node NODE",
	}
	ruleOverdue = &Rule{
		ID: "PD008", Level: LevelError, Title: "rotation overdue", section: "token-expired",
		Reason: "the kubelet should have replaced the token and did not; when it expires every login fails",
		Mend: "look for failing TokenRequests in the log of the kubelet of node NODE (journalctl -u kubelet | grep -i token) " +
			"and for a pod that is terminating; recreate the pod if its node is healthy: kubectl -n NAMESPACE delete pod POD",
	}
	ruleSubPath = &Rule{
		ID: "PD009", Level: LevelError, Title: "token mounted by subPath", section: "token-mounted-by-subpath",
		Reason: "the kubelet's rotation does not reach a file that is mounted by itself: the token in it dies and is never replaced",
		Mend:   "mount the volume's directory, without subPath, and recreate the pod",
	}
	ruleLegacy = &Rule{
		ID: "PD010", Level: LevelError, Title: "legacy Secret token", section: "token-without-expiry",
		Reason: "it never expires and is bound to no pod: whoever reads it once has the service account until the Secret is deleted",
		Mend:   volumeToDeclare + "; then delete the Secret",
	}
	ruleInherited = &Rule{
		ID: "PD011", Level: LevelError, Title: "lifetime that nobody declared", section: "token-lifetime",
		Reason: "it was inherited from the platform, so the program meets no expiry before production, and whoever takes the token has it for long",
		Mend:   "set serviceAccountToken.audience to the relying party's and expirationSeconds to 3600",
	}
	ruleExtended = &Rule{
		ID: "PD012", Level: LevelNote, Title: "default token, good for a year", section: "the-pod-starts-but-cannot-log-in",
		Reason: "the API server extends the token that admission adds, for programs that read it once: nobody sees its rotations, and it is of no use to anybody else",
		Mend:   "if nothing here asks the API server, set automountServiceAccountToken: false; for another relying party " + volumeToDeclare,
	}
	ruleLifetime = &Rule{
		ID: "PD013", Level: LevelError, Title: "lifetime that is not the declared one", section: "token-lifetime",
		Reason: "the API server's --service-account-max-token-expiration, or a webhook, changed it: the kubelet rotates at another time than the manifest says",
		Mend:   "compare with expirationSeconds: kubectl -n NAMESPACE get pod POD -o yaml",
	}
	ruleLong = &Rule{
		ID: "PD014", Level: LevelWarning, Title: "lifetime above a day", section: "token-lifetime",
		Reason: "the kubelet replaces the file after 24 hours at the latest, so all that a longer life gives is a longer use to whoever takes the token",
		Mend:   "set expirationSeconds to 86400 or less; 3600 is usual",
	}
	ruleAPIServer = &Rule{
		ID: "PD015", Level: LevelWarning, Title: "the API server's audience outside of the default path", section: "token-audience",
		Reason: "if it is meant for another relying party, that one refuses it, or, worse, accepts it and could use it against the API server",
		Mend:   "set serviceAccountToken.audience to the audience that the relying party checks",
	}
	ruleDefaultPath = &Rule{
		ID: "PD016", Level: LevelError, Title: "token for somebody else at the default path", section: "token-audience",
		Reason: "clients of the API server read it and are refused",
		Mend:   "mount it elsewhere: mountPath: /var/run/secrets/tokens/NAME",
	}
	ruleAudience = &Rule{
		ID: "PD017", Level: LevelError, Title: "no token with the expected audience", section: "token-audience",
		Reason: "the relying party refuses every other one",
		Mend:   volumeToDeclare,
	}
	ruleNotInjected = &Rule{
		ID: "PD018", Level: LevelError, Title: "no AWS identity was injected", section: "aws-not-injected",
		Reason: "the webhook injects at admission only; the SDK takes the node's role or none, for as long as the pod lives",
		Mend:   "recreate the pod, a restart of its containers does not help: kubectl -n NAMESPACE delete pod POD",
	}
	ruleInjection = &Rule{
		ID: "PD019", Level: LevelError, Title: "AWS identity that cannot be used", section: "aws-half-injected",
		Reason: "the SDK fails, or falls back to the node's role",
		Mend:   "take these variables out of the pod's manifest and recreate the pod: the webhook sets all of them or none",
	}
	ruleOverridden = &Rule{
		ID: "PD020", Level: LevelWarning, Title: "other AWS credentials in the way", section: "access-denied-and-aws-is-green",
		Reason: "the SDK's own chain takes them before what was injected, and they do not rotate",
		Mend:   "take the variable out of the pod's manifest",
	}
	ruleRefused = &Rule{
		ID: "PD021", Level: LevelError, Title: "login refused", section: "logins-rejected",
		Reason: "what the program does first is what failed here",
		Mend:   "mend what the answer names, in the role or in the pod",
	}
	ruleUnreachable = &Rule{
		ID: "PD022", Level: LevelError, Title: "no answer from the relying party", section: "login-unreachable",
		Reason: "nothing is known of the identity: the way there, or the server, does not work",
		Mend:   "look at the address, the network policies of namespace NAMESPACE and the server",
	}
	ruleNoStart = &Rule{
		ID: "PD023", Level: LevelNote, Title: "start of the container not known", section: "what-to-look-at-first",
		Reason: "the file's time cannot tell then whether a rotation was crossed",
		Mend:   "none is needed; podtoken doctor --watch sees the next rotation",
	}
)
