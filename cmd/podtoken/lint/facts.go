package lint

import (
	"cmp"
	"strings"
)

// facts are what objects say of each other, as little as the rules need.
type facts struct {
	associated   names // service accounts with a Pod Identity association
	accounts     names // service accounts
	noAutomount  names // those that say so
	tokenSecrets names // Secrets of the legacy type
	otherSecrets names // Secrets of another, with a name as of those

	bindings    bool            // there is one at all
	bound       names           // service accounts that one gives a role
	boundSpaces map[string]bool // namespaces of which one gives a role to all of them

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
		f.accounts.add(id)
		if o.root.at("automountServiceAccountToken").isFalse() {
			f.noAutomount.add(id)
		}
	case "Secret":
		switch {
		case o.root.at("type").str() == secretType:
			f.tokenSecrets.add(id)
		case legacyName.MatchString(o.name):
			f.otherSecrets.add(id)
		}
	case "RoleBinding", "ClusterRoleBinding":
		f.bindings = true
		for _, subject := range o.root.at("subjects").list() {
			f.bind(subject, o)
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

// isBound says that a binding gives a service account a role.
func (f *facts) isBound(account inSpace) bool {
	return f.bound.has(account) || f.boundSpaces[account.space] || f.boundSpaces[anywhere]
}

// bind remembers whom a binding gives a role, as itself or as one of a group.
func (f *facts) bind(subject *node, binding *object) {
	const user, group = "system:serviceaccount:", "system:serviceaccounts"
	name, space := subject.at("name").str(), subject.at("namespace").str()
	switch subject.at("kind").str() {
	case "ServiceAccount":
		f.bound.add(inSpace{cmp.Or(space, binding.space), name})
	case "User":
		if id, ok := strings.CutPrefix(name, user); ok {
			space, name, _ := strings.Cut(id, ":")
			f.bound.add(inSpace{space, name})
		}
	case "Group":
		builtIn := strings.HasPrefix(binding.root.at("roleRef", "name").str(), "system:") // is in each cluster, and gives next to nothing
		if rest, ok := strings.CutPrefix(name, group); ok && !builtIn {
			f.bindAll(cmp.Or(strings.TrimPrefix(rest, ":"), anywhere))
		}
	}
}

func (f *facts) bindAll(space string) {
	if f.boundSpaces == nil {
		f.boundSpaces = make(map[string]bool)
	}
	f.boundSpaces[space] = true
}
