package lint

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// jsonReader reads JSON values with their lines. It hands out the elements of
// a list one by one and keeps none.
type jsonReader struct {
	in      *input
	decoder *json.Decoder
}

func newJSONReader(in *input) *jsonReader {
	decoder := json.NewDecoder(in)
	decoder.UseNumber()
	return &jsonReader{in, decoder}
}

// token returns the next one and its line.
func (r *jsonReader) token() (json.Token, int, error) {
	token, err := r.decoder.Token()
	offset := r.decoder.InputOffset()
	return token, r.in.lineAt(offset), r.in.cause(err)
}

// value reads one at the top: an object, of whose "items" each is handed to
// item as soon as it is read, or an array, whose elements are. What is no
// object is of no interest here.
func (r *jsonReader) value(item func(root *node, kind string) bool) (*node, error) {
	r.in.allow(r.decoder.InputOffset())
	token, line, err := r.token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		if _, err := r.items("", item); err != nil {
			return nil, err
		}
		return nil, nil
	case json.Delim('{'):
	default:
		return &node{kind: scalar, line: line}, nil
	}
	root := &node{kind: mapping, line: line}
	for r.decoder.More() {
		key, at, err := r.token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		first, line, err := r.token()
		if err != nil {
			return nil, err
		}
		if name == "items" && first == json.Delim('[') {
			kind, _ := strings.CutSuffix(root.at("kind").str(), "List") // a typed list's items may have none of their own
			goOn, err := r.items(kind, item)
			if err != nil || !goOn {
				return nil, err
			}
			continue
		}
		value, err := r.rest(first, line, 1)
		if err != nil {
			return nil, err
		}
		root.keys = append(root.keys, &node{kind: scalar, text: name, line: at})
		root.values = append(root.values, value)
	}
	_, _, err = r.token()
	return root, err
}

// items hands out the elements of an array that was begun.
func (r *jsonReader) items(kind string, item func(*node, string) bool) (goOn bool, err error) {
	for r.decoder.More() {
		r.in.allow(r.decoder.InputOffset())
		token, line, err := r.token()
		if err != nil {
			return false, err
		}
		element, err := r.rest(token, line, 1)
		if err != nil {
			return false, err
		}
		if !item(element, kind) {
			return false, nil
		}
	}
	r.in.allow(r.decoder.InputOffset())
	_, _, err = r.token()
	return err == nil, err
}

// rest reads a value whose first token was read.
func (r *jsonReader) rest(token json.Token, line, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	n := &node{kind: scalar, line: line}
	switch token := token.(type) {
	case nil:
		n.kind = null
	case string:
		n.text = token
	case json.Number:
		n.text = token.String()
	case bool:
		n.text = strconv.FormatBool(token)
	case json.Delim:
		n.kind = sequence
		if token == '{' {
			n.kind = mapping
		}
		for r.decoder.More() {
			first, line, err := r.token()
			if err != nil {
				return nil, err
			}
			if n.kind == mapping {
				name, _ := first.(string)
				n.keys = append(n.keys, &node{kind: scalar, text: name, line: line})
				if first, line, err = r.token(); err != nil {
					return nil, err
				}
			}
			value, err := r.rest(first, line, depth+1)
			if err != nil {
				return nil, err
			}
			n.values = append(n.values, value)
		}
		_, _, err := r.token()
		return n, err
	}
	return n, nil
}

// jsonError is what a person is told of one of the decoder's.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("not JSON: it ends in the middle of a value")
	case errors.As(err, &syntax):
		return errors.New("not JSON: " + syntax.Error()) // shows one character at most
	}
	return err
}
