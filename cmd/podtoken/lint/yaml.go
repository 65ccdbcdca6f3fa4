package lint

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	maxNodes = 2_000_000 // of a document, merged keys counted where they arrive
	maxDepth = 1000
)

var (
	errTooDeep = errors.New("nested too deep")
	errTooMany = errors.New("expands to too many values")

	errOldLineEnds = errors.New(`several documents whose lines do not end with "\n": convert the file's line ends`)
)

// parseYAML reads one document that begins at line first of its file. It
// returns nil for one of comments only.
func parseYAML(text []byte, first int) (root *node, err error) {
	defer func() {
		// The parser is somebody else's and the text anybody's: one document
		// that it cannot bear must not end the run.
		if recovered := recover(); recovered != nil {
			root, err = nil, &lineError{first, errors.New("the YAML parser fails on it")}
		}
	}()
	lines := newLines(text, first)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var parsed, more yaml.Node
	if err := decoder.Decode(&parsed); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, yamlError(err, text, lines)
	}
	if err := decoder.Decode(&more); err == nil {
		return nil, &lineError{lines.of(more.Line), errOldLineEnds}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(err, text, lines)
	}
	if len(parsed.Content) == 0 {
		return nil, nil
	}
	c := converter{lines: lines, known: make(map[*yaml.Node]*node)}
	root, err = c.convert(parsed.Content[0], 0)
	if err != nil {
		return nil, &lineError{first, err}
	}
	return root, nil
}

// lineError is a syntax error at a line of the file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }

func (e *lineError) Unwrap() error { return e.err }

var (
	yamlLine   = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	yamlQuoted = regexp.MustCompile(`'[^']*'|"[^"]*"|` + "`[^`]*`")
)

// yamlError finds the line in a parser's error and keeps what a document may
// have of secrets out of it: a name in quotes can be the beginning of one.
func yamlError(err error, text []byte, lines lines) error {
	message := err.Error()
	line := lines.first + bytes.Count(text[:badByte(text)], []byte("\n"))
	if at := yamlLine.FindStringSubmatch(message); at != nil {
		message = message[len(at[0]):]
		if n, err := strconv.Atoi(at[1]); err == nil {
			if strings.HasPrefix(message, "did not find expected") {
				n++ // the parser's own errors count from 0, its scanner's from 1
			}
			line = lines.of(n)
		}
	}
	message = yamlQuoted.ReplaceAllStringFunc(message, func(quoted string) string {
		if utf8.RuneCountInString(quoted) <= 3 {
			return quoted
		}
		return "..."
	})
	if bytes.Contains(text, []byte("{{")) {
		message += "; this looks like a template: lint what helm template prints of it"
	}
	return &lineError{line, errors.New("not YAML: " + message)}
}

// badByte is where a character is that YAML does not have, of which the parser
// does not say the line: 0 if there is none.
func badByte(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 || r == 0x7f || r < ' ' && r != '\t' && r != '\n' && r != '\r' {
			return i
		}
		i += size
	}
	return 0
}

// converter makes nodes of the parser's, with lines of the file, aliases
// followed and merge keys merged.
type converter struct {
	lines lines
	count int
	known map[*yaml.Node]*node // what aliases share
}

func (c *converter) convert(y *yaml.Node, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	if y.Kind == yaml.AliasNode {
		if n := c.known[y.Alias]; n != nil {
			return n, nil
		}
		return &node{line: c.lines.of(y.Line)}, nil // in what it is an alias of
	}
	if c.count++; c.count > maxNodes {
		return nil, errTooMany
	}
	n := &node{line: c.lines.of(y.Line)}
	if y.Anchor != "" {
		defer func() { c.known[y] = n }()
	}
	switch y.Kind {
	case yaml.ScalarNode:
		n.kind, n.text = scalar, y.Value
		n.block = y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
		if y.ShortTag() == "!!null" {
			n.kind, n.text = null, ""
		}
	case yaml.SequenceNode:
		n.kind = sequence
		for _, content := range y.Content {
			v, err := c.convert(content, depth+1)
			if err != nil {
				return nil, err
			}
			n.values = append(n.values, v)
		}
	case yaml.MappingNode:
		n.kind = mapping
		return n, c.mapping(n, y, depth)
	}
	return n, nil
}

func (c *converter) mapping(n *node, y *yaml.Node, depth int) error {
	var merged []*node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, err := c.convert(y.Content[i], depth+1)
		if err != nil {
			return err
		}
		value, err := c.convert(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if key.text == "<<" && y.Content[i].ShortTag() == "!!merge" {
			merged = append(merged, value)
			merged = append(merged, value.list()...)
			continue
		}
		n.keys, n.values = append(n.keys, key), append(n.values, value)
	}
	return c.merge(n, merged)
}

// merge adds the keys that n does not have itself; of several mappings the
// first that has a key wins.
func (c *converter) merge(n *node, merged []*node) error {
	if merged == nil {
		return nil
	}
	own := make(map[string]bool)
	for _, key := range n.keys {
		own[key.text] = true
	}
	for _, from := range merged {
		if from.kind != mapping || from == n {
			continue
		}
		for i, key := range from.keys {
			if c.count++; c.count > maxNodes {
				return errTooMany
			}
			if !own[key.text] {
				own[key.text] = true
				n.keys, n.values = append(n.keys, key), append(n.values, from.values[i])
			}
		}
	}
	return nil
}

// comment is a line's, without what is before its "#".
type comment struct {
	line  int
	alone bool // nothing else is on the line
	text  string
}

// comments are those of a document. The parser moves them to the nodes that it
// thinks they are on; here the line matters.
func comments(text []byte, first int, root *node) []comment {
	if !bytes.Contains(text, []byte("#")) {
		return nil
	}
	blocks := make(map[int]bool) // lines on which a block scalar begins
	root.scalars(func(n *node) {
		if n.block {
			blocks[n.line] = true
		}
	})
	var found []comment
	inside := -1 // the indentation that a block scalar's lines exceed
	for i, line := range strings.Split(string(text), "\n") {
		number := first + i
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if inside >= 0 && (trimmed == "" || indent > inside) {
			continue
		}
		inside = -1
		at := strings.Index(line, " #")
		if strings.HasPrefix(trimmed, "#") {
			found = append(found, comment{number, true, trimmed})
		} else if at >= 0 {
			found = append(found, comment{number, false, line[at+1:]})
		}
		if blocks[number] {
			inside = keyIndent(line, indent)
		}
	}
	return found
}

// keyIndent is where the key of a block scalar begins: after the dashes of the
// elements that begin on its line.
func keyIndent(line string, indent int) int {
	for strings.HasPrefix(line[indent:], "- ") {
		rest := strings.TrimLeft(line[indent+1:], " ")
		if rest == "" || rest[0] == '|' || rest[0] == '>' {
			break
		}
		indent = len(line) - len(rest)
	}
	return indent
}

// scalars visits those below n.
func (n *node) scalars(visit func(*node)) {
	n.walk(func(n *node) bool {
		for _, v := range n.values {
			if v.kind == scalar {
				visit(v)
			}
		}
		return true
	})
}
