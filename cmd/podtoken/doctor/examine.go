package doctor

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/podtoken/podtoken/cmd/podtoken/container"
)

// Examine looks at the container. It takes no longer than a few file reads,
// unless there are parties to log in to: then until the last has answered, ctx
// ends, or Options.Timeout is over.
func Examine(ctx context.Context, options Options) *Report {
	e := &examination{
		Options: options.withDefaults(), now: time.Now(),
		report: &Report{
			Container: Container{UID: os.Geteuid(), GID: os.Getegid()},
			Tokens:    []Token{}, Logins: []Login{}, Findings: []Finding{}, Errors: []string{},
		},
	}
	e.report.At = e.now.UTC().Truncate(time.Second)
	e.lookAround()
	e.lookAtTokens()
	e.lookForExpected()
	e.lookAtAWS()
	e.logIn(ctx)
	slices.SortStableFunc(e.report.Findings, func(a, b Finding) int {
		return cmp.Compare(severity[a.Level], severity[b.Level])
	})
	return e.report
}

// examination is one run of Examine.
type examination struct {
	Options
	now         time.Time
	environment []string
	tokens      []*candidate
	started     time.Time // of the container, zero if it is not known
	noStart     error     // why
	defaults    []string  // audiences of the token at the default path
	interrupted bool      // before the logins had ended
	report      *Report
}

// lookAround finds out where this is and which files to look at.
func (e *examination) lookAround() {
	e.environment = e.Environment
	if e.environment == nil {
		environment, err := container.Environment(e.Root)
		if err != nil {
			e.failed(err)
		}
		e.environment = environment
	}
	e.tokens = e.candidates()
	var mounts []container.Mount
	for _, c := range e.tokens {
		c.claims, c.err = readClaims(c.real)
		mounts = append(mounts, c.Mount)
		if c.isDefault() {
			e.defaults = c.audience
		}
	}
	e.report.Container.Identity = container.Identify(e.Root, mounts, e.environment)
	e.started, e.noStart = container.Started(e.Root)
	if e.noStart == nil {
		e.report.Container.Started = e.started.UTC()
	}
}

func (e *examination) failed(err error) {
	e.report.Errors = append(e.report.Errors, errorText(e.Root, err))
}

// find adds a finding about a token, or about the container if that is nil.
func (e *examination) find(r *Rule, c *candidate, message string) *Finding {
	f := Finding{Rule: r.ID, Level: r.Level, Mend: mendFor(r, e.report.Container.Identity)}
	f.Message, f.See = r.see(message)
	if c != nil {
		f.Token, f.Variable = bounded(c.Path, maxName), c.variable
	}
	e.report.Findings = append(e.report.Findings, f)
	return &e.report.Findings[len(e.report.Findings)-1]
}

// lookForExpected finds what should be there and is not.
func (e *examination) lookForExpected() {
	if len(e.tokens) == 0 && len(e.report.Errors) == 0 {
		e.find(ruleNothing, nil, "no service-account token is mounted in this container, and no variable names one")
	}
	for _, want := range e.Expect {
		if !slices.ContainsFunc(e.tokens, func(c *candidate) bool { return e.satisfies(c, want) }) {
			e.missing(want)
		}
	}
}

func (e *examination) satisfies(c *candidate, want Expectation) bool {
	return slices.Contains(c.audience, want.Audience) && (want.Path == "" || e.same(c, want.Path))
}

func (e *examination) same(c *candidate, path string) bool {
	l := &list{root: e.Root}
	return l.place(c.Path) == l.place(path)
}
