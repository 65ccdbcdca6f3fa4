package lint

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
)

// piece is a document, or an item of a list.
type piece struct {
	root     *node
	kind     string // an item's, if it does not say its own
	comments []comment
}

// objects are those of a document: itself, or the items of the lists in it. An
// item has the comments of its lines, and those above it. A list that aliases
// repeat is taken once, however many times that would be.
func (p piece) objects() []piece {
	var found []piece
	seen := make(map[*node]bool)
	var step func(p piece)
	step = func(p piece) {
		items, kind := p.root, ""
		if list := p.root.at("items"); list != nil && strings.HasSuffix(p.root.at("kind").str(), "List") {
			items, kind = list, strings.TrimSuffix(p.root.at("kind").str(), "List")
		}
		if items == nil || items.kind != sequence {
			found = append(found, p)
			return
		}
		if seen[items] {
			return
		}
		seen[items] = true
		rest := p.comments
		for i, item := range items.values {
			end := len(rest)
			if i+1 < len(items.values) {
				next := items.values[i+1].line
				if at := slices.IndexFunc(rest, func(c comment) bool { return c.line >= next }); at >= 0 {
					end = at
				}
			}
			step(piece{item, kind, rest[:end]})
			rest = rest[end:]
		}
	}
	step(p)
	return found
}

// sink takes the pieces of a file and its errors, until it returns false.
type sink struct {
	most  int // bytes of an object
	piece func(piece) bool
	err   func(line int, err error) bool
}

// readAll reads a file to its end, whichever of the two languages it is in, and
// also where they alternate.
func readAll(r io.Reader, out sink) error {
	in := &input{r: decoded(r)}
	for line := 1; ; {
		json, err := beginsJSON(in.r)
		if err != nil {
			return endOfFile(err)
		}
		if json {
			next := &input{r: in.r, lines: line - 1, most: out.most}
			goOn, err := readJSON(next, out)
			if err != nil || !goOn {
				return err
			}
			in, line = next, next.lines+1
			continue
		}
		goOn, err := readYAML(in.r, line, out)
		if err != nil || !goOn {
			return err
		}
		return nil
	}
}

var utf8Mark = []byte("\xef\xbb\xbf")

// decoded reads UTF-8, and UTF-16 with a byte order mark, which is what
// PowerShell makes of a program's output.
func decoded(r io.Reader) *bufio.Reader {
	const ahead = 64 << 10
	buffered := bufio.NewReaderSize(r, ahead)
	mark, _ := buffered.Peek(len(utf8Mark))
	switch {
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")):
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()
		return bufio.NewReaderSize(decoder.Reader(buffered), ahead)
	case bytes.Equal(mark, utf8Mark):
		_, _ = buffered.Discard(len(utf8Mark))
	}
	return buffered
}

func endOfFile(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// beginsJSON looks at the first characters: "{" and a quoted key, or "[" and a
// value. Anything else is YAML, a flow mapping and a Helm template among it.
func beginsJSON(r *bufio.Reader) (bool, error) {
	ahead, err := r.Peek(4096)
	if len(ahead) == 0 {
		return false, err
	}
	return looksJSON(ahead), nil
}

func looksJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false
	}
	second := bytes.TrimLeft(text[1:], " \t\r\n")
	switch {
	case len(second) == 0:
		return true
	case text[0] == '{':
		return second[0] == '"' || second[0] == '}'
	}
	return second[0] == '{' || second[0] == '"' || second[0] == ']' || second[0] == '['
}

// readJSON reads values until something else comes. After it, in.r is there and
// in.lines before it.
func readJSON(in *input, out sink) (goOn bool, err error) {
	r := newJSONReader(in)
	stopped := false
	for {
		root, err := r.value(func(root *node, kind string) bool {
			stopped = !out.piece(piece{root: root, kind: kind})
			return !stopped
		})
		if stopped {
			return false, nil
		}
		offset := r.decoder.InputOffset()
		if err != nil {
			if in.failed != nil && !errors.As(in.failed, new(tooLargeError)) {
				return false, in.failed // the file's, not the document's
			}
			if !out.err(in.lineAt(offset), jsonError(err)) {
				return false, nil
			}
		} else if root != nil && !out.piece(piece{root: root}) {
			return false, nil
		}

		rest := io.MultiReader(r.decoder.Buffered(), in.r)
		if err == nil {
			// Where the next value begins, or what is there instead.
			next := bufio.NewReaderSize(rest, 64<<10)
			line := in.lineAt(offset)
			line += skipSpace(next)
			json, err := beginsJSON(next)
			*in = input{r: next, lines: line - 1, most: out.most}
			if err != nil || !json {
				return true, nil
			}
		} else {
			next := bufio.NewReaderSize(rest, 64<<10)
			line := in.lineAt(offset) + skipBroken(next)
			*in = input{r: next, lines: line - 1, most: out.most}
			return true, nil
		}
		r = newJSONReader(in)
	}
}

// skipSpace returns how many lines it passed.
func skipSpace(r *bufio.Reader) (lines int) {
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return lines
		case b == '\n':
			lines++
		case b != ' ' && b != '\t' && b != '\r':
			_ = r.UnreadByte()
			return lines
		}
	}
}

// skipBroken goes to the next line on which a document can begin, and returns
// how many it passed. What a printer indents is inside of the broken one.
func skipBroken(r *bufio.Reader) (lines int) {
	for {
		if err := skipLine(r); err != nil {
			return lines
		}
		lines++
		ahead, _ := r.Peek(3)
		if bytes.HasPrefix(ahead, []byte("{")) || bytes.HasPrefix(ahead, []byte("---")) {
			return lines
		}
	}
}

func skipLine(r *bufio.Reader) error {
	for {
		_, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}
