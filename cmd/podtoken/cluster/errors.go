package cluster

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var (
	// ErrNotInCluster says that this process has no API server.
	ErrNotInCluster = errors.New("not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")

	// ErrNoToken says that the pod was not given a token for the API server.
	ErrNoToken = errors.New("this pod has no token for the API server (automountServiceAccountToken is false), which is well unless it should ask")

	// ErrForbidden is what a *ForbiddenError is, for errors.Is.
	ErrForbidden = errors.New("the pod's service account may not ask that")
)

// question is what was asked.
type question struct{ verb, resource, namespace, name string }

// ForbiddenError says that the pod's service account may not ask, and how a
// person can.
type ForbiddenError struct {
	Rule    string // the RBAC rule that would allow it, as JSON in one line
	Command string // that a person may run instead
	Err     error  // of the API server
}

func (e *ForbiddenError) Unwrap() []error { return []error{ErrForbidden, e.Err} }

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("%v (the rule would be %s); look by hand: %s", ErrForbidden, e.Rule, e.Command)
}

// failed is an error of the API server as one that a caller can act on.
func failed(err error, q question) error {
	switch {
	case apierrors.IsForbidden(err):
		return &ForbiddenError{Rule: q.rule(), Command: q.command(), Err: err}
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server refused the pod's own token when asked to %s %s: %w", q.verb, q.resource, short{err})
	}
	return fmt.Errorf("could not %s %s of namespace %s: %w", q.verb, q.resource, q.namespace, short{err})
}

func (q question) rule() string {
	return fmt.Sprintf(`{"apiGroups": [""], "resources": [%q], "verbs": [%q]}`, q.resource, q.verb)
}

func (q question) command() string {
	if q.resource == "secrets" {
		return fmt.Sprintf("kubectl -n %s get secrets --field-selector type=%s", q.namespace, corev1.SecretTypeServiceAccountToken)
	}
	return fmt.Sprintf("kubectl -n %s get %s %s -o yaml", q.namespace, q.resource, q.name)
}

// short is an error whose text fits a line.
type short struct{ error }

func (e short) Unwrap() error { return e.error }

func (e short) Error() string {
	const longest = 600
	text := e.error.Error()
	if len(text) > longest {
		return strconv.QuoteToASCII(text[:longest]) + "..."
	}
	for _, r := range text {
		if !strconv.IsPrint(r) {
			return strconv.Quote(text)
		}
	}
	return text
}
