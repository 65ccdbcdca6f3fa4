package vaultauthtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The headers that clients send.
const (
	tokenHeader     = "X-Vault-Token"
	namespaceHeader = "X-Vault-Namespace"
	wrapHeader      = "X-Vault-Wrap-TTL"
)

// maxBody is what the servers read of a request's body by default.
const maxBody = 32 << 20

// call is one request on its way through the server.
type call struct {
	*http.Request
	at        time.Time
	full      string // the path as asked for, without /v1/
	namespace string
	path      string // within the namespace
	body      map[string]any
	wrap      time.Duration
	token     *token // the client's, once it is known
	kind      kind
	lost      bool // the answer will be
	status    int  // 0 if the connection was cut
}

// writes tells whether the method is one of the two that write.
func (c *call) writes() bool { return c.Method == http.MethodPost || c.Method == http.MethodPut }

// reads tells whether the method is the one that reads.
func (c *call) reads() bool { return c.Method == http.MethodGet }

// decode reads the body and the header that asks for wrapping. The answer is
// nil if they can be read.
func (c *call) decode(p Product) *answer {
	if c.Body != nil && c.writes() {
		if a := c.decodeBody(p); a != nil {
			return a
		}
	}
	wrap, err := seconds(c.Header.Get(wrapHeader))
	if err == nil && wrap < 0 {
		err = errors.New("requested wrap ttl cannot be negative")
	}
	if err != nil {
		return refusal(http.StatusBadRequest, "error parsing "+wrapHeader+" header: "+err.Error())
	}
	c.wrap = wrap
	return nil
}

func (c *call) decodeBody(p Product) *answer {
	data, err := io.ReadAll(io.LimitReader(c.Body, maxBody+1))
	switch {
	case err != nil:
		return refusal(http.StatusBadRequest, "error reading data")
	case len(data) > maxBody:
		return refusal(http.StatusRequestEntityTooLarge, "http: request body too large")
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&c.body); err != nil {
		return badJSON(p, data[0], err)
	}
	return nil
}

// badJSON answers as each product does. Vault looks at what begins like JSON
// twice, and calls an error of syntax that its first look finds its own.
func badJSON(p Product, first byte, err error) *answer {
	var mistyped *json.UnmarshalTypeError
	text := "failed to parse JSON input: " + err.Error()
	switch {
	case p == OpenBao:
		return refusal(http.StatusBadRequest, text)
	case first != '{' && first != '[' || errors.As(err, &mistyped):
		return refusal(http.StatusBadRequest, "error parsing JSON: "+text)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refusal(http.StatusInternalServerError, "malformed JSON, unclosed containers")
	}
	return refusal(http.StatusInternalServerError, err.Error())
}

// field returns a text of the body, "" if it is not there.
func (c *call) field(name string) string {
	switch v := c.body[name].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// seconds reads a duration as the servers do: a number of seconds, or a text
// of one or of a duration. Nothing is zero.
func seconds(v any) (time.Duration, error) {
	var text string
	switch v := v.(type) {
	case nil:
		return 0, nil
	case json.Number:
		text = v.String()
	case string:
		text = v
		if text == "" {
			return 0, nil
		}
	default:
		return 0, errors.New("could not parse duration from input")
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		return time.Duration(n) * 24 * time.Hour, err
	}
	d, err := time.ParseDuration(text)
	return d.Truncate(time.Second), err
}

// clientToken returns what a request authenticates itself with.
func clientToken(r *http.Request) string {
	if text := r.Header.Get(tokenHeader); text != "" {
		return text
	}
	for _, value := range r.Header["Authorization"] {
		if text, ok := strings.CutPrefix(value, "Bearer "); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
