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
	for _, volume := range p.spec.at("volumes").list() {
		where := "volume " + quote(volume.at("name").str())
		p.checkLegacyName(volume.at("secret"), "secretName", where)
		for _, source := range volume.at("projected", "sources").list() {
			p.checkLegacyName(source.at("secret"), "name", where)
		}
	}
	for _, c := range p.containers {
		for _, env := range c.at("env").list() {
			p.checkLegacyName(env.at("valueFrom", "secretKeyRef"), "name", fmt.Sprintf("variable %s of %s", quote(env.at("name").str()), c))
		}
		for _, from := range c.at("envFrom").list() {
			p.checkLegacyName(from.at("secretRef"), "name", "envFrom of "+c.String())
		}
	}
}

func (p *pod) checkLegacyName(n *node, key, where string) {
	name := n.at(key).str()
	id := inSpace{p.space, name}
	switch {
	case legacyName.MatchString(name):
		p.reportIf(func(f *facts) bool { return !f.otherSecrets.has(id) },
			ruleLegacyVolume, n.lineOf(key), where+" uses Secret "+quote(name)+", which has the name of a legacy token", "")
	case strings.Contains(name, "token"): // others are never one, and a cluster's list has thousands
		p.reportIf(func(f *facts) bool { return f.tokenSecrets.has(id) },
			ruleLegacyVolume, n.lineOf(key), where+" uses Secret "+quote(name)+", which is of type "+secretType, "")
	}
}

var (
	commentedName = regexp.MustCompile(`\bsecretName\s*["']?:\s*["']?[a-z0-9.-]+-token-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
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
