package lint

import (
	"fmt"
	"slices"
)

// checkPermissions does what the kubelet does with a token's file: fsGroup, or
// a user that all containers share, makes it 0600 and theirs. Else it belongs
// to root and has the volume's mode.
func checkPermissions(p *pod) {
	if p.partial || p.isWindows() || p.spec.at("securityContext").has("fsGroup") || p.sharedUser() {
		return
	}
	for _, t := range p.tokenVolumes() {
		mode, ok := t.projected.at("defaultMode").number()
		if !ok || mode&0o004 != 0 || t.projected.has("defaultUser") || t.source.has("user") {
			continue
		}
		for _, m := range t.mounts {
			user, ok := p.reads(m.container, mode)
			if ok {
				continue
			}
			p.report(ruleUnreadable, t.projected.lineOf("defaultMode"),
				fmt.Sprintf("volume %s has mode %04o, and %s runs as %s", quote(t.name), mode, m.container, user),
				fmt.Sprintf("add fsGroup: %d to the pod's securityContext, and the kubelet makes the file readable to that group and to nobody else", p.groupToSet(m.container)))
			break
		}
	}
}

// setting is the container's, or else the pod's.
func (p *pod) setting(c container, key string) *node {
	if v := c.at("securityContext", key); v != nil {
		return v
	}
	return p.spec.at("securityContext", key)
}

// sharedUser says that all containers have the same runAsUser.
func (p *pod) sharedUser() bool {
	shared := ""
	for _, c := range p.containers {
		user := p.setting(c, "runAsUser").str()
		if user == "" || shared != "" && user != shared {
			return false
		}
		shared = user
	}
	return shared != ""
}

// reads says whether a container can read a file of root's with mode, and
// otherwise who it is. What only the image knows is taken to be fit.
func (p *pod) reads(c container, mode int64) (user string, ok bool) {
	switch uid := p.setting(c, "runAsUser"); {
	case uid.str() == "0":
		return "", true
	case uid.str() != "":
		user = "user " + quote(uid.str())
	case p.setting(c, "runAsNonRoot").isTrue():
		user = "the image's user, who is not root"
	default:
		return "", true
	}
	group := p.setting(c, "runAsGroup").str()
	if mode&0o040 != 0 && (group == "" || group == "0" || p.hasRootGroup()) {
		return "", true // without a group, the image's, which often is root's
	}
	return user, false
}

// usualGroup is that of distroless images.
const usualGroup = 65532

// groupToSet is a group that the container has already, or one like any other.
func (p *pod) groupToSet(c container) int64 {
	for _, key := range []string{"runAsGroup", "runAsUser"} {
		if id, ok := p.setting(c, key).number(); ok && id > 0 {
			return id
		}
	}
	return usualGroup
}

func (p *pod) hasRootGroup() bool {
	return slices.ContainsFunc(p.spec.at("securityContext", "supplementalGroups").list(),
		func(group *node) bool { return group.str() == "0" })
}
