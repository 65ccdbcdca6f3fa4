package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// checkMounts looks at where token volumes are mounted, and where not.
func checkMounts(p *pod) {
	for _, t := range p.tokenVolumes() {
		if len(t.mounts) == 0 && !p.partial && !p.isForInjector(t.name) {
			p.report(ruleNotMounted, t.line, "no container mounts volume "+quote(t.name),
				"add it to the container's volumeMounts: "+mountToAdd(t.name, tokensPath+printable(t.name))+"; or delete the volume")
		}
		for _, m := range t.mounts {
			p.checkPlace(t, m)
		}
		if !p.partial {
			p.checkUses(t)
		}
	}
	p.checkSubPaths()
}

// isForInjector says that an annotation names a volume for a container that a
// webhook adds: the agent of Vault's injector, Istio's and Dapr's sidecars.
func (p *pod) isForInjector(volume string) bool {
	annotations := p.metadata.at("annotations")
	if annotations == nil {
		return false
	}
	for i, key := range annotations.keys {
		if key.text == ignoreAnnotation || key.text == appliedAnnotation {
			continue
		}
		for word := range strings.FieldsFuncSeq(annotations.values[i].str(), func(r rune) bool { return strings.ContainsRune(",:\"", r) }) {
			if strings.TrimSpace(word) == volume {
				return true
			}
		}
	}
	return false
}

// appliedAnnotation has all of what kubectl applied.
const appliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// tokensPath is where the mends mount tokens, in folders of their own.
const tokensPath = "/var/run/secrets/tokens/"

// mountToAdd is an element of volumeMounts.
func mountToAdd(volume, mountPath string) string {
	return fmt.Sprintf("{name: %s, mountPath: %s, readOnly: true}", printable(volume), printable(mountPath))
}

// checkSubPaths leaves alone what is mounted of the other files of a volume.
func (p *pod) checkSubPaths() {
	seen := make(map[*node]bool)
	for _, t := range p.tokens {
		for _, m := range t.mounts {
			key := m.subPathTo(t)
			if key != "" && !seen[m.node] {
				seen[m.node] = true
				dir := tokensPath + printable(t.name)
				p.report(ruleSubPath, m.lineOf(key), fmt.Sprintf("%s mounts volume %s by %s", m.container, quote(t.name), key),
					fmt.Sprintf("mount the volume's directory instead, %s, and read %s/%s", mountToAdd(t.name, dir), dir, printable(t.source.at("path").str())))
			}
		}
	}
}

// subPathTo is the key by which a mount binds a token's file, or the folder
// that it is in: "" if it mounts the volume. What an expression is nobody knows
// here.
func (m mount) subPathTo(t tokenVolume) string {
	switch sub := m.at("subPath").str(); {
	case sub != "" && within(path.Clean(t.source.at("path").str()), path.Clean(sub)):
		return "subPath"
	case m.at("subPathExpr").str() != "":
		return "subPathExpr"
	}
	return ""
}

// checkPlace compares a mount with the default path. At it belongs nothing but
// the API server's token; above and in it no volume that is read-only, if
// admission mounts its own.
func (p *pod) checkPlace(t tokenVolume, m mount) {
	where := ""
	automounts, decided := p.automounts()
	automounts = automounts && (decided || !p.partial)
	switch {
	case m.path == defaultPath:
		if t.audience() == "" || isAPIServer(t.audience()) {
			return
		}
		where = "at"
	case within(defaultPath, m.path) && automounts:
		where = "over"
	case within(m.path, defaultPath) && automounts:
		where = "in"
	default:
		return
	}
	p.report(ruleDefaultPath, m.lineOf("mountPath"),
		fmt.Sprintf("%s mounts volume %s %s the path of the default token", m.container, quote(t.name), where),
		"mount it elsewhere, and tell the program: mountPath: "+tokensPath+printable(t.name))
}

// checkUses finds containers that are told a path of the volume, which only
// their neighbours mount.
func (p *pod) checkUses(t tokenVolume) {
	if len(t.mounts) == 0 {
		return
	}
	for _, c := range p.containers {
		for _, use := range c.uses() {
			i := slices.IndexFunc(t.mounts, func(m mount) bool { return within(use.path, m.path) })
			if i < 0 || c.mountsOver(use.path) {
				continue
			}
			p.report(ruleNotMounted, use.line,
				fmt.Sprintf("%s is given the path %s and does not mount volume %s, as %s does",
					c, quote(use.path), quote(t.name), t.mounts[i].container),
				"add it to the container's volumeMounts: "+mountToAdd(t.name, t.mounts[i].path))
		}
	}
}

type use struct {
	path string
	line int
}

// uses are the paths in a container's variables, command and arguments.
func (c container) uses() []use {
	var found []use
	for _, env := range c.at("env").list() {
		if value := env.at("value").str(); strings.HasPrefix(value, "/") {
			found = append(found, use{cleanPath(value), env.lineOf("value")})
		}
	}
	for _, key := range []string{"command", "args"} {
		for _, arg := range c.at(key).list() {
			value := arg.str()
			if _, after, ok := strings.Cut(value, "="); ok {
				value = after
			}
			if strings.HasPrefix(value, "/") && !strings.ContainsAny(value, " \n") {
				found = append(found, use{cleanPath(value), arg.line})
			}
		}
	}
	return found
}

// mountsOver says that something of the container's is mounted at or above name.
func (c container) mountsOver(name string) bool {
	for _, m := range c.at("volumeMounts").list() {
		if within(name, cleanPath(m.at("mountPath").str())) {
			return true
		}
	}
	return false
}
