package tokenfiletest

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"
)

// What TokenRequest grants, and the lifetime by which it knows a token that
// the API server's admission put into the pod.
const (
	minLifetime      = 10 * time.Minute
	maxLifetime      = (1 << 32) * time.Second
	injectedLifetime = 3607 * time.Second
	extendedLifetime = 365 * 24 * time.Hour
)

// Request says which token to issue, like the spec of a TokenRequest or a
// serviceAccountToken projection in a pod. The zero Request asks for a token
// of one hour with the API server's audience for the service account
// default/default, bound to no pod.
type Request struct {
	// Audiences become the aud claim. If empty, the API server's.
	Audiences []string

	// Lifetime is exp less iat, in whole seconds. If zero, one hour.
	Lifetime time.Duration

	// Namespace and ServiceAccount name the subject. If empty, "default".
	Namespace      string
	ServiceAccount string

	// Pod and Node name what the token is bound to. Every projected token is
	// bound to a pod and its node; if empty, the token lacks the claim.
	Pod  string
	Node string

	// UIDs of the three. If empty, derived from the names, so that they stay
	// the same over rotations. Set another one to play a service account or
	// pod that was deleted and made anew.
	ServiceAccountUID string
	PodUID            string
	NodeUID           string
}

// complete fills in the defaults.
func (i *Issuer) complete(r Request) Request {
	r.Lifetime = r.lifetime()
	r.Namespace = or(r.Namespace, "default")
	r.ServiceAccount = or(r.ServiceAccount, "default")
	r.ServiceAccountUID = or(r.ServiceAccountUID, uid("serviceaccount", r.Namespace, r.ServiceAccount))
	r.PodUID = or(r.PodUID, uid("pod", r.Namespace, r.Pod))
	r.NodeUID = or(r.NodeUID, uid("node", "", r.Node))
	if len(r.Audiences) == 0 {
		r.Audiences = i.apiAudiences()
	}
	return r
}

func (r Request) lifetime() time.Duration {
	if r.Lifetime == 0 {
		return time.Hour
	}
	return r.Lifetime
}

func (r Request) subject() string {
	return "system:serviceaccount:" + r.Namespace + ":" + r.ServiceAccount
}

// check refuses, in the API server's words, what TokenRequest refuses.
func (i *Issuer) check(r Request) error {
	const field = "tokenfiletest: spec.expirationSeconds: Invalid value: "
	switch {
	case r.Lifetime%time.Second != 0:
		return fmt.Errorf(field+"%v: must be whole seconds", r.Lifetime)
	case r.Lifetime > maxLifetime:
		return fmt.Errorf(field+"%d: may not specify a duration larger than 2^32 seconds", r.Lifetime/time.Second)
	case r.Lifetime < minLifetime && !i.AllowShort:
		return fmt.Errorf(field+"%d: may not specify a duration less than 10 minutes (Issuer.AllowShort lifts this)", r.Lifetime/time.Second)
	case r.Lifetime < time.Second:
		return fmt.Errorf(field+"%d: must be at least one second", r.Lifetime/time.Second)
	}
	return nil
}

// claims writes a completed request as the API server does. The API server,
// too, sorts the claims by name.
func (i *Issuer) claims(r Request, now time.Time) map[string]any {
	kubernetes := map[string]any{
		"namespace":      r.Namespace,
		"serviceaccount": reference(r.ServiceAccount, r.ServiceAccountUID),
	}
	if r.Pod != "" {
		kubernetes["pod"] = reference(r.Pod, r.PodUID)
	}
	if r.Node != "" {
		kubernetes["node"] = reference(r.Node, r.NodeUID)
	}
	expiry := now.Add(r.Lifetime)
	if i.extends(r) {
		kubernetes["warnafter"] = expiry.Unix()
		expiry = now.Add(extendedLifetime)
	}
	return map[string]any{
		"aud":           r.Audiences,
		"exp":           expiry.Unix(),
		"iat":           now.Unix(),
		"iss":           i.url(),
		"jti":           uuid([16]byte(randomBytes(16))),
		"kubernetes.io": kubernetes,
		"nbf":           now.Unix(),
		"sub":           r.subject(),
	}
}

// extends tells whether the API server would take a completed request for one
// that its own admission made, whose tokens live a year so that programs from
// before rotation do not fail.
func (i *Issuer) extends(r Request) bool {
	foreign := func(audience string) bool { return !slices.Contains(i.apiAudiences(), audience) }
	return r.Pod != "" && r.Lifetime == injectedLifetime && !slices.ContainsFunc(r.Audiences, foreign)
}

func reference(name, uid string) map[string]any {
	return map[string]any{"name": name, "uid": uid}
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// uid is a stand-in for the random UID that an object gets when it is made.
func uid(kind, namespace, name string) string {
	sum := sha256.Sum256([]byte(kind + "/" + namespace + "/" + name))
	return uuid([16]byte(sum[:16]))
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// uuid writes b as a UUID of version 4.
func uuid(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
