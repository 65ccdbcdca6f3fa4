package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Where things are in the picture, in pixels.
const (
	width     = 900
	margin    = 28
	left      = 250 // of the bars
	right     = 740 // of the axis
	top       = 116 // of the first group
	barStep   = 21
	barHigh   = 15
	titleHigh = 26 // of a group, above its bars
	groupGap  = 16
)

// The picture has a background of its own, so that its colours are good on
// light and dark pages. Blue and orange differ for all eyes, and the bars of
// others are hatched too.
const style = `
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #57606a }
.title { font-size: 20px; font-weight: 600; fill: #1f2328 }
.group { font-size: 13px; font-weight: 600; fill: #1f2328 }
.end { text-anchor: end } .middle { text-anchor: middle }
.us { text-anchor: end; fill: #1f2328; font-weight: 600 }
.value { fill: #1f2328 } .worth { fill: #1f2328; font-weight: 600 }
.ours { fill: #0969da } .other { fill: url(#hatch) }
.grid { stroke: #d8dee4 } .limit { stroke: #1f2328; stroke-width: 2 }
.card { fill: #fff; stroke: #d0d7de }
`

const hatch = `<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<rect width="7" height="7" fill="#e8a33d"/><rect width="2.5" height="7" fill="#bc6c00"/></pattern>`

const heading = "How far from what the system itself charges"

// chart draws one bar for each who does a piece of work: how many times the
// limit it takes, on a logarithmic axis.
func (r *Report) chart() ([]byte, error) {
	groups := r.groups()
	p := &picture{most: most(groups)}
	p.bottom = top
	for _, g := range groups {
		p.bottom += titleHigh + float64(len(g.bars)*barStep) + groupGap
	}
	high := p.bottom + 62
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f" role="img" aria-labelledby="title desc">`, width, high)
	p.add(`<title id="title">%s</title>`, heading)
	p.add(`<desc id="desc">%s</desc>`, escape(describe(groups)))
	p.add(`<style>%s</style><defs>%s</defs>`, style, hatch)
	p.add(`<rect class="card" x="0.5" y="0.5" width="%d" height="%.0f" rx="10"/>`, width-1, high-1)
	p.text("title", margin, 40, heading)
	p.text("", margin, 62, fmt.Sprintf("Time of one call as a multiple of its limit: 1 is a program that does nothing else. %s, %d CPUs.",
		strings.Replace(r.Go, "go", "Go ", 1), r.CPUs))
	p.legend()
	p.axis()
	p.line("limit", left, top, left, p.bottom+6)
	y := float64(top)
	for _, g := range groups {
		y = p.group(g, y)
	}
	p.add(`</svg>`)
	return p.Bytes(), nil
}

// A picture is SVG text that is being written.
type picture struct {
	bytes.Buffer
	most   float64 // end of the axis
	bottom float64
}

func (p *picture) add(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *picture) text(class string, x, y float64, s string) {
	p.add(`<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, escape(s))
}

func (p *picture) line(class string, x1, y1, x2, y2 float64) {
	p.add(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}

// most is the first tick beyond all bars.
func most(groups []group) float64 {
	longest := 2.0
	for _, g := range groups {
		for _, b := range g.bars {
			longest = max(longest, b.ratio)
		}
	}
	for _, t := range ticks {
		if t >= longest {
			return t
		}
	}
	return longest
}

var ticks = []float64{1, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000}

// x is where a multiple is on the axis.
func (p *picture) x(ratio float64) float64 {
	return left + (right-left)*math.Log(max(ratio, 1))/math.Log(p.most)
}

func (p *picture) axis() {
	for _, t := range ticks {
		if t > p.most {
			break
		}
		p.line("grid", p.x(t), top, p.x(t), p.bottom+6)
		p.text("middle", p.x(t), p.bottom+24, fmt.Sprintf("%g ×", t))
	}
	p.text("middle", left, p.bottom+44, "the limit")
	p.text("end", right, p.bottom+44, "on a logarithmic axis")
}

func (p *picture) group(g group, y float64) float64 {
	p.add(`<rect x="%d" y="%.1f" width="%d" height="20" fill="#fff"/>`, margin, y, width-2*margin)
	p.text("group", margin, y+14, g.title)
	p.text("end", width-margin, y+14, fmt.Sprintf("limit: %s, %s", g.limit, short(g.nanos)))
	y += titleHigh
	for _, b := range g.bars {
		p.bar(b, y)
		y += barStep
	}
	return y + groupGap
}

func (p *picture) bar(b bar, y float64) {
	label, class, value := "end", "other", "value"
	if b.ours {
		label, class, value = "us", "ours", "worth"
	}
	end := max(p.x(b.ratio), left+3) // to be seen, also at the limit
	p.text(label, left-10, y+12, b.name)
	p.add(`<rect class="%s" x="%d" y="%.1f" width="%.1f" height="%d"/>`, class, left, y, end-left, barHigh)
	p.add(`<text x="%.1f" y="%.1f"><tspan class="%s">%s</tspan> (%s)</text>`, end+8, y+12, value, times(b.ratio), short(b.nanos))
}

func (p *picture) legend() {
	for i, item := range []struct{ class, text string }{{"ours", "podtoken"}, {"other", "others"}} {
		x := float64(margin + i*120)
		p.add(`<rect class="%s" x="%.1f" y="80" width="22" height="12"/>`, item.class, x)
		p.text("", x+30, 90.5, item.text)
	}
}
