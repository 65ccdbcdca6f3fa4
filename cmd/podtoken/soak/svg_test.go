package soak_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podtoken/podtoken/cmd/podtoken/party"
	"github.com/podtoken/podtoken/cmd/podtoken/soak"
)

// drawn checks the picture's form, and returns its elements by class.
func drawn(t *testing.T, v soak.Verdict) map[string]int {
	t.Helper()
	classes := map[string]int{}
	total := 0
	decoder := xml.NewDecoder(bytes.NewReader(v.SVG()))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err, "well-formed")
		if element, ok := token.(xml.StartElement); ok {
			total++
			for _, a := range element.Attr {
				if a.Name.Local == "class" {
					classes[a.Value]++
				}
			}
		}
	}
	assert.Less(t, total, 600)
	return classes
}

func TestPicture(t *testing.T) {
	const legend = 1
	inBubble(t, "of two rotations with an outage and rejections", openbao(), func(t *testing.T, b *bed) {
		time.AfterFunc(20*time.Minute+time.Second, func() { b.server.SetDown(true) })
		time.AfterFunc(30*time.Minute+time.Second, func() { b.server.SetDown(false) })
		v := b.run(t.Context(), b.soak())
		classes := drawn(t, v)
		assert.Equal(t, 2+legend, classes["o0"], "before and after")
		assert.Equal(t, 0+legend, classes["o1"])
		assert.Equal(t, 1+legend, classes["o2"])
		assert.Equal(t, 2, classes["rotation"])
		assert.Equal(t, 2, classes["number"])
		assert.Equal(t, 1+legend, classes["expiry"], "the second token still lives")
		text := string(v.SVG())
		assert.Contains(t, text, "Logins while the kubelet rotates the token: failed")
		assert.Contains(t, text, "60 unreachable. The token was replaced 2 times. The verdict is: failed.</desc>")
	})
	inBubble(t, "of a soak that ended at once", openbao(), func(t *testing.T, b *bed) {
		b.server.DeleteRole("kubernetes", "web")
		classes := drawn(t, b.run(t.Context(), b.soak()))
		assert.Equal(t, 1+legend, classes["o1"])
	})
	inBubble(t, "of a party with a hostile name", openbao(), func(t *testing.T, b *bed) {
		s := b.soak()
		s.Party, s.For = hostile{b.party()}, time.Minute
		v := b.run(t.Context(), s)
		drawn(t, v)
		assert.NotContains(t, string(v.SVG()), "<script>")
		assert.NotContains(t, string(v.SVG()), "\x1b")
	})
}

type hostile struct{ party.Party }

func (hostile) String() string { return "</text><script>\x1b[31m\x00" }
