package lint

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Linter looks at files one after the other, and at what they say together.
// Its zero value is ready. Fields are set before the first use. It is not for
// concurrent use.
type Linter struct {
	// Associations are those of the cluster, in addition to what the files have
	// of Crossplane's and of ACK's. See [ReadAssociations].
	Associations []Association

	// Cluster, if set, is the one whose associations count, and those that name
	// none.
	Cluster string

	// Progress, if set, is told how many bytes of the present file were read.
	Progress func(read int64)

	facts    facts
	ignored  map[string]bool
	later    []*pending
	silences []*silence
}

// Ignore silences rules in all of the input, where it has no place for an
// annotation: "PT013: charts of others". It returns an error for a rule that is
// not there and for a silence without a reason.
func (l *Linter) Ignore(text string) error {
	said := ignoreRules.FindStringSubmatch(strings.TrimSpace(text))
	if said == nil || said[2] == "" {
		return fmt.Errorf(`%s: write the rule's number and why: "PT003: why"`, quote(text))
	}
	for _, id := range splitRules(said[1]) {
		if !slices.ContainsFunc(rules, func(r *Rule) bool { return r.ID == id }) {
			return fmt.Errorf("there is no rule %s: podtoken lint --rules lists them", quote(id))
		}
		if l.ignored == nil {
			l.ignored = make(map[string]bool)
		}
		l.ignored[id] = true
	}
	return nil
}

// pending is a finding that all of the input decides on.
type pending struct {
	finding  Finding
	when     func(*facts) bool // nil: always
	owner    string            // whose finding it is too, if that is in the input
	silences hushed
}

// Lint reads a file, named name in what it finds, and yields findings, those of
// an object by line. A [*DocumentError] is about one document, and reading
// goes on. Any other error is of r and the last.
func (l *Linter) Lint(name string, r io.Reader) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		out := sink{
			most: maxObject,
			piece: func(p piece) bool {
				for _, p := range p.objects() {
					if !l.look(name, p, yield) {
						return false
					}
				}
				return true
			},
			err: func(line int, err error) bool {
				return yield(Finding{}, &DocumentError{File: name, Line: line, Err: err})
			},
		}
		if err := readAll(&counted{r: r, progress: l.Progress}, out); err != nil {
			yield(Finding{}, fmt.Errorf("%s: %w", printable(name), err))
		}
	}
}

// Finish yields what needed all of the input: rules that compare objects, and
// silences that silenced nothing.
func (l *Linter) Finish() iter.Seq[Finding] {
	return func(yield func(Finding) bool) {
		for _, a := range l.Associations {
			l.facts.associate(a, l.Cluster)
		}
		for _, p := range l.later {
			if p.when != nil && !p.when(&l.facts) || p.silences.covers(p.finding) || l.ignored[p.finding.Rule] || l.facts.makers[p.owner] {
				continue
			}
			if !yield(p.finding) {
				return
			}
		}
		for _, s := range l.silences {
			if s.used || s.anyway || l.ignored[rulePointless.ID] || s.rule == ruleNotInjected.ID && len(l.facts.associated) == 0 {
				continue
			}
			if !yield(Finding{
				Rule: rulePointless.ID, Level: rulePointless.Level, File: s.file, Line: s.line, Object: s.on,
				Message: "nothing here is against " + s.rule, Mend: rulePointless.Mend,
			}) {
				return
			}
		}
	}
}

// look checks an object, and yields what that alone can tell.
func (l *Linter) look(name string, p piece, yield func(Finding, error) bool) (goOn bool) {
	o := newObject(name, p)
	pods := o.templates()
	checkComments(o)
	checkSecret(o)
	checkAccount(o)
	for _, p := range pods {
		if p.parts > maxParts {
			return yield(Finding{}, &DocumentError{File: name, Line: p.specLine, Err: errTooManyParts})
		}
		for _, check := range []func(*pod){
			checkLegacyVolumes, checkProjections, checkMounts, checkPermissions, checkAutomount, checkInjection,
		} {
			check(p)
		}
	}
	l.facts.learn(o, slices.ContainsFunc(pods, func(p *pod) bool { return !p.partial }), l.Cluster)
	for _, f := range l.heard(o, pods) {
		if !yield(f, nil) {
			return false
		}
	}
	return true
}

// heard are the findings that are not silenced, and keeps those that are for
// later.
func (l *Linter) heard(o *object, pods []*pod) []Finding {
	silences := o.silences(pods)
	l.silences = append(l.silences, silences...)
	if owner := o.owner(); owner != "" {
		o.postpone(owner)
	}
	hushed := hush(silences)
	for _, p := range o.later {
		p.silences = hushed
	}
	l.later = append(l.later, o.later...)
	found := slices.DeleteFunc(o.findings, func(f Finding) bool { return hushed.covers(f) || l.ignored[f.Rule] })
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return found
}
