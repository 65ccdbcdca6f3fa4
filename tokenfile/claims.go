package tokenfile

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// maxMembers bounds an object of a token: Kubernetes' have fewer than ten.
const maxMembers = 1000

var errNoObject = malformed("its claims are not a JSON object")

// object is a JSON object whose members are asked for by name and type. It
// differs from what encoding/json would decode in three ways, each of which
// lets two readers take one token differently: a name that occurs twice is an
// error, and so is a known name in another case, or a value of another type.
// The first error stays.
type object struct {
	members []member
	err     error
}

type member struct {
	name    []byte   // unquoted
	value   []byte   // JSON
	members []member // of the value, if that is an object
}

// newObject reads a JSON object. names are the members that will be asked for.
func newObject(data []byte, names ...string) *object {
	c := cursor{data: data}
	if c.peek() != '{' {
		return &object{err: errNoObject}
	}
	members, err := c.object()
	return checkCase(&object{members: members, err: err}, names)
}

// checkCase refuses an object that spells one of names in another case.
func checkCase(o *object, names []string) *object {
	for _, m := range o.members {
		for _, name := range names {
			if string(m.name) != name && bytes.EqualFold(m.name, []byte(name)) {
				o.fail(name, "is spelt in another case")
			}
		}
	}
	return o
}

func (o *object) fail(name, why string) {
	if o.err == nil {
		o.err = malformed("its claim %s %s", name, why)
	}
}

// find returns the JSON of a member, nil if there is none.
func (o *object) find(name string) []byte { return o.member(name).value }

// member returns the zero member if there is none.
func (o *object) member(name string) (m member) {
	for _, m := range o.members {
		if string(m.name) == name {
			return m
		}
	}
	return m
}

func (o *object) text(name string) string {
	v := o.find(name)
	if v != nil && v[0] != '"' {
		o.fail(name, "is not a string")
		return ""
	}
	return string(unquote(v))
}

// texts is a list of strings, or one string, as RFC 7519 allows for aud.
func (o *object) texts(name string) []string {
	v := o.find(name)
	switch {
	case v == nil:
		return nil
	case v[0] == '"':
		return []string{string(unquote(v))}
	case v[0] != '[':
		o.fail(name, "is neither a string nor a list of strings")
		return nil
	}
	c := cursor{data: v}
	elements, _ := c.array() // its members were looked at before
	list := make([]string, 0, len(elements))
	for _, e := range elements {
		if e[0] != '"' {
			o.fail(name, "is neither a string nor a list of strings")
			return nil
		}
		list = append(list, string(unquote(e)))
	}
	return list
}

// maxSeconds is the end of the year 9999, the last that RFC 3339 can write.
const maxSeconds = 253402300799

// time is a NumericDate: seconds since 1970, whole or not. The zero Time
// stands for a member that is not there.
func (o *object) time(name string) time.Time {
	v := o.find(name)
	if v == nil {
		return time.Time{}
	}
	if v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		o.fail(name, "is not a number")
		return time.Time{}
	}
	if i, err := strconv.ParseInt(string(v), 10, 64); err == nil && 0 <= i && i <= maxSeconds {
		return time.Unix(i, 0)
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f < 0 || f > maxSeconds {
		o.fail(name, "is no time between the years 1970 and 9999")
		return time.Time{}
	}
	whole, fraction := math.Modf(f)
	return time.Unix(int64(whole), int64(fraction*1e6)*1e3)
}

// object is a member that is an object itself. Its errors become o's by adopt.
func (o *object) object(name string, names ...string) *object {
	m := o.member(name)
	switch {
	case m.value == nil:
		return new(object)
	case m.value[0] != '{':
		o.fail(name, "is not an object")
		return new(object)
	}
	return checkCase(&object{members: m.members}, names)
}

func (o *object) adopt(inner *object) {
	if o.err == nil {
		o.err = inner.err
	}
}

// cursor walks over JSON whose syntax was found valid before, so that it need
// not look for errors of syntax.
type cursor struct {
	data []byte
	at   int
}

// peek returns the first byte of what comes next, 0 at the end.
func (c *cursor) peek() byte {
	for ; c.at < len(c.data); c.at++ {
		switch b := c.data[c.at]; b {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return b
		}
	}
	return 0
}

// value returns the JSON of the next value, and its members if it is an object,
// having looked for names that occur twice in every object within.
func (c *cursor) value() (v []byte, members []member, err error) {
	first := c.peek()
	start := c.at
	switch first {
	case '{':
		members, err = c.object()
	case '[':
		_, err = c.array()
	case '"':
		c.text()
	default:
		if n := bytes.IndexAny(c.data[c.at:], ",]} \t\r\n"); n >= 0 {
			c.at += n
		} else {
			c.at = len(c.data)
		}
	}
	return c.data[start:c.at], members, err
}

// text passes over a string.
func (c *cursor) text() []byte {
	start := c.at
	for c.at++; c.data[c.at] != '"'; c.at++ {
		if c.data[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
	return c.data[start:c.at]
}

func (c *cursor) object() (members []member, err error) {
	for c.at++; c.peek() != '}'; {
		m := member{name: unquote(c.text())}
		for _, other := range members {
			if bytes.Equal(other.name, m.name) {
				return nil, malformed("it has a claim twice: %s", quote(string(m.name)))
			}
		}
		if len(members) == maxMembers {
			return nil, malformed("it has an object of more than %d members", maxMembers)
		}
		if m.value, m.members, err = c.value(); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	c.at++
	return members, nil
}

func (c *cursor) array() (elements [][]byte, err error) {
	for c.at++; c.peek() != ']'; {
		v, _, err := c.value()
		if err != nil {
			return nil, err
		}
		elements = append(elements, v)
	}
	c.at++
	return elements, nil
}

// unquote returns the text of a JSON string, nothing for no string. It copies
// only where there is an escape to undo.
func unquote(v []byte) []byte {
	if len(v) < 2 {
		return nil
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	var s string
	_ = json.Unmarshal(v, &s) // valid, and a string
	return []byte(s)
}
