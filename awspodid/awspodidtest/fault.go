package awspodidtest

import (
	"encoding/json"
	"net/http"
	"time"
)

// Fault is what happens to a request beside, or in place of, what should. The
// zero Fault does nothing. The fields combine: Latency comes first, then a
// request hangs, is reset, or is answered; what is wrong with the answer comes
// last.
type Fault struct {
	// Latency passes before anything else, unless the request ends.
	Latency time.Duration

	// Hang lets the request wait until its context ends.
	Hang bool

	// Reset cuts the connection, and nobody has looked at the request.
	Reset bool

	// Lose cuts the connection too, but the server has done by then what the
	// request asks for.
	Lose bool

	// Status, if set, is answered in the server's place, with Body.
	Status int
	Body   string

	// Header is set in the answer, beside or over the usual fields.
	Header http.Header

	// Rewrite makes another body of the server's own, if that is a success.
	Rewrite func(body []byte) []byte

	// Pad is how many spaces come before the body: to JSON and XML they mean
	// nothing, so that only who counts stops reading.
	Pad int64

	// Stall lets the second half of the body not come.
	Stall bool

	code string
}

// Body is a Fault that answers 200 with the given body: garbage, "null", "{}",
// "".
func Body(text string) *Fault { return &Fault{Status: http.StatusOK, Body: text} }

// Redirect is a Fault that sends the client elsewhere.
func Redirect(status int, location string) *Fault {
	return &Fault{Status: status, Header: http.Header{"Location": {location}}}
}

// HugeBody is a Fault that makes the answer size bytes longer.
func HugeBody(size int64) *Fault { return &Fault{Pad: size} }

// TrailingData is a Fault that appends text to a success.
func TrailingData(text string) *Fault {
	return &Fault{Rewrite: func(body []byte) []byte { return append(body, text...) }}
}

// Edit is a Fault that lets the Agent's credentials be changed: edit gets the
// answer's JSON object and takes keys away or gives them other values. It is
// of no use to an STS, whose answers are XML; use Fault.Rewrite.
func Edit(edit func(answer map[string]any)) *Fault {
	return &Fault{Rewrite: func(body []byte) []byte {
		var object map[string]any
		if json.Unmarshal(body, &object) != nil {
			return body
		}
		edit(object)
		body, err := json.Marshal(object)
		if err != nil {
			panic(name + ": Edit left what is no JSON: " + err.Error())
		}
		return body
	}}
}

// Without is an Edit that takes keys out of the answer.
func Without(keys ...string) *Fault {
	return Edit(func(answer map[string]any) {
		for _, key := range keys {
			delete(answer, key)
		}
	})
}

// AlreadyExpired is an Edit that gives credentials which expired d ago.
func AlreadyExpired(d time.Duration) *Fault {
	return Edit(func(answer map[string]any) {
		answer["Expiration"] = time.Now().Add(-d).UTC().Format(time.RFC3339)
	})
}
