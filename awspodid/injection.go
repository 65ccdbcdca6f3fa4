package awspodid

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/podtoken/podtoken/tokenfile"
)

// Injection is what a container was given of an AWS identity. It holds no
// secret; its String is a report for a person.
type Injection struct {
	Variables []Variable // all that matter here, set or not

	// Tokens are the files that the variables name.
	Tokens []TokenFile

	// Who this is, as far as it can be known from the tokens, the files of the
	// service account, and POD_NAME and POD_NAMESPACE.
	Namespace, ServiceAccount, Pod string

	InKubernetes bool // this is a pod, by its environment or by its files

	// Mounted is where a token of the webhook is mounted that no variable
	// names: the environment was cleared. Empty if there is none.
	Mounted string

	// Overridden names what in the environment the SDK's own chain would take
	// before what was injected: keys, or a profile before Pod Identity. Empty
	// if nothing.
	Overridden string
}

// Variable is one of the environment.
type Variable struct {
	Name  string
	Set   bool
	Value string // empty for a secret
}

// TokenFile is what a token file holds.
type TokenFile struct {
	Mechanism Mechanism
	Path      string

	Audience []string
	Subject  string
	IssuedAt time.Time
	Expiry   time.Time
	Modified time.Time // when the file was last written

	// Err is why the token cannot be used, if so: one of tokenfile's. What it
	// was not possible to read is zero.
	Err error
}

// Inspect reports what was injected into this container. It reads the
// environment and files, and sends nothing.
func Inspect(optFns ...func(*Options)) Injection {
	return inspect(newOptions(optFns))
}

func inspect(o *Options) Injection {
	env := lookup(o.Lookup)
	in := Injection{InKubernetes: env.isSet(inKubernetes)}
	for _, v := range shown {
		value, set := env.find(v.name)
		if u, err := url.Parse(value); v.secret || v.name == fullURI && (err != nil || u.User != nil) {
			value = hidden(v.secret, value)
		}
		in.Variables = append(in.Variables, Variable{v.name, set, value})
	}
	var tokens []*tokenfile.Token
	for _, m := range []Mechanism{WebIdentity, PodIdentity} {
		if path := env.get(m.file()); path != "" {
			file, token := inspectToken(o, m, path)
			in.Tokens, tokens = append(in.Tokens, file), append(tokens, token)
		}
	}
	switch {
	case env.get(accessKey) != "" && env.get(secretKey) != "":
		in.Overridden = accessKey
	case env.get("AWS_ACCESS_KEY") != "" && env.get("AWS_SECRET_KEY") != "":
		in.Overridden = "AWS_ACCESS_KEY"
	case env.get(webIdentityFile) != "": // comes before profiles
	case env.get(profile) != "":
		in.Overridden = profile
	case env.get("AWS_DEFAULT_PROFILE") != "":
		in.Overridden = "AWS_DEFAULT_PROFILE"
	}
	in.look(o)
	in.identify(o, tokens)
	return in
}

// hidden is what is shown of a value that may hold a secret.
func hidden(secret bool, value string) string {
	if secret || value == "" {
		return ""
	}
	return "(not shown: it is no URL, or has credentials in it)"
}

// look finds out by files what the environment may have lost.
func (in *Injection) look(o *Options) {
	if _, err := os.Stat(filepath.Join(o.serviceAccountDir(), "namespace")); err == nil {
		in.InKubernetes = true
	}
	if len(in.Tokens) > 0 {
		in.InKubernetes = true
	}
	secrets := filepath.Join(filepath.Dir(filepath.Dir(o.serviceAccountDir())))
	for _, dir := range []string{"pods.eks.amazonaws.com", "eks.amazonaws.com"} {
		path := filepath.Join(secrets, dir, "serviceaccount")
		if _, err := os.Stat(path); err == nil {
			in.InKubernetes = true
			if len(in.Tokens) == 0 {
				in.Mounted = path
			}
		}
	}
}

// inspectToken reads a token with the audience that it should have, and
// without asking for one where that fails, to say what it has. The token is nil
// if it cannot be used even so.
func inspectToken(o *Options, m Mechanism, path string) (TokenFile, *tokenfile.Token) {
	t := TokenFile{Mechanism: m, Path: path}
	if info, err := os.Stat(path); err == nil {
		t.Modified = info.ModTime()
	}
	source := &tokenfile.Source{Path: path, Audience: o.audience(m)}
	token, err := source.Token(context.Background())
	if err != nil {
		t.Err = err
		token, err = readAny(path)
	}
	if err == nil {
		t.Audience, t.Subject = token.Audience(), token.Subject()
		t.IssuedAt, t.Expiry = token.IssuedAt(), token.Expiry()
	}
	return t, token
}

// readAny reads a token whoever it is for.
func readAny(path string) (*tokenfile.Token, error) {
	return (&tokenfile.Source{Path: path, Audience: tokenfile.AnyAudience, AllowNoExpiry: true}).Token(context.Background())
}

// identify finds out whose pod this is, by the API server's token and those
// that were injected, which were read already.
func (in *Injection) identify(o *Options, injected []*tokenfile.Token) {
	own, _ := readAny(filepath.Join(o.serviceAccountDir(), "token"))
	for _, token := range append([]*tokenfile.Token{own}, injected...) {
		if token == nil {
			continue
		}
		k := token.Kubernetes()
		in.Namespace = firstOf(in.Namespace, k.Namespace)
		in.ServiceAccount = firstOf(in.ServiceAccount, k.ServiceAccount)
		in.Pod = firstOf(in.Pod, k.Pod)
	}
	env := lookup(o.Lookup)
	defer in.clean()
	in.Namespace = firstOf(in.Namespace, env.get(podNamespace), readLine(filepath.Join(o.serviceAccountDir(), "namespace")))
	in.Pod = firstOf(in.Pod, env.get(podName))
	if in.InKubernetes {
		in.Pod = firstOf(in.Pod, env.get(podHost)) // the pod's name, but on the host's network
	}
}

// clean drops what cannot be a name: the texts are for pasting into a shell.
func (in *Injection) clean() {
	for _, name := range []*string{&in.Namespace, &in.ServiceAccount, &in.Pod} {
		if !dns1123.MatchString(*name) {
			*name = ""
		}
	}
}

var dns1123 = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// readLine is the text of a small file, "" if there is none.
func readLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) > 253 { // of a namespace's name
		return ""
	}
	return strings.TrimSpace(string(text))
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// variable returns one that is listed.
func (in Injection) variable(name string) Variable {
	for _, v := range in.Variables {
		if v.Name == name {
			return v
		}
	}
	return Variable{Name: name}
}

// missing are those of a mechanism's variables that are not set.
func (in Injection) missing(m Mechanism) []string {
	var names []string
	for _, name := range m.pair() {
		if !in.variable(name).Set {
			names = append(names, name)
		}
	}
	return names
}

// none says that nothing of a mechanism was injected.
func (in Injection) none(m Mechanism) bool { return len(in.missing(m)) == 2 }

// Empty says that nothing of either mechanism was injected.
func (in Injection) Empty() bool { return in.none(PodIdentity) && in.none(WebIdentity) }

// String is a report of several lines.
func (in Injection) String() string {
	var b strings.Builder
	for _, v := range in.Variables {
		switch {
		case !v.Set:
			fmt.Fprintf(&b, "%s: not set\n", v.Name)
		case v.Value == "":
			fmt.Fprintf(&b, "%s: set\n", v.Name)
		default:
			fmt.Fprintf(&b, "%s: %s\n", v.Name, quote(v.Value))
		}
	}
	for _, t := range in.Tokens {
		fmt.Fprintf(&b, "token of %s, %s: ", t.Mechanism, quote(t.Path))
		switch {
		case t.Err != nil:
			fmt.Fprintf(&b, "%v\n", t.Err)
		default:
			fmt.Fprintf(&b, "audience %s, expires %s, written %s\n", quoteAll(t.Audience), stamp(t.Expiry), stamp(t.Modified))
		}
	}
	if in.Overridden != "" {
		fmt.Fprintf(&b, "the SDK's own chain would use %s before either\n", in.Overridden)
	}
	fmt.Fprintf(&b, "namespace %s, service account %s, pod %s", orUnknown(in.Namespace), orUnknown(in.ServiceAccount), orUnknown(in.Pod))
	return b.String()
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return quote(s)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
