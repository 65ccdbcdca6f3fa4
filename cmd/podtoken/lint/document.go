package lint

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxWhole is what a YAML document may have before a list in it is read item by
// item. Below it the document is parsed as one, with the aliases that may lead
// from one item to another.
const maxWhole = 1 << 20

// yamlReader cuts a file into documents at its "---" lines, which are nothing
// else wherever they are at the beginning of a line. The parser itself does not
// go on after a document with an error.
type yamlReader struct {
	out  sink
	line int // of the file, that is read next

	text  []byte // of the document or, once that is cut, of an item of its list
	first int    // line of text
	begun bool   // a line of the document was neither blank nor a comment
	items int    // where in text the items of a list begin; -1 for none

	cut     bool // the items are handed out one by one
	indent  int  // of their dashes; -1 before the first
	drop    bool // the rest of the item is not read
	skip    bool // the rest of the document is not read
	stopped bool
}

func newYAMLReader(out sink, line int) *yamlReader {
	return &yamlReader{out: out, line: line, first: line, items: -1}
}

// readYAML reads to the end of the file.
func readYAML(r *bufio.Reader, line int, out sink) (goOn bool, err error) {
	y := newYAMLReader(out, line)
	for !y.stopped {
		text, err := readLine(r, out.most)
		if len(text) > 0 {
			y.add(text)
		}
		if err != nil {
			if !y.stopped {
				y.end()
			}
			return !y.stopped, endOfFile(err)
		}
	}
	return false, nil
}

// readLine reads one with its end, or as much of it as an object may have and
// a byte.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part[:min(len(part), most+1-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (y *yamlReader) add(line []byte) {
	defer func() { y.line++ }()
	line = bytes.TrimPrefix(line, utf8Mark) // of a file that was put behind another
	switch {
	case isMarker(line, "---"):
		y.end()
		y.text, y.begun = append(y.text, line...), len(bytes.TrimSpace(line)) > 3
		return
	case isMarker(line, "..."):
		y.end()
		y.first = y.line + 1
		return
	case len(line) > 0 && line[0] == '%' && len(bytes.TrimSpace(y.text)) == 0:
		y.first = y.line + 1 // %YAML, %TAG: nothing that an object needs
		return
	case y.skip:
		return
	case y.cut:
		y.addToList(line, y.line)
	default:
		y.addToDocument(line)
	}
	if len(y.text) > y.out.most {
		y.fail(y.first, tooLargeError(y.out.most))
		y.drop, y.skip, y.text = y.cut, !y.cut, nil
	}
}

// addToDocument also looks for where a list begins: below "items:", or with the
// document, as yq prints them.
func (y *yamlReader) addToDocument(line []byte) {
	if !y.begun && isMarker(line, "-") {
		y.items = len(y.text)
	}
	y.begun = y.begun || !isBlank(line)
	y.text = append(y.text, line...)
	if y.items < 0 && isMarker(line, "items:") {
		y.items = len(y.text)
	}
	if len(y.text) <= maxWhole || y.items < 0 {
		return
	}
	number := y.first + bytes.Count(y.text[:y.items], []byte("\n"))
	list := y.text[y.items:]
	y.text, y.cut, y.indent = nil, true, -1
	for line := range bytes.SplitAfterSeq(list, []byte("\n")) {
		y.addToList(line, number)
		number++
	}
}

// addToList hands an item out when the next one begins. The lines of an item
// are further in than its dash, a block scalar's too, so the next dash at its
// place begins the next.
func (y *yamlReader) addToList(line []byte, number int) {
	trimmed := bytes.TrimLeft(line, " ")
	indent := len(line) - len(trimmed)
	dash := isMarker(trimmed, "-")
	if y.indent < 0 && dash {
		y.indent = indent
	}
	switch {
	case y.skip:
		return
	case dash && indent == y.indent:
		y.item()
		y.first, y.drop = number, false
	case !isBlank(line) && (indent < y.indent || indent == y.indent && !dash):
		y.item()
		y.skip = true // "kind: List" and what else is after the items
		return
	}
	if !y.drop {
		y.text = append(y.text, line...)
	}
}

func isBlank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// isMarker says that a line is word, and at most a comment or a value after it.
func isMarker(line []byte, word string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(word))
	if !ok {
		return false
	}
	if word == "items:" {
		rest = bytes.TrimSpace(rest)
		return len(rest) == 0 || rest[0] == '#'
	}
	return len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0
}

// end hands out what is left of a document, and begins the next.
func (y *yamlReader) end() {
	switch {
	case y.skip:
	case y.cut:
		y.item()
	default:
		y.document(y.text, y.first)
	}
	stopped := y.stopped
	*y = *newYAMLReader(y.out, y.line)
	y.stopped = stopped
}

// item hands out one, whose text is a sequence of one element.
func (y *yamlReader) item() {
	text := y.text
	y.text = y.text[:0]
	if y.stopped || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	root, err := parseYAML(text, y.first)
	if err != nil {
		y.fail(y.first, err)
		return
	}
	for _, element := range root.list() {
		y.stopped = y.stopped || !y.out.piece(piece{root: element, comments: comments(text, y.first, root)})
	}
}

func (y *yamlReader) document(text []byte, first int) {
	if y.stopped || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	root, err := parseDocument(text, first)
	if err != nil {
		y.fail(first, err)
		return
	}
	y.stopped = !y.out.piece(piece{root: root, comments: comments(text, first, root)})
}

// parseDocument also reads JSON between "---" lines: the two differ in escapes.
func parseDocument(text []byte, first int) (*node, error) {
	body := bytes.TrimPrefix(text, []byte("---"))
	if looksJSON(body) {
		in := &input{r: bufio.NewReader(bytes.NewReader(body)), lines: first - 1, most: len(body)}
		var items []*node
		r := newJSONReader(in)
		root, err := r.value(func(n *node, kind string) bool {
			items = append(items, n)
			return true
		})
		if _, end := r.decoder.Token(); err == nil && errors.Is(end, io.EOF) {
			return listOf(root, items, first), nil
		}
	}
	return parseYAML(text, first)
}

// listOf puts the items back that were read one by one.
func listOf(root *node, items []*node, line int) *node {
	list := &node{kind: sequence, line: line, values: items}
	if root == nil {
		return list
	}
	if items != nil {
		root.keys = append(root.keys, &node{kind: scalar, text: "items", line: line})
		root.values = append(root.values, list)
	}
	return root
}

func (y *yamlReader) fail(line int, err error) {
	var at *lineError
	if errors.As(err, &at) {
		line = at.line
	}
	y.stopped = y.stopped || !y.out.err(line, err)
}
