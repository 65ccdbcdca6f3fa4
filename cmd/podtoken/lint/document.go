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

	text  []byte // of the document, or since its last item that was handed out
	first int    // line of text
	items int    // where in text the elements of a list begin; 0 for none

	indent  int  // of the elements' dashes
	cut     bool // some items were handed out
	done    bool // all of them
	skip    bool // the rest of the document is not read
	stopped bool
}

// readYAML reads to the end of the file.
func readYAML(r *bufio.Reader, line int, out sink) (goOn bool, err error) {
	y := &yamlReader{out: out, line: line, first: line}
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
	switch {
	case isMarker(line, "---"):
		y.end()
		y.text, y.first = append(y.text, line...), y.line
		return
	case isMarker(line, "..."):
		y.end()
		y.first = y.line + 1
		return
	case line[0] == '%' && len(bytes.TrimSpace(y.text)) == 0:
		y.first = y.line + 1 // %YAML, %TAG: nothing that an object needs
		return
	case y.skip:
		return
	}
	y.text = append(y.text, line...)
	if y.items == 0 && !y.cut && isMarker(line, "items:") {
		y.items = len(y.text)
	}
	if len(y.text) > maxWhole && (y.items > 0 || y.cut) {
		y.flush(false)
	}
	if len(y.text) > y.out.most {
		y.fail(y.first, tooLargeError(y.out.most))
		y.skip, y.text = true, nil
	}
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
		y.flush(true)
	default:
		y.document(y.text, y.first)
	}
	*y = yamlReader{out: y.out, line: y.line, first: y.line, stopped: y.stopped}
}

// flush hands out the items of a list that are complete: all but the last one.
// The lines of an item are further in than its dash, a block scalar's too, so
// the next dash at its place begins the next.
func (y *yamlReader) flush(all bool) {
	if !y.cut {
		y.first += bytes.Count(y.text[:y.items], []byte("\n"))
		y.text = y.text[y.items:]
		y.cut, y.indent = true, -1
	}
	start, line := 0, y.first
	began := y.first
	for at := 0; at < len(y.text) && !y.done; line++ {
		length := bytes.IndexByte(y.text[at:], '\n') + 1
		if length == 0 {
			length = len(y.text) - at
		}
		text := y.text[at : at+length]
		trimmed := bytes.TrimLeft(text, " ")
		indent := len(text) - len(trimmed)
		dash := isMarker(trimmed, "-")
		if y.indent < 0 && dash {
			y.indent = indent
		}
		blank := len(bytes.TrimSpace(text)) == 0 || trimmed[0] == '#'
		switch {
		case dash && indent == y.indent:
			y.item(y.text[start:at], began)
			start, began = at, line
		case !blank && indent <= y.indent && !dash, !blank && indent < y.indent:
			y.item(y.text[start:at], began)
			y.done = true // "kind: List" and what else is after the items
		}
		at += length
	}
	if all && !y.done {
		y.item(y.text[start:], began)
		start, began = len(y.text), line
	}
	y.text, y.first = append([]byte(nil), y.text[start:]...), began
	if y.done {
		y.text, y.skip = nil, true
	}
}

// item hands out one, whose text is a sequence of one element.
func (y *yamlReader) item(text []byte, first int) {
	if y.stopped || len(bytes.TrimSpace(text)) == 0 {
		return
	}
	root, err := parseYAML(text, first)
	if err != nil {
		y.fail(first, err)
		return
	}
	for _, element := range root.list() {
		y.stopped = y.stopped || !y.out.piece(piece{root: element, comments: comments(text, first, root)})
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
