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

// commented are the silences of comments: on a line, or alone above it, where
// more comments can stand between. Above a block of comments in which a legacy
// token was found they are for that.
func (o *object) commented() []*silence {
	var found []*silence
	blocks := o.commentFindings()
	first, below := 0, 0 // lines of the comments alone that were seen last, and the one below them
	for _, c := range slices.Backward(o.comments) {
		if c.alone && c.line+1 != first {
			below = c.line + 1
		}
		if c.alone {
			first = c.line
		}
		said := ignoreComment.FindStringSubmatch(strings.TrimRight(c.text, "\r"))
		if said == nil {
			continue
		}
		target := c.line
		if c.alone {
			target = below
		}
		if legacy := blocks[c.line+1]; legacy > 0 && strings.Contains(said[1], ruleCommentedOut.ID) {
			target = legacy
		}
		found = append(found, o.silence(said[1], c.line, target, false)...)
	}
	slices.Reverse(found)
	return found
}

// commentFindings are the lines of what was found in blocks of comments, by
// each line of the block up to there.
func (o *object) commentFindings() map[int]int {
	found := make(map[int]int)
	for _, f := range o.findings {
		if f.Rule == ruleCommentedOut.ID {
			found[f.Line] = f.Line
		}
	}
	for _, c := range slices.Backward(o.comments) {
		if line := found[c.line+1]; line > 0 && c.alone && found[c.line] == 0 {
			found[c.line] = line
		}
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
		o.report(ruleUnexplained, line, "this silence of "+printable(said[1])+" has no reason", "")
	}
	var found []*silence
	for _, id := range splitRules(said[1]) {
		known := slices.IndexFunc(rules, func(r *Rule) bool { return r.ID == id })
		if known < 0 {
			o.report(rulePointless, line, "there is no rule "+quote(id), "podtoken lint --rules lists them")
			continue
		}
		found = append(found, &silence{rule: id, line: line, target: target, on: o.String(), file: o.file, anyway: anyway && rules[known].live})
	}
	return found
}

func splitRules(text string) []string {
	list := strings.Split(text, ",")
	for i, id := range list {
		list[i] = strings.TrimSpace(id)
	}
	return list
}

// hushed are silences by what they are against.
type hushed map[against]*spoken

type against struct {
	rule string
	line int // 0 for the whole object
}

// spoken are the silences against the same: all are used, or none.
type spoken struct {
	list []*silence
	used bool
}

func hush(silences []*silence) hushed {
	var h hushed
	for _, s := range silences {
		if h == nil {
			h = make(hushed)
		}
		key := against{s.rule, s.target}
		if h[key] == nil {
			h[key] = &spoken{}
		}
		h[key].list = append(h[key].list, s)
	}
	return h
}

// covers says that a finding is silenced, and remembers that it was.
func (h hushed) covers(f Finding) bool {
	covered := false
	for _, line := range []int{0, f.Line} {
		said := h[against{f.Rule, line}]
		if said == nil {
			continue
		}
		covered = true
		if !said.used {
			said.used = true
			for _, s := range said.list {
				s.used = true
			}
		}
	}
	return covered
}
