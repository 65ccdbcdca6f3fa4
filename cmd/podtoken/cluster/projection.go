package cluster

import (
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Projection is a service-account token as a pod's spec declares it.
type Projection struct {
	Audience string        // empty: the API server's own
	Lifetime time.Duration // as asked for; an hour if the spec does not say
	SubPath  bool          // the file is mounted by itself, and never replaced
	Injected bool          `json:",omitempty"` // by the API server's admission: the pod's author declared nothing
}

// injectedVolume begins the name of the volume that admission adds to each pod
// that does not refuse it.
const injectedVolume = "kube-api-access-"

// Declared finds what a pod's spec says about the token at file, an absolute
// path as its containers have it. It returns false if no container mounts a
// projected token there, since a Secret's token is none, and if two containers
// mount different ones: which of them this is, nothing tells.
func Declared(pod *corev1.Pod, file string) (declared Projection, ok bool) {
	for _, mount := range mounts(pod) {
		inside, isUnder := under(mount.MountPath, file)
		if !isUnder {
			continue
		}
		for _, token := range projections(pod, mount.Name) {
			if path.Join(mount.SubPath, inside) != path.Clean(token.Path) {
				continue
			}
			p := Projection{Audience: token.Audience, Lifetime: time.Hour, SubPath: mount.SubPath != "", Injected: strings.HasPrefix(mount.Name, injectedVolume)}
			if token.ExpirationSeconds != nil {
				p.Lifetime = time.Duration(*token.ExpirationSeconds) * time.Second
			}
			if ok && p != declared {
				return Projection{}, false
			}
			declared, ok = p, true
		}
	}
	return declared, ok
}

// mounts are those of all containers.
func mounts(pod *corev1.Pod) []corev1.VolumeMount {
	var all []corev1.VolumeMount
	for _, c := range pod.Spec.Containers {
		all = append(all, c.VolumeMounts...)
	}
	for _, c := range pod.Spec.InitContainers {
		all = append(all, c.VolumeMounts...)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		all = append(all, c.VolumeMounts...)
	}
	return all
}

func projections(pod *corev1.Pod, volume string) []*corev1.ServiceAccountTokenProjection {
	var found []*corev1.ServiceAccountTokenProjection
	for _, v := range pod.Spec.Volumes {
		if v.Name != volume || v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.ServiceAccountToken != nil {
				found = append(found, source.ServiceAccountToken)
			}
		}
	}
	return found
}

// canonical also knows that images have /var/run as a link to /run, which is
// what the kernel's table of mounts says then.
func canonical(name string) string {
	name = path.Clean(name)
	if name == "/run" || strings.HasPrefix(name, "/run/") {
		return "/var" + name
	}
	return name
}

// under returns what is left of file below a mount, empty for the mount itself.
func under(mount, file string) (string, bool) {
	mount, file = canonical(mount), canonical(file)
	if file == mount {
		return "", true
	}
	return strings.CutPrefix(file, strings.TrimSuffix(mount, "/")+"/")
}
