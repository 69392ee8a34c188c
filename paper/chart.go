package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a picture of panels in rows.
type Chart struct {
	Name    string // of the file; "" is the item's
	Caption string
	Panels  []*panel
	Columns int // panels in a row
}

// Sizes of a panel.
const (
	panelWidth  = 3.3 * vg.Inch
	panelHeight = 2.7 * vg.Inch
)

// Colours that people with any kind of sight can tell apart (Okabe and Ito).
var (
	blue   = color.NRGBA{0, 114, 178, 255}
	orange = color.NRGBA{230, 159, 0, 255}
	green  = color.NRGBA{0, 158, 115, 255}
	red    = color.NRGBA{213, 94, 0, 255}
	purple = color.NRGBA{204, 121, 167, 255}
	grey   = color.NRGBA{110, 110, 110, 255}
	black  = color.NRGBA{0, 0, 0, 255}
)

func pale(c color.NRGBA, alpha uint8) color.NRGBA { c.A = alpha; return c }

// panel is one system of axes.
type panel struct {
	*plot.Plot
	named int  // entries of the legend
	fixed bool // the y axis is as it was set
	err   error
}

func newPanel(title, x, y string) *panel {
	p := plot.New()
	for _, f := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font,
	} {
		f.Variant, f.Size = "Sans", vg.Points(9)
	}
	p.Title.TextStyle.Font.Size = vg.Points(10)
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top = true
	p.Legend.ThumbnailWidth = vg.Points(16)
	p.Legend.Padding = vg.Points(1)
	return &panel{Plot: p}
}

// logX and logY make an axis logarithmic.
func (p *panel) logX() *panel {
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	return p
}

func (p *panel) logY() *panel {
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	return p
}

// decades marks a logarithmic axis: powers of ten, and some multiples of these if they are few.
type decades struct{}

func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	labelled := []float64{1}
	switch ratio := high / low; {
	case ratio < 10:
		labelled = []float64{1, 2, 3, 4, 6, 8}
	case ratio < 300:
		labelled = []float64{1, 2, 5}
	}
	for k := math.Floor(math.Log10(low)); k <= math.Log10(high); k++ {
		for m := 1.0; m < 10; m++ {
			at := m * math.Pow(10, k)
			if at < low*(1-1e-9) || at > high*(1+1e-9) {
				continue
			}
			label := ""
			if slices.Contains(labelled, m) {
				label = strconv.FormatFloat(at, 'g', 6, 64)
			}
			ticks = append(ticks, plot.Tick{Value: at, Label: label})
		}
	}
	return ticks
}

// names puts names in place of the numbers 0, 1, … of the x axis.
func (p *panel) names(names ...string) *panel {
	p.NominalX(names...)
	return p
}

func points(x, y []float64) plotter.XYs {
	xy := make(plotter.XYs, len(x))
	for i := range x {
		xy[i] = plotter.XY{X: x[i], Y: y[i]}
	}
	return xy
}

// call puts what was drawn into the legend; no name, no entry.
func (p *panel) call(name string, what plot.Thumbnailer) {
	if name != "" {
		p.named++
		p.Legend.Add(name, what)
	}
}

// yAxis fixes the ends of the y axis.
func (p *panel) yAxis(low, high float64) *panel {
	p.Y.Min, p.Y.Max, p.fixed = low, high, true
	return p
}

// makeRoom keeps the legend off what is drawn.
func (p *panel) makeRoom() {
	if p.fixed || p.named == 0 {
		return
	}
	p.fixed = true
	const line = .085 // of the height
	free := float64(p.named) * line / (1 - float64(p.named)*line)
	if _, log := p.Y.Scale.(plot.LogScale); log {
		p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, free)
	} else {
		p.Y.Max += free * (p.Y.Max - p.Y.Min)
	}
}

func (p *panel) keep(err error) {
	if p.err == nil {
		p.err = err
	}
}

// line draws a line; name is for the legend and may be empty.
func (p *panel) line(name string, x, y []float64, c color.NRGBA, dashes ...vg.Length) *panel {
	l, err := plotter.NewLine(points(x, y))
	if err != nil {
		p.keep(err)
		return p
	}
	l.Color, l.Width, l.Dashes = c, vg.Points(1.4), dashes
	p.Add(l)
	p.call(name, l)
	return p
}

// dots draws points.
func (p *panel) dots(name string, x, y []float64, c color.NRGBA, radius vg.Length) *panel {
	s, err := plotter.NewScatter(points(x, y))
	if err != nil {
		p.keep(err)
		return p
	}
	s.GlyphStyle = draw.GlyphStyle{Color: c, Radius: radius, Shape: draw.CircleGlyph{}}
	p.Add(s)
	p.call(name, s)
	return p
}

// band fills between two lines.
func (p *panel) band(name string, x, low, high []float64, c color.NRGBA) *panel {
	edge := points(x, high)
	for i, v := range slices.Backward(x) {
		edge = append(edge, plotter.XY{X: v, Y: low[i]})
	}
	fill, err := plotter.NewPolygon(edge)
	if err != nil {
		p.keep(err)
		return p
	}
	fill.Color, fill.LineStyle.Width = c, 0
	p.Add(fill)
	p.call(name, fill)
	return p
}

// whiskers draws means with their standard deviations.
func (p *panel) whiskers(name string, x, mean, sd []float64, c color.NRGBA) {
	type errs struct {
		plotter.XYs
		plotter.YErrors
	}
	e := errs{XYs: points(x, mean)}
	for _, s := range sd {
		if math.IsNaN(s) {
			s = 0
		}
		e.YErrors = append(e.YErrors, struct{ Low, High float64 }{s, s})
	}
	bars, err := plotter.NewYErrorBars(e)
	if err != nil {
		p.keep(err)
		return
	}
	bars.Color = c
	p.Add(bars)
	p.dots(name, x, mean, c, vg.Points(2.5))
}

// heat draws a square of size × size values, the first row on top, low ones dark.
func (p *panel) heat(values []float64, size int) *panel {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	for i, v := range values {
		share := (v - low) / max(high-low, 1e-12)
		x, y := float64(i%size), float64(size-1-i/size)
		square, err := plotter.NewPolygon(plotter.XYs{{X: x, Y: y}, {X: x + 1, Y: y}, {X: x + 1, Y: y + 1}, {X: x, Y: y + 1}})
		if err != nil {
			p.keep(err)
			return p
		}
		square.Color, square.LineStyle.Width = shade(share), 0
		p.Add(square)
	}
	p.HideAxes()
	return p
}

// shade goes from dark blue over green to yellow.
func shade(share float64) color.NRGBA {
	stops := []color.NRGBA{{68, 1, 84, 255}, {59, 82, 139, 255}, {33, 145, 140, 255}, {94, 201, 98, 255}, {253, 231, 37, 255}}
	at := share * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	mix := func(a, b uint8) uint8 { return uint8(float64(a) + (at-float64(i))*(float64(b)-float64(a))) }
	a, b := stops[i], stops[i+1]
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// size of the whole picture.
func (c Chart) size() (rows int, width, height vg.Length) {
	rows = (len(c.Panels) + c.Columns - 1) / c.Columns
	return rows, vg.Length(c.Columns) * panelWidth, vg.Length(rows) * panelHeight
}

func (c Chart) drawOn(canvas draw.Canvas) error {
	rows, _, _ := c.size()
	grid := make([][]*plot.Plot, rows)
	for r := range grid {
		grid[r] = make([]*plot.Plot, c.Columns)
	}
	for i, p := range c.Panels {
		if p.err != nil {
			return fmt.Errorf("panel %q: %w", p.Title.Text, p.err)
		}
		p.makeRoom()
		grid[i/c.Columns][i%c.Columns] = p.Plot
	}
	tiles := draw.Tiles{Rows: rows, Cols: c.Columns, PadX: vg.Points(12), PadY: vg.Points(12), PadTop: vg.Points(4), PadBottom: vg.Points(4), PadLeft: vg.Points(4), PadRight: vg.Points(8)}
	canvases := plot.Align(grid, tiles, canvas)
	for r := range grid {
		for k, p := range grid[r] {
			if p != nil {
				p.Draw(canvases[r][k])
			}
		}
	}
	return nil
}

func (c Chart) svg() ([]byte, error) {
	_, w, h := c.size()
	canvas := vgsvg.New(w, h)
	if err := c.drawOn(draw.New(canvas)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}

func (c Chart) png() ([]byte, error) {
	_, w, h := c.size()
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(110))
	if err := c.drawOn(draw.New(canvas)); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&b)
	return b.Bytes(), err
}

// seriesColour is the colour of a series by its number.
func seriesColour(i int) color.NRGBA {
	return []color.NRGBA{red, blue, green, orange, purple, grey, black}[i%7]
}
