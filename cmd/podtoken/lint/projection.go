package lint

import (
	"fmt"
	"strings"
)

const (
	minSeconds  = 600
	maxSeconds  = 86400
	yearSeconds = 3607 // by which the API server knows the token that admission adds
)

// checkProjections looks at what a projected token declares.
func checkProjections(p *pod) {
	for _, t := range p.tokens {
		volume := "volume " + quote(t.name)
		audience := t.audience()
		unknown := p.partial && len(t.mounts) == 0 // perhaps for the API server's clients
		if audience == "" && !t.isForAPIServer() && !unknown {
			p.report(ruleNoAudience, t.line, "the token of "+volume+" has no audience", "")
		}
		if isAPIServer(audience) && !t.isForAPIServer() && !unknown {
			p.report(ruleWrongParty, t.source.lineOf("audience"),
				fmt.Sprintf("the token of %s has the API server's audience, %s, and is not mounted for its clients", volume, quote(audience)),
				"set the audience that the relying party checks; if that is the API server itself, add kube-root-ca.crt to the volume, which its clients need")
		}
		checkLifetime(p, t, volume)
	}
	checkVariables(p)
}

func checkLifetime(p *pod, t tokenVolume, volume string) {
	if !t.source.has("expirationSeconds") {
		p.report(ruleNoExpiry, t.line, "the token of "+volume+" has no expirationSeconds", "")
		return
	}
	line := t.source.lineOf("expirationSeconds")
	seconds, ok := t.source.at("expirationSeconds").number()
	switch {
	case !ok: // the API server says so itself
	case seconds < minSeconds:
		p.report(ruleShort, line, fmt.Sprintf("the token of %s should live for %d s", volume, seconds), "")
	case seconds > maxSeconds:
		p.report(ruleLong, line, fmt.Sprintf("the token of %s lives for %d s", volume, seconds), "")
	case seconds == yearSeconds && (t.audience() == "" || isAPIServer(t.audience())):
		p.report(ruleYear, line, "the token of "+volume+" says 3607 s and will live for a year", "")
	}
}

// thirdParties are the beginnings of variables by which programs are told of a
// token for somebody else than the API server. Consul is not among them: its
// Kubernetes auth method takes no token but the API server's.
var thirdParties = []string{"ARM_", "AWS_", "AZURE_", "BAO_", "GOOGLE_", "NOMAD_", "OPENBAO_", "VAULT_"}

func checkVariables(p *pod) {
	for _, c := range p.containers {
		for _, env := range c.at("env").list() {
			name := env.at("name").str()
			if cleanPath(env.at("value").str()) != defaultPath+"/token" {
				continue
			}
			for _, prefix := range thirdParties {
				if strings.HasPrefix(name, prefix) {
					p.report(ruleWrongParty, env.lineOf("value"),
						fmt.Sprintf("variable %s of %s names the default token, which is the API server's", quote(name), c), "")
					break
				}
			}
		}
	}
}
