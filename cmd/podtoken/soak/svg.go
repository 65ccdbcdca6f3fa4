package soak

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
	left     = 178 // of the lanes
	right    = 852 // of the lanes
	marksTop = 112
	lanesTop = 176
	laneStep = 32
	laneHigh = 22
	bottom   = lanesTop + len(lanes)*laneStep
	height   = bottom + 92
)

// The picture has a background of its own, so that its colours are good on
// light and dark pages. What failed is hatched, each outcome in its own way, for
// those who do not tell the colours apart.
const style = `
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #57606a }
.title { font-size: 20px; font-weight: 600; fill: #1f2328 }
.name { font-size: 13px; font-weight: 600; fill: #1f2328 }
.middle { text-anchor: middle }
.o0 { fill: #1a7f37 } .o1 { fill: url(#rejected) } .o2 { fill: url(#unreachable) } .o3 { fill: url(#notsent) }
.lane { fill: #f6f8fa }
.number { fill: #fff; font-size: 10px; font-weight: 600; text-anchor: middle }
.disc { fill: #0969da }
.rotation { stroke: #0969da; stroke-width: 1.5; stroke-dasharray: 4 3 }
.under { stroke: #fff; stroke-width: 4; stroke-opacity: 0.7 }
.expiry { stroke: #1f2328; stroke-width: 2; fill: none }
.axis { stroke: #8c959f }
.card { fill: #fff; stroke: #d0d7de }
`

const patterns = `<pattern id="rejected" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<rect width="7" height="7" fill="#cf222e"/><rect width="2" height="7" fill="#82071e"/></pattern>` +
	`<pattern id="unreachable" width="7" height="7" patternUnits="userSpaceOnUse">` +
	`<rect width="7" height="7" fill="#d4a72c"/><rect width="7" height="2" fill="#7d4e00"/></pattern>` +
	`<pattern id="notsent" width="6" height="6" patternUnits="userSpaceOnUse">` +
	`<rect width="6" height="6" fill="#8c959f"/><rect width="2" height="6" fill="#32383f"/></pattern>`

// SVG is a timeline of the soak as a picture: a lane for each outcome of a
// login, and marks for rotations and expiries. It has some hundred elements at
// most, however long the soak was.
func (v Verdict) SVG() []byte {
	p := &picture{Verdict: v, length: max(time.Millisecond, v.Ended.Sub(v.Began))}
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-labelledby="title desc">`, width, height)
	p.add(`<title id="title">%s</title>`, heading)
	p.add(`<desc id="desc">%s</desc>`, escape(p.describe()))
	p.add(`<style>%s</style><defs>%s</defs>`, style, patterns)
	p.add(`<rect class="card" x="0.5" y="0.5" width="%d" height="%d" rx="10"/>`, width-1, height-1)
	p.text("title", labels, 40, heading+": "+p.word())
	p.text("", labels, 62, fitting(v.Party))
	p.text("", labels, 80, v.during())
	for i := range lanes {
		p.lane(i)
	}
	p.marks()
	p.axis()
	p.legend()
	p.add(`</svg>`)
	return p.Bytes()
}

const heading = "Logins while the kubelet rotates the token"

// picture is SVG text that is being written.
type picture struct {
	Verdict
	length time.Duration
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

// fitting is text that fits the picture's width.
func fitting(s string) string {
	const most = 125
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

func (p *picture) word() string {
	switch {
	case p.Passed:
		return "passed"
	case p.count(Failed) > 0:
		return string(Failed)
	}
	return string(NotYet)
}

// describe says for those who hear the picture what it shows.
func (p *picture) describe() string {
	return fmt.Sprintf("%s. %s. The token was replaced %s. The verdict is: %s.", p.during(), p.loginCounts(), count(p.Rotated, "time"), p.word())
}

// x is where a time after the beginning is on the axis.
func (p *picture) x(at time.Duration) float64 {
	return left + (right-left)*min(1, float64(at)/float64(p.length))
}

// start is where a cell begins, and middle where marks of it are.
func (p *picture) start(i int) float64 { return p.x(time.Duration(i) * p.timeline.width) }
func (p *picture) middle(i int) float64 {
	return (p.start(i) + p.start(i+1)) / 2
}

// lane draws one bar for cells in a row that have logins of an outcome.
func (p *picture) lane(i int) {
	y := float64(lanesTop + i*laneStep)
	p.text("name", labels, y+15.5, string(lanes[i]))
	p.add(`<rect class="lane" x="%d" y="%.1f" width="%d" height="%d" rx="3"/>`, left, y, right-left, laneHigh)
	cells := p.timeline.cells
	for from := 0; from < len(cells); {
		to := from
		for to < len(cells) && cells[to].logins[i] > 0 {
			to++
		}
		if to > from {
			p.add(`<rect class="o%d" x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2"/>`, i, p.start(from), y, max(1.5, p.start(to)-p.start(from)), laneHigh)
		}
		from = to + 1
	}
	p.text("", right+12, y+15.5, fmt.Sprint(p.Logins[lanes[i]]))
}

// crowded is how many rotations leave no room for their lines.
const crowded = 30

// marks draws rotations and expiries above the lanes.
func (p *picture) marks() {
	p.text("name", labels, marksTop+14, "rotations")
	p.text("name", labels, marksTop+40, "expiries")
	p.text("", right+12, marksTop+14, fmt.Sprint(p.Rotated))
	number := 0
	for i, c := range p.timeline.cells {
		if c.rotations > 0 {
			number += c.rotations
			p.rotation(p.middle(i), number)
		}
		if c.expiries > 0 {
			x := p.middle(i)
			p.add(`<path class="expiry" d="M%.1f %d l8 8 m-8 0 l8 -8"/>`, x-4, marksTop+32)
		}
	}
}

func (p *picture) rotation(x float64, number int) {
	if p.Rotated > crowded {
		p.add(`<circle class="disc" cx="%.1f" cy="%d" r="2"/>`, x, marksTop+10)
		return
	}
	p.line("under", x, lanesTop, x, float64(bottom))
	p.line("rotation", x, marksTop+10, x, float64(bottom))
	p.add(`<circle class="disc" cx="%.1f" cy="%d" r="8"/>`, x, marksTop+10)
	p.text("number", x, marksTop+13.5, fmt.Sprint(number))
}

// steps are what an axis counts in.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

// axis counts from the beginning.
func (p *picture) axis() {
	const most = 9
	step := steps[0]
	for _, s := range steps {
		if step = s; p.length/s < most {
			break
		}
	}
	for p.length/step >= most {
		step *= 2
	}
	y := float64(bottom + 4)
	p.line("axis", left, y, right, y)
	for at := time.Duration(0); at <= p.length; at += step {
		p.line("axis", p.x(at), y, p.x(at), y+6)
		p.text("middle", p.x(at), y+21, since(at))
	}
}

// since is short, and counts in days where that is a whole number of them.
func since(at time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case at == 0:
		return "0"
	case at >= 3*day && at%day == 0:
		return fmt.Sprintf("%d days", at/day)
	}
	return short(at)
}

func (p *picture) legend() {
	y := float64(bottom + 62)
	x := float64(labels)
	for i, text := range []string{"login accepted", "rejected", "no answer", "no valid token to send"} {
		p.add(`<rect class="o%d" x="%.1f" y="%.1f" width="22" height="12" rx="2"/>`, i, x, y-10)
		p.text("", x+30, y, text)
		x += 50 + 6.8*float64(len(text))
	}
	p.add(`<circle class="disc" cx="%.1f" cy="%.1f" r="6"/>`, x+6, y-4)
	p.text("", x+20, y, "token replaced")
	x += 128
	p.add(`<path class="expiry" d="M%.1f %.1f l8 8 m-8 0 l8 -8"/>`, x, y-8)
	p.text("", x+16, y, "a replaced token's expiry")
}
