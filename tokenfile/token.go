package tokenfile

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"
	"unicode/utf8"
)

// Token is one content of the file: the secret itself and what its claims
// say. It does not change and may be kept, but it is meant to be used at once
// and asked for again.
//
// Whatever prints it (package fmt under every verb, slog, JSON, text) shows
// the claims and never the secret, which only Raw hands out.
type Token struct {
	raw        func() string // a closure, since no printer and no reflection looks into one
	issuer     string
	subject    string
	audience   []string
	issuedAt   time.Time
	notBefore  time.Time
	expiry     time.Time
	kubernetes Kubernetes
}

// Kubernetes is what the API server says in a token of whom it is bound to.
// What a token does not say is empty.
type Kubernetes struct {
	Namespace         string
	ServiceAccount    string // its name
	ServiceAccountUID string
	Pod               string // its name
	PodUID            string
	Node              string // its name
	NodeUID           string
	Secret            string // its name, in a token bound to a Secret and in a legacy one

	// WarnAfter is when the token should have been replaced, in a token whose
	// expiry the API server extended: exp then lies a year ahead, and the
	// kubelet still rotates by this time. Zero in all others.
	WarnAfter time.Time
}

// tokenOf takes a Token, all but its secret, from the JSON of its claims.
func tokenOf(claims []byte) (*Token, error) {
	if !utf8.Valid(claims) {
		return nil, malformed("its claims are not UTF-8")
	}
	o := newObject(claims, "iss", "sub", "aud", "exp", "nbf", "iat", "jti", "kubernetes.io")
	o.text("jti") // is of no use here, but a relying party's reader fails on a jti that is no string
	t := &Token{
		issuer:    o.text("iss"),
		subject:   o.text("sub"),
		audience:  o.texts("aud"),
		issuedAt:  o.time("iat"),
		notBefore: o.time("nbf"),
		expiry:    o.time("exp"),
	}
	if o.find("kubernetes.io") != nil {
		t.kubernetes = boundTo(o)
	} else {
		t.kubernetes = legacy(o)
	}
	if o.err != nil {
		return nil, o.err
	}
	return t, nil
}

// boundTo reads the claim of tokens that TokenRequest issues.
func boundTo(o *object) Kubernetes {
	k := o.object("kubernetes.io", "namespace", "serviceaccount", "pod", "node", "secret", "warnafter")
	ref := func(name string) (string, string) {
		r := k.object(name, "name", "uid")
		defer k.adopt(r)
		return r.text("name"), r.text("uid")
	}
	var b Kubernetes
	b.Namespace = k.text("namespace")
	b.ServiceAccount, b.ServiceAccountUID = ref("serviceaccount")
	b.Pod, b.PodUID = ref("pod")
	b.Node, b.NodeUID = ref("node")
	b.Secret, _ = ref("secret")
	b.WarnAfter = k.time("warnafter")
	o.adopt(k)
	return b
}

// legacy reads the flat claims of a token that a Secret holds.
func legacy(o *object) Kubernetes {
	const prefix = "kubernetes.io/serviceaccount/"
	return Kubernetes{
		Namespace:         o.text(prefix + "namespace"),
		ServiceAccount:    o.text(prefix + "service-account.name"),
		ServiceAccountUID: o.text(prefix + "service-account.uid"),
		Secret:            o.text(prefix + "secret.name"),
	}
}

// Raw returns the secret itself, to be sent to the relying party and nowhere
// else.
func (t *Token) Raw() string {
	if t.raw == nil {
		return "" // a Token that did not come from a Source
	}
	return t.raw()
}

// Issuer returns the iss claim, empty if there is none.
func (t *Token) Issuer() string { return t.issuer }

// Subject returns the sub claim, empty if there is none.
func (t *Token) Subject() string { return t.subject }

// Audience returns a copy of the aud claim, which a token may have as a string
// or as a list.
func (t *Token) Audience() []string { return slices.Clone(t.audience) }

// IssuedAt returns the iat claim, the zero time if there is none.
func (t *Token) IssuedAt() time.Time { return t.issuedAt }

// NotBefore returns the nbf claim, the zero time if there is none.
func (t *Token) NotBefore() time.Time { return t.notBefore }

// Expiry returns the exp claim, the zero time if there is none, which a Source
// lets pass with AllowNoExpiry only.
func (t *Token) Expiry() time.Time { return t.expiry }

// Kubernetes returns whom the token is bound to.
func (t *Token) Kubernetes() Kubernetes { return t.kubernetes }

// start is when the token's life began: iat, or else nbf, or else unknown.
func (t *Token) start() time.Time {
	if t.issuedAt.IsZero() {
		return t.notBefore
	}
	return t.issuedAt
}

// deadline is when the token should have been replaced at the latest: the
// earlier of exp and warnafter, zero if it has neither.
func (t *Token) deadline() time.Time {
	warn := t.kubernetes.WarnAfter
	if warn.IsZero() || !t.expiry.IsZero() && t.expiry.Before(warn) {
		return t.expiry
	}
	return warn
}

// rotationDue is when the kubelet replaces the token: at four fifths of its
// life and after a day at the latest. Zero if that is not known.
func (t *Token) rotationDue() time.Time {
	start, deadline := t.start(), t.deadline()
	if start.IsZero() || deadline.IsZero() {
		return time.Time{}
	}
	return start.Add(min(deadline.Sub(start)/5*4, 24*time.Hour))
}

// String describes the token by its claims.
func (t Token) String() string {
	expiry := "none"
	if !t.expiry.IsZero() {
		expiry = stamp(t.expiry)
	}
	return fmt.Sprintf("Token(sub=%s aud=%s exp=%s, secret redacted)", quote(t.subject), quoteAll(t.audience), expiry)
}

// Format implements fmt.Formatter: String under every verb and flag.
func (t Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// GoString implements fmt.GoStringer, for those who call it directly.
func (t Token) GoString() string { return t.String() }

// LogValue implements slog.LogValuer.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalJSON implements json.Marshaler.
func (t Token) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// MarshalText implements encoding.TextMarshaler.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

var (
	_ fmt.Formatter  = Token{}
	_ slog.LogValuer = Token{}
	_ json.Marshaler = Token{}
)
