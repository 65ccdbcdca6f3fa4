//go:build linux

package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// An object is what JSON calls so.
type object = map[string]any

// call sends a request with a JSON body, or with none, and returns the answer
// with its whole body. No answer within a minute is an error.
func call(ctx context.Context, client *http.Client, header http.Header, method, url string, body any) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var content io.Reader
	switch body := body.(type) {
	case nil:
	case string: // as it is
		content = strings.NewReader(body)
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return &answer{status: response.StatusCode, header: response.Header, text: text}, nil
}

// An answer is a server's, read to its end.
type answer struct {
	status int
	header http.Header
	text   []byte
}

// object is the answer's body, or nil if that is not a JSON object.
func (a *answer) object() (o object) {
	_ = json.Unmarshal(a.text, &o)
	return o
}

// errors is what a server of the Vault family says went wrong.
func (a *answer) errors() []string {
	var body struct{ Errors []string }
	_ = json.Unmarshal(a.text, &body)
	return body.Errors
}

// failure is nil if the status is of the 200s. The text has what the server
// says of errors, and nothing else of the body, which may hold a secret.
func (a *answer) failure() error {
	if a.status/100 == 2 {
		return nil
	}
	said := a.errors()
	if said == nil {
		if message, ok := a.object()["message"].(string); ok { // Kubernetes
			said = []string{message}
		}
	}
	return fmt.Errorf("status %d: %q", a.status, said)
}

// at follows names into objects.
func at(value any, names ...string) any {
	for _, name := range names {
		o, _ := value.(object)
		value = o[name]
	}
	return value
}

// text is at for a string.
func text(value any, names ...string) string {
	s, _ := at(value, names...).(string)
	return s
}
