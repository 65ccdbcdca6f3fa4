package lint

import (
	"fmt"
	"strings"
)

// checkMounts looks at where token volumes are mounted, and where not.
func checkMounts(p *pod) {
	seen := make(map[string]bool)
	for _, t := range p.tokens {
		if seen[t.name] {
			continue // two tokens in one volume
		}
		seen[t.name] = true
		if len(t.mounts) == 0 {
			p.report(ruleNotMounted, t.line, "no container mounts volume "+quote(t.name), "")
		}
		for _, m := range t.mounts {
			p.checkPlace(t, m)
			for _, key := range []string{"subPath", "subPathExpr"} {
				if m.has(key) && m.at(key).str() != "" {
					p.report(ruleSubPath, m.lineOf(key),
						fmt.Sprintf("container %s mounts volume %s by %s", quote(m.container.name), quote(t.name), key), "")
				}
			}
		}
		p.checkUses(t)
	}
}

// checkPlace compares a mount with the default path. At it belongs nothing but
// the API server's token; above and in it no volume that is read-only, if
// admission mounts its own.
func (p *pod) checkPlace(t tokenVolume, m mount) {
	where := ""
	automounts, _ := p.automounts()
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
		fmt.Sprintf("container %s mounts volume %s %s the path of the default token", quote(m.container.name), quote(t.name), where), "")
}

// checkUses finds containers that are told a path of the volume, which only
// their neighbours mount.
func (p *pod) checkUses(t tokenVolume) {
	for _, c := range p.containers {
		for _, use := range c.uses() {
			for _, m := range t.mounts {
				if !within(use.path, m.path) || c.mountsOver(use.path) {
					continue
				}
				p.report(ruleNotMounted, use.line,
					fmt.Sprintf("container %s is given the path %s and does not mount volume %s, as container %s does",
						quote(c.name), quote(use.path), quote(t.name), quote(m.container.name)), "")
				break
			}
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
