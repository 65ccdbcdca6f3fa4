package tokenfiletest

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"
)

// DefaultIssuer is the issuer of a cluster that was set up with no other, and
// its API server's audience too.
const DefaultIssuer = "https://kubernetes.default.svc.cluster.local"

// Issuer issues service-account tokens in the exact shape of Kubernetes 1.37,
// publishes its public keys, and verifies tokens for a relying party.
//
// NewIssuer makes one with an RS256 key. Most callers hand it to a Kubelet
// and call only Verify themselves. The zero Issuer has no key and refuses to
// sign until RotateKey gives it one, which with ES256 costs no time:
//
//	iss := &tokenfiletest.Issuer{AllowShort: true}
//	err := iss.RotateKey(tokenfiletest.ES256)
//
// The exported fields are set before first use and not changed after. The
// methods are safe for concurrent use. Printing an Issuer shows its URL and
// key ids; its private keys cannot be printed.
type Issuer struct {
	// URL is the iss claim. If empty, DefaultIssuer.
	URL string

	// APIAudiences are the audiences of the API server itself, which a
	// request without audiences gets. If empty, the issuer's URL alone.
	APIAudiences []string

	// AllowShort accepts lifetimes under ten minutes, down to one second. The
	// real TokenRequest refuses them; a demonstration in real time needs them.
	AllowShort bool

	// JWKSURI is the jwks_uri of the discovery document. If empty, it is on
	// the host that the request for the document named.
	JWKSURI string

	mu   sync.RWMutex
	keys []*key // the last one signs; replaced as a whole
}

// NewIssuer makes an Issuer with the given URL, DefaultIssuer if it is empty,
// and one RS256 key of its own. That takes a few tenths of a second.
//
// It refuses a URL that OpenID Connect would not have as an issuer: one that
// is not http or https, has no host, or carries a query or a fragment. (The
// API server refuses http as well, but servers on loopback need it.)
func NewIssuer(issuer string) (*Issuer, error) {
	if issuer == "" {
		issuer = DefaultIssuer
	}
	if err := checkIssuer(issuer); err != nil {
		return nil, err
	}
	i := &Issuer{URL: issuer}
	return i, i.RotateKey(RS256)
}

func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil:
		return fmt.Errorf("tokenfiletest: issuer: %w", err)
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("tokenfiletest: issuer %q must be an https or http URL", issuer)
	case u.Host == "":
		return fmt.Errorf("tokenfiletest: issuer %q has no host", issuer)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("tokenfiletest: issuer %q must have neither query nor fragment", issuer)
	}
	return nil
}

// Token issues the token that r asks for, as the API server's TokenRequest
// does, and refuses what that refuses: a lifetime under ten minutes (unless
// AllowShort), over 2^32 seconds, or of a fraction of a second.
//
// Times in the token are whole seconds, rounded down, so a token lives up to
// a second less than its Lifetime. Exactly when it is bound to a pod, asks
// for 3607 s, and names no audience but the API server's, it is extended: exp
// is a year (365 days) after iat, and kubernetes.io.warnafter holds what exp
// would have been.
func (i *Issuer) Token(r Request) (string, error) {
	t, err := i.issue(r)
	if err != nil {
		return "", err
	}
	return t.reveal(), nil
}

// issued is a token with the times that TokenRequest tells the kubelet. The
// token itself is behind a closure, where no format verb finds it.
type issued struct {
	reveal   func() string
	lifetime time.Duration // as declared, also for an extended token
	expiry   time.Time     // iat and lifetime, also for an extended token
}

func (i *Issuer) issue(r Request) (*issued, error) {
	r = i.complete(r)
	if err := i.check(r); err != nil {
		return nil, err
	}
	now := time.Now().Truncate(time.Second)
	token, err := i.Sign(i.claims(r, now))
	if err != nil {
		return nil, err
	}
	return &issued{
		reveal:   func() string { return token },
		lifetime: r.Lifetime,
		expiry:   now.Add(r.Lifetime),
	}, nil
}

// LegacyToken issues what the Secret secretName of a service account holds: a
// token with neither exp nor aud nor iat, from the issuer
// "kubernetes/serviceaccount", good until the Secret is deleted. An empty
// namespace or service account means "default", an empty secretName the
// service account's name followed by "-token".
func (i *Issuer) LegacyToken(namespace, serviceAccount, secretName string) (string, error) {
	r := i.complete(Request{Namespace: namespace, ServiceAccount: serviceAccount})
	if secretName == "" {
		secretName = r.ServiceAccount + "-token"
	}
	const prefix = "kubernetes.io/serviceaccount/"
	return i.Sign(map[string]any{
		"iss":                           "kubernetes/serviceaccount",
		"sub":                           r.subject(),
		prefix + "namespace":            r.Namespace,
		prefix + "secret.name":          secretName,
		prefix + "service-account.name": r.ServiceAccount,
		prefix + "service-account.uid":  r.ServiceAccountUID,
	})
}

// Sign signs any claims at all with the current key, for the tokens that a
// real API server would never issue. Nothing is added to the claims and
// nothing is checked; it fails only if they cannot be written as JSON, or if
// the Issuer has no key.
func (i *Issuer) Sign(claims map[string]any) (string, error) {
	keys := i.published()
	if len(keys) == 0 {
		return "", errors.New("tokenfiletest: the issuer has no key: make it with NewIssuer, or call RotateKey first")
	}
	return keys[len(keys)-1].sign(claims)
}

// RotateKey makes a new key, which signs from now on. The keys before it stay
// published, and tokens that they signed stay good, until DropOldKeys. It
// fails on an Algorithm that this package does not know.
func (i *Issuer) RotateKey(alg Algorithm) error {
	k, err := newKey(alg)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = append(slices.Clone(i.keys), k)
	return nil
}

// DropOldKeys unpublishes every key but the one that signs. Tokens signed
// with the others are refused from now on.
func (i *Issuer) DropOldKeys() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.keys); n > 1 {
		i.keys = slices.Clone(i.keys[n-1:])
	}
}

// Format writes the issuer's URL and key ids, whatever the verb.
func (i *Issuer) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "tokenfiletest.Issuer(%s", i.url())
	for _, k := range i.published() {
		fmt.Fprintf(f, " %s:%s", k.alg, k.id)
	}
	fmt.Fprint(f, ")")
}

// published returns the keys, oldest first. Callers do not change the slice.
func (i *Issuer) published() []*key {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.keys
}

func (i *Issuer) url() string {
	if i.URL == "" {
		return DefaultIssuer
	}
	return i.URL
}

func (i *Issuer) apiAudiences() []string {
	if len(i.APIAudiences) == 0 {
		return []string{i.url()}
	}
	return i.APIAudiences
}
