package lint

import (
	"regexp"
	"slices"
	"strings"
)

const ignoreAnnotation = "podtoken.dev/ignore"

// silence is one rule that a manifest wants not to hear of.
type silence struct {
	rule   string
	line   int    // where it is said
	target int    // the line that it is for; 0 for the whole object
	on     string // what it is said on
	file   string
	anyway bool // where it does not apply yet: a template's, for the pods that it makes
	used   bool
}

var (
	ignoreComment = regexp.MustCompile(`#\s*podtoken:ignore\b[ \t]*(.*)$`)
	ignoreRules   = regexp.MustCompile(`^(PT\d+(?:\s*,\s*PT\d+)*)\s*:?\s*(.*)$`)
	ignoreNext    = regexp.MustCompile(`[;\n]\s*(PT\d+)`)
)

// silences are those of an object. What is wrong with one is reported at once.
func (o *object) silences(pods []*pod) []*silence {
	var found []*silence
	annotations := []*node{o.root.at("metadata", "annotations")}
	for _, p := range pods {
		if a := p.metadata.at("annotations"); a != nil && a != annotations[0] {
			annotations = append(annotations, a)
		}
	}
	for i, a := range annotations {
		if text := a.at(ignoreAnnotation).str(); text != "" {
			for _, one := range strings.Split(ignoreNext.ReplaceAllString(text, "\x00$1"), "\x00") {
				found = append(found, o.silence(one, a.lineOf(ignoreAnnotation), 0, i > 0)...)
			}
		}
	}
	return append(found, o.commented()...)
}

// commented are the silences of comments: on a line, or alone above it.
func (o *object) commented() []*silence {
	var found []*silence
	for i, c := range o.comments {
		said := ignoreComment.FindStringSubmatch(strings.TrimRight(c.text, "\r"))
		if said == nil {
			continue
		}
		target := c.line
		if c.alone {
			target++
			for _, next := range o.comments[i+1:] {
				if next.line == target && next.alone && ignoreComment.MatchString(next.text) {
					target++
				}
			}
		}
		found = append(found, o.silence(said[1], c.line, target, false)...)
	}
	return found
}

func (o *object) silence(text string, line, target int, anyway bool) []*silence {
	said := ignoreRules.FindStringSubmatch(strings.TrimSpace(text))
	if said == nil {
		o.report(rulePointless, line, "this silence names no rule", "write the rule's number and why: PT003 why")
		return nil
	}
	if said[2] == "" {
		o.report(ruleUnexplained, line, "this silence of "+said[1]+" has no reason", "")
	}
	var found []*silence
	for id := range strings.SplitSeq(said[1], ",") {
		id = strings.TrimSpace(id)
		known := slices.IndexFunc(rules, func(r *Rule) bool { return r.ID == id })
		if known < 0 {
			o.report(rulePointless, line, "there is no rule "+id, "podtoken lint --rules lists them")
			continue
		}
		found = append(found, &silence{rule: id, line: line, target: target, on: o.String(), file: o.file, anyway: anyway && rules[known].live})
	}
	return found
}

// covers says that a finding is silenced, and remembers that it was.
func covers(silences []*silence, f Finding) bool {
	covered := false
	for _, s := range silences {
		if s.rule == f.Rule && (s.target == 0 || s.target == f.Line) {
			s.used, covered = true, true
		}
	}
	return covered
}
