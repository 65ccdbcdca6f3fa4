package lint

import "strconv"

// node is a value of a document, YAML or JSON, with its line. Typed decoding
// would lose the lines, and know no Rollout. All methods accept nil, which is
// what a missing value is.
type node struct {
	kind  nodeKind
	text  string // of a scalar
	line  int
	block bool // a scalar of several lines of its own: "|" or ">"

	keys   []*node // of a mapping
	values []*node // of a mapping or a sequence
}

type nodeKind uint8

const (
	null nodeKind = iota
	scalar
	sequence
	mapping
)

// at follows keys.
func (n *node) at(keys ...string) *node {
	for _, key := range keys {
		i := n.index(key)
		if i < 0 {
			return nil
		}
		n = n.values[i]
	}
	return n
}

// index is where a mapping has key: the last one wins, as for kubectl.
func (n *node) index(key string) int {
	if n == nil || n.kind != mapping {
		return -1
	}
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.keys[i].text == key {
			return i
		}
	}
	return -1
}

// lineOf is the line of a key, or of the mapping that lacks it.
func (n *node) lineOf(key string) int {
	if i := n.index(key); i >= 0 {
		return n.keys[i].line
	}
	if n == nil {
		return 1
	}
	return n.line
}

func (n *node) has(key string) bool {
	v := n.at(key)
	return v != nil && v.kind != null
}

// str is a scalar's text, and "" for what is none.
func (n *node) str() string {
	if n == nil || n.kind != scalar {
		return ""
	}
	return n.text
}

// list are the elements of a sequence.
func (n *node) list() []*node {
	if n == nil || n.kind != sequence {
		return nil
	}
	return n.values
}

// number reads YAML's octals and JSON's decimals, as a mode may be either.
func (n *node) number() (int64, bool) {
	v, err := strconv.ParseInt(n.str(), 0, 64)
	return v, err == nil
}

func (n *node) isFalse() bool { return n.str() == "false" }

func (n *node) isTrue() bool { return n.str() == "true" }

// walk visits n and what is below it, each node once: aliases share theirs.
func (n *node) walk(visit func(*node) (deeper bool)) {
	seen := make(map[*node]bool)
	var step func(*node)
	step = func(n *node) {
		if n == nil || n.kind < sequence || seen[n] {
			return
		}
		seen[n] = true
		if visit(n) {
			for _, v := range n.values {
				step(v)
			}
		}
	}
	step(n)
}
