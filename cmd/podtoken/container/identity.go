package container

import (
	"context"
	"regexp"
	"strings"

	"github.com/podtoken/podtoken/tokenfile"
)

// Identity is whose container this is. What is not known is empty; what is
// there can be pasted into a shell.
type Identity struct {
	Namespace      string `json:"namespace"`
	ServiceAccount string `json:"serviceAccount"`
	Pod            string `json:"pod"`
	PodUID         string `json:"podUID"`
	Node           string `json:"node"`
}

// ServiceAccountDir is where the API server's own token is mounted.
const ServiceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Identify finds out whose the container at root is: by the claims of tokens,
// which cannot be wrong; then by POD_NAME, POD_NAMESPACE, NODE_NAME and
// HOSTNAME, and the service account's files. environment is as os.Environ.
func Identify(root string, tokens []Mount, environment []string) Identity {
	var id Identity
	for _, m := range tokens {
		id.add(claimed(Resolve(root, m.Path)))
	}
	variable := lookup(environment)
	id.add(Identity{Namespace: variable("POD_NAMESPACE"), Pod: variable("POD_NAME"), Node: variable("NODE_NAME")})
	id.add(Identity{Namespace: readName(Resolve(root, ServiceAccountDir+"/namespace"))})
	if variable("KUBERNETES_SERVICE_HOST") != "" {
		id.add(Identity{Pod: variable("HOSTNAME")}) // but on the node's network, where the tokens know better
	}
	return id
}

// add fills in what is not known yet, if it can be a name.
func (id *Identity) add(other Identity) {
	for _, field := range []struct {
		to   *string
		from string
	}{
		{&id.Namespace, other.Namespace},
		{&id.ServiceAccount, other.ServiceAccount},
		{&id.Pod, other.Pod},
		{&id.PodUID, other.PodUID},
		{&id.Node, other.Node},
	} {
		if *field.to == "" && dns1123.MatchString(field.from) {
			*field.to = field.from
		}
	}
}

var dns1123 = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// claimed is what a token says.
func claimed(file string) Identity {
	source := &tokenfile.Source{Path: file, Audience: tokenfile.AnyAudience, AllowNoExpiry: true}
	token, err := source.Reload(context.Background())
	if err != nil {
		return ofSubject(file)
	}
	k := token.Kubernetes()
	return Identity{Namespace: k.Namespace, ServiceAccount: k.ServiceAccount, Pod: k.Pod, PodUID: k.PodUID, Node: k.Node}
}

// ofSubject is what the subject says of a token that cannot be used, such as
// one that has expired.
func ofSubject(file string) Identity {
	text, _ := subject(file)
	namespace, account, _ := strings.Cut(strings.TrimPrefix(text, subjectPrefix), ":")
	return Identity{Namespace: namespace, ServiceAccount: account}
}

// lookup finds variables of an environment; the last of a name counts, as for
// a shell.
func lookup(environment []string) func(string) string {
	values := map[string]string{}
	for _, v := range environment {
		if name, value, ok := strings.Cut(v, "="); ok {
			values[name] = value
		}
	}
	return func(name string) string { return values[name] }
}

// readName is the name in a small regular file.
func readName(file string) string {
	text, _ := readSmall(file)
	return strings.TrimSpace(text)
}
