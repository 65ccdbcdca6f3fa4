package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parse reads a picture as strictly as encoding/xml can, and returns its
// texts and its elements by class.
func parse(t *testing.T, picture []byte) (texts []string, elements map[string][]xml.StartElement) {
	elements = map[string][]xml.StartElement{}
	dec := xml.NewDecoder(bytes.NewReader(picture))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return texts, elements
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.CharData:
			texts = append(texts, string(token))
		case xml.StartElement:
			class := attr(token, "class")
			elements[class] = append(elements[class], token.Copy())
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func TestPictureShowsEveryLane(t *testing.T) {
	seen := sample()
	texts, _ := parse(t, drawSVG(seen))
	for _, l := range seen.lanes {
		assert.Contains(t, texts, l.name)
		assert.Contains(t, texts, l.how)
	}
	for _, want := range []string{
		"rejected: token is expired", "50 accepted", "130 rejected", "180 accepted", "0 rejected",
		"the first token expires", "0", "5 s = 1 h", "15 s = 3 h", "login accepted", "login rejected",
	} {
		assert.Contains(t, texts, want)
	}
}

func TestPictureShowsEveryRotation(t *testing.T) {
	texts, elements := parse(t, drawSVG(sample()))
	assert.Len(t, elements["disc"], 4)
	for _, number := range []string{"1", "2", "3", "4"} {
		assert.Contains(t, texts, number)
	}
	assert.Len(t, elements["expiry"], 1)
}

func TestOneRefusalIsSeen(t *testing.T) {
	seen := sample()
	_, before := parse(t, drawSVG(seen))
	seen.lanes[2].logins[90].reason = "token is expired"
	_, after := parse(t, drawSVG(seen))
	require.Len(t, after["hatch"], len(before["hatch"])+1)
	assert.Len(t, after["good"], len(before["good"])+1, "the lane goes on after it")
	for _, e := range after["hatch"] {
		wide, err := strconv.ParseFloat(attr(e, "width"), 64)
		require.NoError(t, err)
		assert.Greater(t, wide, 2.0)
	}
}

func TestPictureIsDeterministic(t *testing.T) {
	assert.Equal(t, string(drawSVG(sample())), string(drawSVG(sample())))
	assert.NotContains(t, string(drawSVG(sample())), "%!")
}

func TestPictureOfNothing(t *testing.T) {
	_, elements := parse(t, drawSVG(timeline{lifetime: lifetime, length: 4 * lifetime}))
	assert.Empty(t, elements["disc"])
}

func TestSpans(t *testing.T) {
	const s = time.Second
	logins := []login{{at: 0}, {at: 1 * s}, {at: 2 * s, reason: "a"}, {at: 3 * s, reason: "b"}, {at: 4 * s}}
	assert.Equal(t, []span{{0, 2 * s, ""}, {2 * s, 3 * s, "a"}, {3 * s, 4 * s, "b"}, {4 * s, 5 * s, ""}},
		spansOf(lane{logins: logins}, 5*s))
	assert.Empty(t, spansOf(lane{}, s))
}
