package lint

import (
	"errors"
	"path"
	"regexp"
	"strings"
)

// defaultPath is where admission mounts the token for the API server.
const defaultPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// maxParts is what a pod may have of containers, volumes, mounts, variables and
// arguments, which are compared with one another. The API server's limit of an
// object is below it.
const maxParts = 10_000

var errTooManyParts = errors.New("a pod of more than 10000 containers, volumes, mounts, variables and arguments")

// pod is a Pod or a pod template.
type pod struct {
	*object
	metadata *node
	spec     *node
	specLine int
	live     bool // it runs, or did: what admission adds is in its spec
	partial  bool // something completes it: what it leaves out may be there

	containers []container
	tokens     []tokenVolume
	parts      int
}

type container struct {
	*node
	name string
}

// String is how a message names it.
func (c container) String() string {
	if c.name == "" {
		return "a container"
	}
	return "container " + quote(c.name)
}

// tokenVolume is a service-account token of a projected volume that the
// manifest declares. The one that admission adds is not the manifest's.
type tokenVolume struct {
	name      string
	projected *node
	source    *node
	line      int
	mounts    []mount
}

// mount is one of a container.
type mount struct {
	*node
	container container
	path      string
}

func newPod(o *object, n *node) *pod {
	p := &pod{object: o, metadata: n.at("metadata"), spec: n.at("spec"), specLine: n.lineOf("spec")}
	p.live = o.kind == "Pod" && (p.spec.has("nodeName") || n.at("metadata").has("uid") || n.at("status").has("phase"))
	for _, list := range []string{"initContainers", "containers", "ephemeralContainers"} {
		for _, c := range p.spec.at(list).list() {
			p.containers = append(p.containers, container{c, c.at("name").str()})
		}
	}
	p.partial = p.isPatch()
	p.readTokens()
	return p
}

// newVolumes is for an object whose pods have a form of its own: only its
// volumes, and what mounts them, wherever that is.
func newVolumes(o *object) *pod {
	volumes := &node{kind: sequence}
	p := &pod{object: o, specLine: o.root.lineOf("spec"), partial: true}
	o.root.walk(func(n *node) bool {
		volumes.values = append(volumes.values, n.at("volumes").list()...)
		if n.at("volumeMounts").list() != nil {
			p.containers = append(p.containers, container{n, n.at("name").str()})
		}
		return true
	})
	p.spec = &node{kind: mapping, keys: []*node{{kind: scalar, text: "volumes"}}, values: []*node{volumes}}
	p.readTokens()
	return p
}

// isPatch knows Kustomize's patches, and the templates that an operator
// completes, by what the API server would miss.
func (p *pod) isPatch() bool {
	switch p.kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
		if !p.root.at("spec").has("selector") {
			return true
		}
	}
	for _, list := range []string{"initContainers", "containers"} {
		for _, c := range p.spec.at(list).list() {
			if !c.has("image") {
				return true
			}
		}
	}
	return false
}

func (p *pod) readTokens() {
	volumes := p.spec.at("volumes").list()
	p.parts = len(p.containers) + len(volumes)
	mounts := make(map[string][]mount)
	for _, c := range p.containers {
		for _, key := range []string{"volumeMounts", "env", "envFrom", "command", "args"} {
			p.parts += len(c.at(key).list())
		}
		for _, m := range c.at("volumeMounts").list() {
			name := m.at("name").str()
			mounts[name] = append(mounts[name], mount{m, c, cleanPath(m.at("mountPath").str())})
		}
	}
	for _, volume := range volumes {
		name := volume.at("name").str()
		sources := volume.at("projected", "sources").list()
		p.parts += len(sources)
		if strings.HasPrefix(name, "kube-api-access-") {
			continue
		}
		for _, source := range sources {
			if token := source.at("serviceAccountToken"); token != nil {
				p.tokens = append(p.tokens, tokenVolume{
					name: name, projected: volume.at("projected"), source: token,
					line: source.lineOf("serviceAccountToken"), mounts: mounts[name],
				})
			}
		}
	}
}

// tokenVolumes are the tokens, but one of each volume.
func (p *pod) tokenVolumes() []tokenVolume {
	var found []tokenVolume
	seen := make(map[string]bool)
	for _, t := range p.tokens {
		if !seen[t.name] {
			seen[t.name] = true
			found = append(found, t)
		}
	}
	return found
}

// isWindows says that its files have no modes.
func (p *pod) isWindows() bool {
	return p.spec.at("os", "name").str() == "windows" || p.spec.at("nodeSelector", "kubernetes.io/os").str() == "windows"
}

// cleanPath also knows that images have /var/run as a link to /run.
func cleanPath(name string) string {
	name = path.Clean(name)
	if name == "/run" || strings.HasPrefix(name, "/run/") {
		name = "/var" + name
	}
	return name
}

// within says that name is dir or below it.
func within(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// account is the service account.
func (p *pod) account() string {
	for _, key := range []string{"serviceAccountName", "serviceAccount"} {
		if name := p.spec.at(key).str(); name != "" {
			return name
		}
	}
	return "default"
}

// automounts says whether the API server's token is mounted, as far as the pod
// says: its service account can say no where the pod says nothing.
func (p *pod) automounts() (on, decided bool) {
	setting := p.spec.at("automountServiceAccountToken")
	if p.live {
		for _, c := range p.containers {
			for _, m := range c.at("volumeMounts").list() {
				if cleanPath(m.at("mountPath").str()) == defaultPath {
					return true, true
				}
			}
		}
		return false, true
	}
	if setting.isFalse() {
		return false, true
	}
	return true, setting.isTrue()
}

// isForAPIServer says that a volume is what the API server's clients expect:
// its token, and the certificate beside it.
func (t tokenVolume) isForAPIServer() bool {
	for _, m := range t.mounts {
		if m.path == defaultPath {
			return true
		}
	}
	for _, source := range t.projected.at("sources").list() {
		if source.at("configMap", "name").str() == "kube-root-ca.crt" {
			return true
		}
	}
	return false
}

func (t tokenVolume) audience() string { return t.source.at("audience").str() }

// isAPIServer knows the audiences that the common platforms give theirs.
func isAPIServer(audience string) bool {
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

// legacyName is how the controller that made Secrets for service accounts
// named them; its five characters are never vowels, so "github-token-cache" is
// none of its.
var legacyName = regexp.MustCompile(`^.+-token-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
