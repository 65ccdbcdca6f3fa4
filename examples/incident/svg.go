package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// Where things are in the picture, in pixels.
const (
	width    = 960
	labels   = 28  // left edge of the lanes' names
	left     = 276 // of the lanes
	right    = 844 // of the lanes
	marksY   = 118 // centre of the rotations' numbers
	lanesY   = 140 // top of the first lane
	laneStep = 54
	laneHigh = 34
	groupGap = 18 // between the others and podtoken
	textWide = 6.8
	footer   = 84 // under the last lane, for axis and legend
)

// The picture has a background of its own, so that its colours are good on
// light and dark pages. Red is hatched too, for those who see it as green.
const style = `
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #57606a }
.title { font-size: 20px; font-weight: 600; fill: #1f2328 }
.name { font-size: 14px; font-weight: 600; fill: #1f2328 }
.middle { text-anchor: middle }
.ongood, .onbad { fill: #fff; font-weight: 600; text-anchor: middle; paint-order: stroke; stroke-width: 6; stroke-linejoin: round }
.ongood { stroke: #1a7f37 } .onbad { stroke: #cf222e }
.good { fill: #1a7f37 } .bad { fill: #cf222e } .hatch { fill: url(#hatch) }
.number { fill: #fff; font-size: 11px; font-weight: 600; text-anchor: middle }
.disc { fill: #0969da }
.under { stroke: #fff; stroke-width: 4; stroke-opacity: 0.7 }
.rotation { stroke: #0969da; stroke-width: 1.5; stroke-dasharray: 4 3 }
.expiry { stroke: #1f2328; stroke-width: 2 }
.dead { fill: #1f2328; font-weight: 600 }
.axis { stroke: #8c959f }
.card { fill: #fff; stroke: #d0d7de }
`

const hatch = `<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<rect width="7" height="7" fill="#cf222e"/><rect width="2" height="7" fill="#a40e26"/></pattern>`

// drawSVG draws a timeline: one lane for each client over a common axis.
func drawSVG(t timeline) []byte {
	p := &picture{timeline: t}
	high := p.bottom() + footer
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f" role="img" aria-labelledby="title desc">`, width, high)
	p.add(`<title id="title">%s</title>`, heading)
	p.add(`<desc id="desc">%s</desc>`, escape(p.describe()))
	p.add(`<style>%s</style><defs>%s</defs>`, style, hatch)
	p.add(`<rect class="card" x="0.5" y="0.5" width="%d" height="%.0f" rx="10"/>`, width-1, high-1)
	p.text("title", labels, 40, heading)
	p.text("", labels, 62, fmt.Sprintf("Each client logs in every %d ms. Time is scaled: %s here are an hour on a cluster.",
		(t.lifetime/50).Milliseconds(), wholeSeconds(t.lifetime)))
	for i, l := range t.lanes {
		p.spans(l, p.laneTop(i))
	}
	p.rotations()
	p.expiryLine()
	for i, l := range t.lanes {
		p.words(l, p.laneTop(i))
	}
	p.axis()
	p.legend()
	p.add(`</svg>`)
	return p.Bytes()
}

const heading = "Logging in while the kubelet replaces the token"

// A picture is SVG text that is being written.
type picture struct {
	timeline
	bytes.Buffer
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

// x is where a time is on the axis.
func (p *picture) x(at time.Duration) float64 {
	return left + (right-left)*float64(at)/float64(p.length)
}

// laneTop leaves a gap where podtoken's lanes begin.
func (p *picture) laneTop(i int) float64 {
	y := float64(lanesY + i*laneStep)
	if i > 0 && p.lanes[min(i, len(p.lanes)-1)].podtoken {
		y += groupGap
	}
	return y
}

func (p *picture) bottom() float64 { return p.laneTop(len(p.lanes)-1) + laneHigh }

// A span is a time in which all of a client's logins ended alike.
type span struct {
	from, to time.Duration
	reason   string
}

// spansOf joins logins to spans. A span lasts until the next one begins.
func spansOf(l lane, end time.Duration) []span {
	var spans []span
	for _, login := range l.logins {
		last := len(spans) - 1
		if last >= 0 && spans[last].reason == login.reason {
			continue
		}
		if last >= 0 {
			spans[last].to = login.at
		}
		spans = append(spans, span{from: login.at, to: end, reason: login.reason})
	}
	return spans
}

func (p *picture) spans(l lane, y float64) {
	for _, s := range spansOf(l, p.now) {
		class := "good"
		if s.reason != "" {
			class = "hatch"
		}
		p.add(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="3"/>`, class, p.x(s.from), y, p.x(s.to)-p.x(s.from), laneHigh)
	}
}

// words labels a lane and its spans, where there is room.
func (p *picture) words(l lane, y float64) {
	p.text("name", labels, y+14, l.name)
	p.text("", labels, y+31, l.how)
	for _, s := range spansOf(l, p.now) {
		class, text := "ongood", "accepted"
		if s.reason != "" {
			class, text = "onbad", "rejected: "+s.reason
		}
		if from, to := p.x(s.from), p.x(s.to); to-from > textWide*float64(len(text)) {
			p.text(class, (from+to)/2, y+21.5, text)
		}
	}
	accepted, rejected, _ := l.count()
	p.count("good", y+14, accepted, "accepted")
	p.count("bad", y+31, rejected, "rejected")
}

// count gives a number its colour only if there is something to see.
func (p *picture) count(class string, y float64, n int, what string) {
	if n == 0 {
		class = ""
	}
	p.text(class, right+12, y, fmt.Sprintf("%d %s", n, what))
}

func (p *picture) rotations() {
	p.text("", labels, marksY+4, "the kubelet puts a new token in place")
	for i, at := range p.timeline.rotations {
		x := p.x(at)
		p.upright("rotation", x, marksY)
		p.add(`<circle class="disc" cx="%.1f" cy="%d" r="9"/>`, x, marksY)
		p.text("number", x, marksY+4, fmt.Sprint(i+1))
	}
}

// upright is a line through all lanes, on a lighter one that sets it off.
func (p *picture) upright(class string, x, top float64) {
	p.line("under", x, lanesY, x, p.bottom())
	p.line(class, x, top, x, p.bottom()+8)
}

func (p *picture) expiryLine() {
	x := p.x(p.expiry)
	p.upright("expiry", x, marksY-34)
	p.text("dead", x+7, marksY-24, "the first token expires")
}

// axis counts in seconds, and says at each lifetime what that stands for.
func (p *picture) axis() {
	y := p.bottom() + 14
	p.line("axis", left, y, right, y)
	p.text("middle", left, y+22, "0")
	for at := p.lifetime; at <= p.length; at += p.lifetime {
		p.line("axis", p.x(at), y, p.x(at), y+6)
		p.text("middle", p.x(at), y+22, fmt.Sprintf("%s = %d h", wholeSeconds(at), at/p.lifetime))
	}
}

func (p *picture) legend() {
	y := p.bottom() + 62
	for i, item := range []struct{ class, text string }{
		{"good", "login accepted"}, {"hatch", "login rejected"},
	} {
		x := float64(left + i*150)
		p.add(`<rect class="%s" x="%.1f" y="%.1f" width="22" height="12" rx="2"/>`, item.class, x, y-10)
		p.text("", x+30, y, item.text)
	}
	x := float64(left + 300)
	p.line("rotation", x, y-4, x+22, y-4)
	p.text("", x+30, y, "token replaced, at 80 % of its life")
}

// describe says for those who hear the picture what it shows.
func (p *picture) describe() string {
	var parts []string
	for _, l := range p.lanes {
		accepted, rejected, _ := l.count()
		parts = append(parts, fmt.Sprintf("%s: %d logins accepted, %d rejected", l.name, accepted, rejected))
	}
	return fmt.Sprintf("The token was replaced %d times. %s.", len(p.timeline.rotations), strings.Join(parts, "; "))
}

func wholeSeconds(d time.Duration) string { return fmt.Sprintf("%d s", d/time.Second) }
