package awspodid

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNotInjected is what a *NotInjectedError is, for errors.Is.
var ErrNotInjected = errors.New("no AWS identity was injected into this pod")

// NotInjectedError says that nothing of the mechanism was injected. Nothing
// that the program or the container can do heals it: injection happens only
// when a pod is admitted.
type NotInjectedError struct {
	Mechanism Mechanism // that was asked for; empty for either
	Missing   []string  // the variables that are not set
	Injection Injection
}

func (e *NotInjectedError) Unwrap() error { return ErrNotInjected }

func (e *NotInjectedError) Error() string {
	var b strings.Builder
	b.WriteString("awspodid: " + e.what())
	if len(e.Missing) > 0 {
		fmt.Fprintf(&b, ": %s not set", strings.Join(e.Missing, ", "))
	}
	in := e.Injection
	if e.injectedInstead() {
		fmt.Fprintf(&b, "; %s was injected instead", e.Mechanism.other())
	}
	for _, name := range []string{relativeURI, fixedToken} {
		if in.variable(name).Set {
			fmt.Fprintf(&b, "; %s is set, which is not what EKS injects", name)
		}
	}
	section := e.section()
	switch section {
	case outsidePod:
		b.WriteString("; this does not look like a pod: on a laptop or in CI use Options.Fallback")
	case variablesGone:
		fmt.Fprintf(&b, "; the token is mounted (%s) and the variables are gone: a wrapper script started the program without them", quote(in.Mounted))
	default:
		b.WriteString("; " + e.mend())
	}
	return b.String() + see(section, nil)
}

// injectedInstead says that the mechanism which was not asked for is there.
func (e *NotInjectedError) injectedInstead() bool {
	return e.Mechanism != "" && len(e.Injection.missing(e.Mechanism.other())) == 0
}

func (e *NotInjectedError) what() string {
	if e.Mechanism == "" {
		return ErrNotInjected.Error()
	}
	return fmt.Sprintf("%s was not injected into this pod", e.Mechanism)
}

// mend names the causes, the most likely one first.
func (e *NotInjectedError) mend() string {
	in := e.Injection
	namespace, pod, account := firstOf(in.Namespace, "NAMESPACE"), firstOf(in.Pod, "POD"), firstOf(in.ServiceAccount, "SERVICE_ACCOUNT")
	text := fmt.Sprintf("most likely the pod was admitted before its association or annotation reached the webhook; "+
		"injection happens only at admission, so a restart of the container cannot help: "+
		"recreate the pod (kubectl -n %s delete pod %s)", namespace, pod)
	var missing string
	switch e.Mechanism {
	case WebIdentity:
		missing = fmt.Sprintf("the annotation eks.amazonaws.com/role-arn is missing (kubectl -n %s get serviceaccount %s -o yaml)", namespace, account)
	default:
		missing = fmt.Sprintf("there is no association for this service account "+
			"(aws eks list-pod-identity-associations --cluster-name CLUSTER --namespace %s --service-account %s)", namespace, account)
	}
	if e.Mechanism != WebIdentity {
		missing += ", the agent does not run on this kind of node"
	}
	return text + "; if that does not help, " + missing +
		", the container is named in the pod's skip-containers annotation, " +
		"or a wrapper script started the program without these variables"
}

// InjectionError says that what was injected cannot be used: half of it, an
// empty variable, a file that is not there, a token for someone else, an
// address to which no token is sent. It is never a reason to use another
// identity. Its text, as that of each error here, ends with the address of the
// runbook's section about it.
type InjectionError struct {
	Mechanism Mechanism
	Variable  string // the one that is wrong or missing
	Err       error  // the cause: *tokenfile.Error for a token
	Injection Injection
}

func (e *InjectionError) Unwrap() error { return e.Err }

func (e *InjectionError) Error() string {
	text := "awspodid: "
	if e.Mechanism != "" {
		text += string(e.Mechanism) + ": "
	}
	if e.Variable != "" {
		text += e.Variable + ": "
	}
	if e.Err == nil {
		return text + "cannot be used" + see(e.section(), nil)
	}
	return text + clean(unseen(e.Err)) + see(e.section(), e.Err)
}

// The ways in which a pair is half.
var (
	errEmpty = errors.New("is set but empty: the webhook does not do that, so the pod's manifest does, which also keeps the webhook from injecting; " +
		"remove it there, or set Options.Mechanism if the other one is meant")
	errHalf = errors.New("is not set although its companion is: if either is in the pod's manifest the webhook injects neither; " +
		"remove it there, or set Options.Mechanism if the other one is meant")
)

// claims is what the token said that was sent; the zero value if none was.
type claims struct {
	Audience []string
	Subject  string
	Expiry   time.Time
}

func (c claims) String() string {
	text := fmt.Sprintf("aud %s, sub %s", quoteAll(c.Audience), quote(c.Subject))
	if !c.Expiry.IsZero() {
		text += ", exp " + stamp(c.Expiry)
	}
	return text
}

// AgentError is a failure to get credentials from the Pod Identity agent. Err
// leads to the SDK's own error, or to tokenfile's if the token could not be sent.
type AgentError struct {
	StatusCode int    // of the agent's answer, 0 if there was none
	Message    string // of its body
	Err        error

	Audience []string // claims of the token that was sent
	Subject  string
	Expiry   time.Time

	retryAfter time.Duration
}

func (e *AgentError) Unwrap() error { return e.Err }

func (e *AgentError) Error() string {
	text := "awspodid: EKS Pod Identity agent: "
	switch {
	case e.StatusCode != 0:
		text += fmt.Sprintf("%d %s", e.StatusCode, quote(e.Message))
	case e.Err != nil:
		text += clean(unseen(e.Err))
	default:
		text += "no credentials"
	}
	if e.Subject != "" && e.StatusCode != 0 {
		text += "; the token that was sent claims " + claims{e.Audience, e.Subject, e.Expiry}.String()
	}
	hint, section := e.hint()
	if hint != "" {
		text += "; " + hint
	}
	return text + see(section, e.Err)
}

// STSError is a failure to get credentials from STS for the service account's
// token. Err leads to the SDK's own error, or to tokenfile's if the token could
// not be sent.
type STSError struct {
	Code       string // of STS, empty if it did not answer
	StatusCode int    // of the HTTP answer, whoever gave it; 0 if there was none
	Message    string
	RoleARN    string
	Err        error

	Issuer   string // claims of the token that was sent
	Audience []string
	Subject  string
	Expiry   time.Time
}

func (e *STSError) Unwrap() error { return e.Err }

func (e *STSError) Error() string {
	text := "awspodid: AssumeRoleWithWebIdentity of " + quote(e.RoleARN) + ": "
	switch {
	case e.Code != "":
		text += clean(e.Code) + " " + quote(e.Message)
	case e.Err != nil:
		text += clean(unseen(e.Err))
	default:
		text += "no credentials"
	}
	if e.Subject != "" && e.Code != "" {
		text += "; the token that was sent claims iss " + quote(e.Issuer) + ", " + claims{e.Audience, e.Subject, e.Expiry}.String()
	}
	hint, section := e.hint()
	if hint != "" {
		text += "; " + hint
	}
	return text + see(section, e.Err)
}
