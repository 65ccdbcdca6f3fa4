package doctor

import (
	"context"
	"time"
)

// Options are what Examine can be told. The zero value looks at this container
// and sends nothing.
type Options struct {
	// Root is "/", or that of another process, such as "/proc/1/root". If
	// empty, "/".
	Root string

	// Paths are token files to look at beside those that are mounted and those
	// that variables name. They may be anywhere.
	Paths []string

	// Environment is as os.Environ has it. If nil, that of Root.
	Environment []string

	// Expect are tokens that must be there.
	Expect []Expectation

	// Lifetime, if set, is what was declared for every token but the API
	// server's own and AWS's.
	Lifetime time.Duration

	// Declared, if set, returns the lifetime that the pod's spec declares for
	// a token file; it is asked before Lifetime. It returns false for what it
	// does not know.
	Declared func(path string) (lifetime time.Duration, known bool)

	// ExpectAWS says that the container is meant to have an AWS identity. If
	// not set, nothing but one that is half there is a finding.
	ExpectAWS bool

	// Parties are logged in to, all at once.
	Parties []Prober

	// Unreachable tells an error of a Prober's that says nothing about the
	// identity. If nil, every failed login counts as refused.
	Unreachable func(error) bool

	// Timeout bounds the logins. If zero, 30 seconds.
	Timeout time.Duration
}

// Expectation is a token that must be there.
type Expectation struct {
	Path     string // where; empty: anywhere
	Audience string // whom it is for
}

// Prober is a relying party that can be logged in to.
type Prober interface {
	String() string                  // names it for a person, without credentials
	Login(ctx context.Context) error // one real login; ends with ctx; no byte of a token in the error
}

const defaultTimeout = 30 * time.Second

func (o Options) withDefaults() Options {
	if o.Root == "" {
		o.Root = "/"
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	return o
}
