package lint

import "strings"

// facts are what objects say of each other, as little as the rules need.
type facts struct {
	associated   names // service accounts with a Pod Identity association
	bound        names // service accounts that a binding gives a role
	noAutomount  names // service accounts that say so
	tokenSecrets names // Secrets of the legacy type

	makers map[string]bool // objects that make pods
}

// inSpace is a name in a namespace, "" where a manifest leaves that to kubectl.
type inSpace struct{ space, name string }

type names map[inSpace]bool

func (n *names) add(id inSpace) {
	if *n == nil {
		*n = make(names)
	}
	(*n)[id] = true
	if id.space != "" {
		(*n)[inSpace{anywhere, id.name}] = true
	}
}

const anywhere = "*" // no namespace has this name

// has also knows that a manifest without a namespace can be of any. The
// service account "default" is in each, so for that the namespace must be known.
func (n names) has(id inSpace) bool {
	switch {
	case n[id]:
		return true
	case id.name == "default":
		return false
	case id.space == "":
		return n[inSpace{anywhere, id.name}]
	}
	return n[inSpace{"", id.name}]
}

// learn remembers what an object says of others.
func (f *facts) learn(o *object, makesPods bool, cluster string) {
	if makesPods && o.kind != "Pod" {
		if f.makers == nil {
			f.makers = make(map[string]bool)
		}
		f.makers[o.kind+" "+o.space+"/"+o.name] = true
	}
	id := inSpace{o.space, o.name}
	switch o.kind {
	case "ServiceAccount":
		if o.root.at("automountServiceAccountToken").isFalse() {
			f.noAutomount.add(id)
		}
	case "Secret":
		if o.root.at("type").str() == secretType {
			f.tokenSecrets.add(id)
		}
	case "RoleBinding", "ClusterRoleBinding":
		for _, subject := range o.root.at("subjects").list() {
			if subject.at("kind").str() == "ServiceAccount" {
				space := subject.at("namespace").str()
				if space == "" {
					space = o.space
				}
				f.bound.add(inSpace{space, subject.at("name").str()})
			}
		}
	case "PodIdentityAssociation":
		if a, ok := declared(o.root); ok {
			f.associate(a, cluster)
		}
	}
}

func (f *facts) associate(a Association, cluster string) {
	if cluster == "" || a.Cluster == "" || strings.EqualFold(a.Cluster, cluster) {
		f.associated.add(inSpace{a.Namespace, a.ServiceAccount})
	}
}
