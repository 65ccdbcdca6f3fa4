package lint

// Rule is something that podtoken lint looks for.
type Rule struct {
	ID     string `json:"id"`
	Level  Level  `json:"level"`
	Title  string `json:"title"`
	Reason string `json:"reason"` // what happens if nothing is changed
	Mend   string `json:"mend"`

	live bool // about pods that run, whatever the manifest is
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
	ruleLegacySecret, ruleLegacyVolume, ruleNoAudience, ruleNoExpiry, ruleShort, ruleLong, ruleYear,
	ruleWrongParty, ruleDefaultPath, ruleSubPath, ruleNotMounted, ruleUnreadable, ruleAutomount,
	ruleTwoIdentities, ruleCommentedOut, ruleNotInjected, ruleUnexplained, rulePointless,
}

const (
	sourceToDeclare = "{serviceAccountToken: {audience: AUDIENCE, expirationSeconds: 3600, path: token}}"
	volumeToDeclare = "declare a projected volume: {name: token, projected: {sources: [" + sourceToDeclare + "]}}"
)

var (
	ruleLegacySecret = &Rule{
		ID: "PT001", Level: LevelError, Title: "Secret of the service-account-token type",
		Reason: "its token never expires and is bound to no pod: whoever reads it once has the service account until the Secret is deleted",
		Mend:   "delete the Secret and let the pod " + volumeToDeclare,
	}
	ruleLegacyVolume = &Rule{
		ID: "PT002", Level: LevelError, Title: "Secret used as a token",
		Reason: "a token from a Secret is not rotated, and since Kubernetes 1.24 nothing makes that Secret any more: the same manifest fails in a new cluster",
		Mend:   volumeToDeclare,
	}
	ruleNoAudience = &Rule{
		ID: "PT003", Level: LevelError, Title: "projected token without an audience",
		Reason: "it gets the API server's audience: another relying party refuses it, or, worse, accepts it and could use it against the API server",
		Mend:   "add the audience that the relying party checks: audience: AUDIENCE",
	}
	ruleNoExpiry = &Rule{
		ID: "PT004", Level: LevelNote, Title: "projected token without expirationSeconds",
		Reason: "it lives for an hour, which no reader of the manifest sees",
		Mend:   "say it: expirationSeconds: 3600",
	}
	ruleShort = &Rule{
		ID: "PT005", Level: LevelError, Title: "expirationSeconds below 600",
		Reason: "the API server refuses the pod: ten minutes is its minimum",
		Mend:   "set expirationSeconds to 600 or more",
	}
	ruleLong = &Rule{
		ID: "PT006", Level: LevelWarning, Title: "expirationSeconds above a day",
		Reason: "the kubelet replaces the file after 24 hours at the latest, so all that a longer life gives is a longer use to whoever takes the token",
		Mend:   "set expirationSeconds to 86400 or less; 3600 is usual",
	}
	ruleYear = &Rule{
		ID: "PT007", Level: LevelWarning, Title: "expirationSeconds 3607 with the API server's audience",
		Reason: "3607 is the number by which the API server knows the token that admission adds, and extends it to a year, so no program meets an expiry before production",
		Mend:   "set another number: expirationSeconds: 3600",
	}
	ruleWrongParty = &Rule{
		ID: "PT008", Level: LevelError, Title: "the API server's token given to a third party",
		Reason: "a relying party that checks the audience refuses it; one that does not gets a token with which it can act as the pod in the cluster",
		Mend:   "give it a token of its own: " + volumeToDeclare,
	}
	ruleDefaultPath = &Rule{
		ID: "PT009", Level: LevelError, Title: "token mounted at, over or in the default path",
		Reason: "clients of the API server read " + defaultPath + " and find a token that is not theirs; and a read-only volume above or in it keeps the container from starting",
		Mend:   "mount it elsewhere: mountPath: /var/run/secrets/tokens/NAME",
	}
	ruleSubPath = &Rule{
		ID: "PT010", Level: LevelError, Title: "token mounted by subPath",
		Reason: "the kubelet's rotation does not reach a file that is mounted by itself: the token in it dies and is never replaced",
		Mend:   "mount the volume's directory, without subPath",
	}
	ruleNotMounted = &Rule{
		ID: "PT011", Level: LevelError, Title: "token volume not mounted where it is used",
		Reason: "the container finds no file, or, in a program with a default, another token",
		Mend:   "add it to the container's volumeMounts",
	}
	ruleUnreadable = &Rule{
		ID: "PT012", Level: LevelError, Title: "token file that the container's user cannot read",
		Reason: "the file belongs to root, and without fsGroup, or one runAsUser that all containers have, the volume's mode is all that decides: permission denied",
		Mend:   "set the pod's securityContext.fsGroup, and the kubelet makes the file readable to that group and to nobody else",
	}
	ruleAutomount = &Rule{
		ID: "PT013", Level: LevelNote, Title: "the API server's token mounted where nothing needs it",
		Reason: "whoever breaks into the container finds it, and a program with the wrong path reads it in place of its own",
		Mend:   "set automountServiceAccountToken: false in the pod's spec",
	}
	ruleTwoIdentities = &Rule{
		ID: "PT014", Level: LevelWarning, Title: "IRSA and Pod Identity on one service account",
		Reason: "Pod Identity wins where the webhook knows the association, IRSA where it does not yet: two pods of one Deployment can have two roles",
		Mend:   "remove the annotation eks.amazonaws.com/role-arn, then recreate the pods",
	}
	ruleCommentedOut = &Rule{
		ID: "PT015", Level: LevelNote, Title: "legacy token commented out",
		Reason: "in an outage somebody brings it back, and it seems to help: a token without expiry, which then stays",
		Mend:   "delete the comment; the history of the repository has it",
	}
	ruleNotInjected = &Rule{
		ID: "PT016", Level: LevelError, Title: "running pod without the identity that its service account has", live: true,
		Reason: "the webhook injects at admission only: a pod that was admitted before the association was known has no AWS_CONTAINER_* variables for as long as it lives, and its SDK takes the node's role or none",
		Mend:   "recreate the pod; a restart of its containers does not help",
	}
	ruleUnexplained = &Rule{
		ID: "PT901", Level: LevelWarning, Title: "silence without a reason",
		Reason: "nobody who reads it later can tell whether it still holds",
		Mend:   `say why: "PT003: why" in the annotation, "PT003 why" in the comment`,
	}
	rulePointless = &Rule{
		ID: "PT902", Level: LevelWarning, Title: "silence that silences nothing",
		Reason: "what it was for is gone or was never found, and it hides the next such finding",
		Mend:   "delete it",
	}
)
