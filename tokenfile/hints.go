package tokenfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// frozenHint explains a file that the kubelet's swaps do not reach.
const frozenHint = "the file is mounted by itself (subPath), so it keeps the token that it had when the container started: " +
	"mount the volume's directory, without subPath"

// projection is the volume to declare for audience, as one line of YAML that
// can be pasted under a pod's spec.volumes.
func projection(audience string) string {
	if audience == AnyAudience {
		audience = "AUDIENCE"
	}
	return fmt.Sprintf("- {name: token, projected: {sources: [{serviceAccountToken: {audience: %s, expirationSeconds: 3600, path: token}}]}}",
		quote(audience))
}

// isKnownAPIServer knows the audiences that the common platforms give theirs.
func isKnownAPIServer(audience string) bool {
	host := strings.TrimPrefix(audience, "https://")
	for _, p := range []string{
		"kubernetes.default.svc", // upstream, kubeadm, k3s
		"kubernetes.svc.default", // kops
		"oidc.eks.", "oidc-eks.", // EKS
		"container.googleapis.com/v", // GKE
	} {
		if strings.HasPrefix(host, p) {
			return true
		}
	}
	return strings.Contains(host, ".oic.prod-aks.azure.com") || strings.HasSuffix(host, ".azmk8s.io") || host == "k3s"
}

const (
	maxQuoted = 200 // bytes of a claim that a text shows
	maxListed = 8   // elements of a claim that a text shows
)

// quote makes a claim's text fit for a message: on one line, without control
// characters, and not longer than a person reads.
func quote(s string) string {
	if holdsToken(s) {
		return "(a token)" // a field set to the wrong thing
	}
	if len(s) > maxQuoted {
		return strconv.QuoteToASCII(s[:maxQuoted]) + "..."
	}
	return strconv.Quote(s)
}

// printable is a file's name as it is, or quoted where it would break a line.
func printable(name string) string {
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

func quoteAll(list []string) string {
	var quoted []string
	for i, s := range list {
		if i == maxListed {
			quoted = append(quoted, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		quoted = append(quoted, quote(s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// stamp shows a time as a person compares it with logs.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// round keeps of a duration what a person reads.
func round(d time.Duration) time.Duration {
	if d.Abs() < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}
