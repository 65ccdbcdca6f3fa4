package soak

import (
	"cmp"
	"fmt"
	"regexp"
	"time"
)

// Step is something that a soak cannot see from inside the pod.
type Step struct {
	What    string `json:"what"`
	Command string `json:"command"`
}

// Audited is a Party that knows how to look at its audit log.
type Audited interface {
	// AuditCommand shows the logins of subject that were rejected since then.
	AuditCommand(subject string, since time.Time) string
}

func (r *run) byHand(points []Point) []Step {
	pod := fmt.Sprintf("kubectl -n %s delete pod %s && kubectl -n %[1]s get pods --watch", r.namespace(), r.pod())
	steps := []Step{
		{"that the relying party's audit log has no rejection either, of any pod with this identity", r.auditCommand()},
		{"that a deleted pod's replacement becomes ready, and logs in, unaided", pod},
		{"that no other namespace has a token without an expiry", "kubectl get secrets -A --field-selector type=kubernetes.io/service-account-token"},
	}
	for _, p := range points {
		if p.State != NotSeen {
			continue
		}
		if command := r.instead(p.Name); command != "" {
			steps = append(steps, Step{"that " + p.Claim, command})
		}
	}
	return steps
}

func (r *run) auditCommand() string {
	if audited, ok := r.Party.(Audited); ok {
		return audited.AuditCommand(printable(r.token.Subject()), r.began)
	}
	return fmt.Sprintf("search its log for %s since %s", printable(r.token.Subject()), stamp(r.began))
}

// instead is the command that shows a point which was not seen.
func (r *run) instead(point string) string {
	get := fmt.Sprintf("kubectl -n %s get pod %s -o ", r.namespace(), r.pod())
	switch point {
	case "audience", "lifetime":
		return get + "jsonpath='{.spec.volumes[*].projected.sources[*].serviceAccountToken}'"
	case "modified":
		return get + "jsonpath='{.status.containerStatuses[*].state.running.startedAt}'"
	case "secrets":
		return fmt.Sprintf("kubectl -n %s get secrets --field-selector type=kubernetes.io/service-account-token", r.namespace())
	}
	return ""
}

func (r *run) namespace() string { return pasted(r.token.Kubernetes().Namespace, "NAMESPACE") }
func (r *run) pod() string       { return pasted(r.token.Kubernetes().Pod, "POD") }

var dns1123 = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// pasted is a claim if it can be pasted into a shell.
func pasted(claimed, otherwise string) string {
	if !dns1123.MatchString(claimed) {
		claimed = ""
	}
	return cmp.Or(claimed, otherwise)
}
