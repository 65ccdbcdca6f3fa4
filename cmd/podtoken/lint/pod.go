package lint

import (
	"path"
	"regexp"
	"strings"
)

// defaultPath is where admission mounts the token for the API server.
const defaultPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// pod is a Pod or a pod template.
type pod struct {
	*object
	metadata *node
	spec     *node
	specLine int
	live     bool // it runs, or did: what admission adds is in its spec

	containers []container
	tokens     []tokenVolume
}

type container struct {
	*node
	name string
	init bool
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
			p.containers = append(p.containers, container{c, c.at("name").str(), list == "initContainers"})
		}
	}
	for _, volume := range p.spec.at("volumes").list() {
		name := volume.at("name").str()
		if strings.HasPrefix(name, "kube-api-access-") {
			continue
		}
		for _, source := range volume.at("projected", "sources").list() {
			if token := source.at("serviceAccountToken"); token != nil {
				p.tokens = append(p.tokens, tokenVolume{
					name: name, projected: volume.at("projected"), source: token,
					line: source.lineOf("serviceAccountToken"), mounts: p.mounts(name),
				})
			}
		}
	}
	return p
}

// mounts are those of a volume.
func (p *pod) mounts(volume string) []mount {
	var found []mount
	for _, c := range p.containers {
		for _, m := range c.at("volumeMounts").list() {
			if m.at("name").str() == volume {
				found = append(found, mount{m, c, cleanPath(m.at("mountPath").str())})
			}
		}
	}
	return found
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
		"kubernetes.default",     // upstream, kubeadm, k3s
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
