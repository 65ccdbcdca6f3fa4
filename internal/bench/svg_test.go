package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// parse reads a picture as strictly as encoding/xml can, and returns its
// texts and its elements by class.
func parse(t *testing.T, picture []byte) (texts []string, elements map[string][]xml.StartElement) {
	t.Helper()
	elements = map[string][]xml.StartElement{}
	decoder := xml.NewDecoder(bytes.NewReader(picture))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts, elements
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.CharData:
			texts = append(texts, string(token))
		case xml.StartElement:
			class := attribute(token, "class")
			elements[class] = append(elements[class], token.Copy())
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func number(t *testing.T, e xml.StartElement, name string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(attribute(e, name), 64)
	require.NoError(t, err)
	return n
}

func TestChartHasABarForEachWhoIsMeasured(t *testing.T) {
	r := sample()
	picture, err := r.chart()
	require.NoError(t, err)
	texts, elements := parse(t, picture)
	ours, others := 0, 0
	for _, g := range r.groups() {
		assert.Contains(t, texts, g.title)
		for _, b := range g.bars {
			assert.Contains(t, texts, b.name)
			assert.Contains(t, texts, times(b.ratio))
			if b.ours {
				ours++
			} else {
				others++
			}
		}
	}
	assert.Equal(t, len(charted), ours)
	assert.Len(t, elements["ours"], ours+1, "and the legend")
	assert.Len(t, elements["other"], others+1, "and the legend")
}

func TestBarsAreAsLongAsTheLogarithmOfTheirRatio(t *testing.T) {
	r := sample()
	for i := range r.Rows {
		r.Rows[i].OfLimit = 2
		if r.Rows[i].Work == readFile {
			r.Rows[i].OfLimit = 8
		}
	}
	picture, err := r.chart()
	require.NoError(t, err)
	_, elements := parse(t, picture)
	two, eight := number(t, elements["ours"][1], "width"), number(t, elements["other"][1], "width")
	assert.InDelta(t, 3*two, eight, 0.5)
	for _, bar := range elements["other"] {
		assert.LessOrEqual(t, number(t, bar, "x")+number(t, bar, "width"), float64(right))
	}
}

func TestWhoIsAtTheLimitHasABarToSee(t *testing.T) {
	p := &picture{most: 10}
	p.bar(bar{name: "fast", ours: true, ratio: 0.97}, 0)
	assert.Contains(t, p.String(), `width="3.0"`)
	assert.Contains(t, p.String(), "0.97 ×")
}

func TestChartLeavesOutWhatWasNotMeasured(t *testing.T) {
	r := sample()
	r.Growths = nil
	for i := range r.Rows {
		if r.Rows[i].Work == readFile {
			r.Rows[i].OfLimit = 0
		}
	}
	picture, err := r.chart()
	require.NoError(t, err)
	texts, _ := parse(t, picture)
	assert.NotContains(t, texts, "os.ReadFile, unchecked")
	assert.NotContains(t, texts, "Have the token from memory, 100 goroutines")
	assert.Contains(t, texts, "Have the token from memory, one goroutine")
}

func TestEachChartedRowIsMeasured(t *testing.T) {
	for _, c := range charted {
		for _, e := range c.entries {
			assert.NotEmpty(t, named(e.work), e.work)
		}
		if c.crowd > 0 {
			assert.Contains(t, thorough.Goroutines, c.crowd)
			assert.Contains(t, quick.Goroutines, c.crowd)
		}
	}
}
