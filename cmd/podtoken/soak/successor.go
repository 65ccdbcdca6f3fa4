package soak

import (
	"fmt"

	"github.com/podtoken/podtoken/tokenfile"
)

// notAfter says why the kubelet cannot have replaced old by next, empty if it
// can. It asks for the same pod's token each time, and gets a younger one.
func notAfter(old, next *tokenfile.Token) string {
	was, is := old.Kubernetes(), next.Kubernetes()
	switch {
	case next.Subject() != old.Subject():
		return fmt.Sprintf("a token of %s, and no more one of %s", printable(bounded(next.Subject())), printable(bounded(old.Subject())))
	case is.Namespace != was.Namespace || is.Pod != was.Pod || is.PodUID != was.PodUID:
		return fmt.Sprintf("a token of the pod %s, and no more one of %s", printable(bounded(is.Pod)), printable(bounded(was.Pod)))
	case next.IssuedAt().Before(old.IssuedAt()):
		return fmt.Sprintf("a token issued at %s, before the one that it replaced, issued at %s", stamp(next.IssuedAt()), stamp(old.IssuedAt()))
	}
	return ""
}
