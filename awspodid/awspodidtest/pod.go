package awspodidtest

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/podtoken/podtoken/tokenfile/tokenfiletest"
)

// Where the webhook mounts tokens, below the root of the pod's file system.
const (
	podIdentityVolume = "var/run/secrets/pods.eks.amazonaws.com/serviceaccount"
	podIdentityFile   = "eks-pod-identity-token"
	webIdentityVolume = "var/run/secrets/eks.amazonaws.com/serviceaccount"
	webIdentityFile   = "token"
)

const (
	defaultRegion        = "eu-central-1"
	defaultTokenLifetime = 24 * time.Hour
)

// PodSpec says which pod is to be admitted. The zero PodSpec is a pod without
// a name, of the service account default/default.
type PodSpec struct {
	// Token is what every token of the pod is asked for with: namespace,
	// service account, pod, node. Audiences and Lifetime, if they are set, are
	// in place of the webhook's own: to play a wrong audience, or a short life.
	// The webhook asks for 24 hours.
	Token tokenfiletest.Request

	// RoleARN is the service account's eks.amazonaws.com/role-arn annotation,
	// for web identities.
	RoleARN string

	// Region is the cluster's. If empty, "eu-central-1".
	Region string
}

// Pod is what the EKS webhook makes of a pod: the environment of its
// containers, and volumes with tokens that a kubelet keeps fresh. One of the
// constructors makes it and mounts the tokens; Run then replaces them.
//
// Within a testing/synctest bubble, make the Pod inside. The environment does
// not change once a pod is admitted; With and Without make containers that
// have another. The methods are safe for concurrent use.
type Pod struct {
	// PodIdentity and WebIdentity look after the tokens of the two mechanisms.
	// Their volumes can be damaged and their rotation forced or stalled. What
	// was not injected is nil.
	PodIdentity *tokenfiletest.Kubelet
	WebIdentity *tokenfiletest.Kubelet

	environment map[string]string
}

// NewPod admits a pod that the webhook does not touch, such as one that comes
// before its association has reached the webhook: nothing is injected.
func NewPod() *Pod { return &Pod{environment: make(map[string]string)} }

// NewPodIdentityPod admits a pod with EKS Pod Identity. The directory plays
// the root of the pod's file system.
func NewPodIdentityPod(dir string, issuer *tokenfiletest.Issuer, spec PodSpec) (*Pod, error) {
	p := NewPod()
	return p, p.injectPodIdentity(dir, issuer, spec)
}

// NewWebIdentityPod admits a pod with IRSA. The directory plays the root of
// the pod's file system.
func NewWebIdentityPod(dir string, issuer *tokenfiletest.Issuer, spec PodSpec) (*Pod, error) {
	p := NewPod()
	return p, p.injectWebIdentity(dir, issuer, spec)
}

// NewPodWithBoth admits a pod with both. The webhook injects only one, so this
// is a pod whose manifest brings the other.
func NewPodWithBoth(dir string, issuer *tokenfiletest.Issuer, spec PodSpec) (*Pod, error) {
	p := NewPod()
	return p, errors.Join(p.injectPodIdentity(dir, issuer, spec), p.injectWebIdentity(dir, issuer, spec))
}

func (p *Pod) injectPodIdentity(dir string, issuer *tokenfiletest.Issuer, spec PodSpec) error {
	volume := filepath.Join(dir, filepath.FromSlash(podIdentityVolume))
	kubelet, err := mount(volume, podIdentityFile, PodIdentityAudience, issuer, spec.Token)
	if err != nil {
		return err
	}
	p.PodIdentity = kubelet
	p.injectRegion(spec)
	p.environment[FullURI] = AgentURL
	p.environment[AuthorizationFile] = kubelet.Volume.Path()
	return nil
}

func (p *Pod) injectWebIdentity(dir string, issuer *tokenfiletest.Issuer, spec PodSpec) error {
	volume := filepath.Join(dir, filepath.FromSlash(webIdentityVolume))
	kubelet, err := mount(volume, webIdentityFile, STSAudience, issuer, spec.Token)
	if err != nil {
		return err
	}
	p.WebIdentity = kubelet
	p.injectRegion(spec)
	p.environment[RoleARN] = spec.RoleARN
	p.environment[WebIdentityFile] = kubelet.Volume.Path()
	return nil
}

func (p *Pod) injectRegion(spec PodSpec) {
	region := spec.Region
	if region == "" {
		region = defaultRegion
	}
	p.environment[Region], p.environment[DefaultRegion] = region, region
	p.environment[RegionalEndpoints] = "regional"
}

// mount makes a volume and mounts its first token.
func mount(dir, file, audience string, issuer *tokenfiletest.Issuer, r tokenfiletest.Request) (*tokenfiletest.Kubelet, error) {
	volume, err := tokenfiletest.NewVolume(dir)
	if err != nil {
		return nil, err
	}
	volume.FileName = file
	if len(r.Audiences) == 0 {
		r.Audiences = []string{audience}
	}
	if r.Lifetime == 0 {
		r.Lifetime = defaultTokenLifetime
	}
	kubelet := &tokenfiletest.Kubelet{Issuer: issuer, Volume: volume, Request: r}
	return kubelet, kubelet.Rotate()
}

// Run keeps the tokens fresh as the kubelet does, until ctx ends.
func (p *Pod) Run(ctx context.Context) error {
	var kubelets sync.WaitGroup
	errs := make([]error, 2)
	for i, kubelet := range []*tokenfiletest.Kubelet{p.PodIdentity, p.WebIdentity} {
		if kubelet != nil {
			kubelets.Go(func() { errs[i] = kubelet.Run(ctx) })
		}
	}
	kubelets.Wait()
	return errors.Join(errs...)
}
