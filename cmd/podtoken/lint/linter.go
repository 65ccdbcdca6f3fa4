package lint

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
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
	later    []*pending
	silences []*silence
}

// pending is a finding that all of the input decides on.
type pending struct {
	finding  Finding
	when     func(*facts) bool // nil: always
	owner    string            // whose finding it is too, if that is in the input
	silences []*silence
}

// Lint reads a file, named name in what it finds, and yields findings, those of
// an object by line. A [*DocumentError] is about one document, and reading
// goes on. Any other error is of r and the last.
func (l *Linter) Lint(name string, r io.Reader) iter.Seq2[Finding, error] {
	return func(yield func(Finding, error) bool) {
		out := sink{
			most: maxObject,
			piece: func(p piece) bool {
				for _, f := range l.look(name, p) {
					if !yield(f, nil) {
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
			if p.when != nil && !p.when(&l.facts) || covers(p.silences, p.finding) || l.facts.makers[p.owner] {
				continue
			}
			if !yield(p.finding) {
				return
			}
		}
		for _, s := range l.silences {
			if s.used || s.anyway || s.rule == ruleNotInjected.ID && len(l.facts.associated) == 0 {
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

// look checks an object, or each of a list that was read at once.
func (l *Linter) look(name string, p piece) []Finding {
	var found []Finding
	for _, p := range p.objects() {
		found = append(found, l.lookAt(name, p)...)
	}
	return found
}

func (l *Linter) lookAt(name string, p piece) []Finding {
	o := newObject(name, p)
	pods := o.templates()
	checkComments(o)
	checkSecret(o)
	checkAccount(o)
	for _, p := range pods {
		for _, check := range []func(*pod){
			checkLegacyVolumes, checkProjections, checkMounts, checkPermissions, checkAutomount, checkInjection,
		} {
			check(p)
		}
	}
	l.facts.learn(o, len(pods) > 0, l.Cluster)

	silences := o.silences(pods)
	l.silences = append(l.silences, silences...)
	if owner := o.owner(); owner != "" {
		o.postpone(owner)
	}
	for _, p := range o.later {
		p.silences = silences
	}
	l.later = append(l.later, o.later...)
	found := slices.DeleteFunc(o.findings, func(f Finding) bool { return covers(silences, f) })
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	return found
}
