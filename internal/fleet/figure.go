package fleet

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours of Okabe and Ito, which the colour-blind tell apart.
var (
	blue   = color.RGBA{0, 114, 178, 255}
	orange = color.RGBA{213, 94, 0, 255}
	sky    = color.RGBA{86, 180, 233, 255}
	grey   = color.RGBA{110, 110, 110, 255}
	shade  = color.RGBA{232, 232, 232, 255}
)

// curve is a line of a panel: requests over time, in multiples of what these
// pods need if they are spread evenly.
type curve struct {
	label string
	color color.Color
	width vg.Length
	xys   plotter.XYs
}

// panel is a picture of one client in one story.
type panel struct {
	title     string
	x         string
	from, to  float64 // of the x axis
	every     float64 // between two ticks of it
	shaded    *Span   // a second for each unit of the x axis
	unlimited bool    // the server has no capacity to be shown
	curves    []curve
}

// over makes a curve of counts: the mean of each window of seconds, against
// the time since zero in the given unit.
func over(counts []uint32, in Span, window int, zero, unit time.Duration, scale float64) plotter.XYs {
	var xys plotter.XYs
	for i, n := range sums(counts, in, window) {
		at := in.From + time.Duration(i*window)*time.Second + time.Duration(window)*time.Second/2
		xys = append(xys, plotter.XY{X: float64(at-zero) / float64(unit), Y: max(lowest, n/float64(window)/scale)})
	}
	return xys
}

// The y axis is the same in all panels of all figures. What is less than its
// lowest value, nothing included, is drawn there.
const (
	lowest  = 0.05
	highest = 5000
)

// drawPanels writes an SVG with the panels below one another, on a white card,
// so that it can be read on dark pages too.
func drawPanels(w io.Writer, title string, panels []panel) error {
	const width, top, high = 22 * vg.Centimeter, 1.8 * vg.Centimeter, 4.6 * vg.Centimeter
	canvas := vgsvg.New(width, top+high*vg.Length(len(panels)))
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	head := draw.TextStyle{Color: color.Black, Font: plot.DefaultFont, Handler: plot.DefaultTextHandler}
	head.Font.Size, head.Font.Variant = 15, "Sans"
	all.FillText(head, vg.Point{X: 0.6 * vg.Centimeter, Y: all.Max.Y - 0.8*vg.Centimeter}, title)
	head.Font.Size = 10
	legend(all, head, panels[0])

	body := draw.Crop(all, 0.4*vg.Centimeter, -0.5*vg.Centimeter, 0.3*vg.Centimeter, -top)
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: 0.35 * vg.Centimeter}
	for i, p := range panels {
		one, err := p.plot()
		if err != nil {
			return err
		}
		one.Draw(tiles.At(body, 0, i)) // all have the same labels, hence the same margins
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	// A font that is not everywhere, and a picture that says what it is.
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;")
	text = strings.Replace(text, "<g transform", "<title>"+title+"</title>\n<g transform", 1)
	_, err := io.WriteString(w, text)
	return err
}

// legend says below the title what the lines are.
func legend(all draw.Canvas, style draw.TextStyle, p panel) {
	entries := append([]curve{{label: "even load", color: grey, width: 1}}, p.curves...)
	if !p.unlimited {
		entries = append(entries, curve{label: "the server's capacity", color: grey, width: 1})
	}
	at := vg.Point{X: 0.6 * vg.Centimeter, Y: all.Max.Y - 1.4*vg.Centimeter}
	for i, e := range entries {
		line := draw.LineStyle{Color: e.color, Width: 2 * e.width}
		if e.color == grey {
			line.Width, line.Dashes = 1, dashes([]float64{1, margin}[min(i, 1)])
		}
		all.StrokeLine2(line, at.X, at.Y+3, at.X+22, at.Y+3)
		all.FillText(style, vg.Point{X: at.X + 27, Y: at.Y}, e.label)
		at.X += 45 + style.Width(e.label)
	}
	all.FillText(style, vg.Point{X: at.X, Y: at.Y}, "up: requests as multiples of the even load")
}

// dashes are those of the line at a level.
func dashes(level float64) []vg.Length { return []vg.Length{vg.Length(level), 3} }

func (p panel) ticks() (ticks []plot.Tick) {
	for x := p.from; x <= p.to; x += p.every {
		ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprint(x)})
	}
	return ticks
}

func (p panel) plot() (*plot.Plot, error) {
	one := plot.New()
	for _, font := range []*vg.Length{
		&one.X.Label.TextStyle.Font.Size, &one.X.Tick.Label.Font.Size, &one.Y.Tick.Label.Font.Size,
	} {
		*font = 10
	}
	for _, style := range []*draw.TextStyle{
		&one.Title.TextStyle, &one.X.Label.TextStyle, &one.X.Tick.Label, &one.Y.Tick.Label,
	} {
		style.Font.Variant = "Sans"
	}
	one.Title.Text, one.Title.TextStyle.Font.Size = p.title, 12
	one.X.Label.Text = p.x // the y axis' is in the legend: on a log scale gonum keeps space for it at the wrong place
	one.X.Min, one.X.Max = p.from, p.to
	one.Y.Min, one.Y.Max = lowest, highest
	one.Y.Scale, one.Y.Tick.Marker = plot.LogScale{}, plot.ConstantTicks([]plot.Tick{
		{Value: 0.05, Label: "0"}, {Value: 1, Label: "1"}, {Value: 5, Label: "5"}, {Value: 10}, {Value: 100, Label: "100"}, {Value: 1000, Label: "1000"},
	})
	one.X.Tick.Marker = plot.ConstantTicks(p.ticks())
	return one, p.fill(one)
}

// fill adds what the panel shows.
func (p panel) fill(one *plot.Plot) error {
	if p.shaded != nil {
		from, to := p.shaded.From.Seconds(), p.shaded.To.Seconds()
		area, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: lowest}, {X: to, Y: lowest}, {X: to, Y: highest}, {X: from, Y: highest}})
		if err != nil {
			return err
		}
		area.Color, area.LineStyle.Width = shade, 0
		one.Add(area)
	}
	for _, level := range []float64{1, margin} {
		if level == margin && p.unlimited {
			continue
		}
		line, err := plotter.NewLine(plotter.XYs{{X: p.from, Y: level}, {X: p.to, Y: level}})
		if err != nil {
			return err
		}
		line.Color, line.Dashes, line.Width = grey, dashes(level), 1
		one.Add(line)
	}
	for _, c := range p.curves {
		line, err := plotter.NewLine(c.xys)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.StepStyle = c.color, c.width, plotter.MidStep
		one.Add(line)
	}
	return nil
}
