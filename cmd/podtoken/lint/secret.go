package lint

import (
	"fmt"
	"regexp"
	"strings"
)

const secretType = "kubernetes.io/service-account-token"

// checkSecret never looks at data.
func checkSecret(o *object) {
	if o.kind == "Secret" && o.root.at("type").str() == secretType {
		o.report(ruleLegacySecret, o.root.lineOf("type"), "this Secret asks for a token that never expires", "")
	}
}

// checkLegacyVolumes finds where a pod uses such a Secret.
func checkLegacyVolumes(p *pod) {
	isAtDefault := p.mountedAt(defaultPath)
	for _, volume := range p.spec.at("volumes").list() {
		name := volume.at("name").str()
		where := "volume " + quote(name)
		p.checkLegacyName(volume.at("secret"), "secretName", where, insteadOf(name, isAtDefault[name]))
		for _, source := range volume.at("projected", "sources").list() {
			p.checkLegacyName(source.at("secret"), "name", where, "put this source in its place: "+sourceToDeclare)
		}
	}
	const insteadOfVariable = "let the program read a file, and "
	for _, c := range p.containers {
		for _, env := range c.at("env").list() {
			p.checkLegacyName(env.at("valueFrom", "secretKeyRef"), "name", fmt.Sprintf("variable %s of %s", quote(env.at("name").str()), c), insteadOfVariable+volumeToDeclare)
		}
		for _, from := range c.at("envFrom").list() {
			p.checkLegacyName(from.at("secretRef"), "name", "envFrom of "+c.String(), insteadOfVariable+volumeToDeclare)
		}
	}
}

// mountedAt are the volumes that a container mounts at a path.
func (p *pod) mountedAt(mountPath string) map[string]bool {
	found := make(map[string]bool)
	for _, c := range p.containers {
		for _, m := range c.at("volumeMounts").list() {
			if cleanPath(m.at("mountPath").str()) == mountPath {
				found[m.at("name").str()] = true
			}
		}
	}
	return found
}

// insteadOf is what to declare in place of a volume of a Secret, so that its
// mounts stay as they are: nothing at the default path, where admission mounts
// a token that rotates.
func insteadOf(volume string, isAtDefault bool) string {
	if isAtDefault {
		return "delete the volume and its mounts: where automountServiceAccountToken is not false, the API server adds a token there that is rotated"
	}
	return fmt.Sprintf("declare a projected volume in its place: {name: %s, projected: {sources: [%s]}}", printable(volume), sourceToDeclare)
}

func (p *pod) checkLegacyName(n *node, key, where, mend string) {
	name := n.at(key).str()
	id := inSpace{p.space, name}
	switch {
	case legacyName.MatchString(name):
		p.reportIf(func(f *facts) bool { return !f.otherSecrets.has(id) },
			ruleLegacyVolume, n.lineOf(key), where+" uses Secret "+quote(name)+", which has the name of a legacy token", mend)
	case strings.Contains(name, "token"): // others are never one, and a cluster's list has thousands
		p.reportIf(func(f *facts) bool { return f.tokenSecrets.has(id) },
			ruleLegacyVolume, n.lineOf(key), where+" uses Secret "+quote(name)+", which is of type "+secretType, mend)
	}
}

var (
	commentedName = regexp.MustCompile(`\b(?:secretName|name)\s*["']?:\s*["']?[a-z0-9.-]+-token-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	commentedType = regexp.MustCompile(`^[#\s-]*(type\s*:\s*["']?kubernetes\.io/service-account-token|["']?kubernetes\.io/service-account\.name["']?\s*:)`)
)

// checkComments reports each block of comment lines once.
func checkComments(o *object) {
	reported := 0 // the line of the block's last
	for _, c := range o.comments {
		if c.alone && reported > 0 && c.line == reported+1 {
			reported = c.line
			continue
		}
		if c.alone && (commentedName.MatchString(c.text) || commentedType.MatchString(c.text)) {
			o.report(ruleCommentedOut, c.line, "a legacy token is kept here as a comment", "")
			reported = c.line
		}
	}
}
