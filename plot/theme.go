package plot

import (
	"bytes"
	"html"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// theme holds the colours of a picture.
type theme struct{ background, ink, small, faint, up, down, missing color.NRGBA }

// Up and down are Okabe and Ito's vermilion and blue, which are distinct for colour-blind people.
func themeOf(o Options) theme {
	t := theme{
		background: color.NRGBA{255, 255, 255, 255}, ink: color.NRGBA{30, 30, 30, 255}, small: color.NRGBA{95, 95, 95, 255}, faint: color.NRGBA{215, 215, 215, 255},
		up: color.NRGBA{213, 94, 0, 255}, down: color.NRGBA{0, 114, 178, 255}, missing: color.NRGBA{150, 150, 150, 255},
	}
	if o.Dark {
		t.background, t.ink, t.faint = color.NRGBA{24, 26, 30, 255}, color.NRGBA{230, 230, 230, 255}, color.NRGBA{62, 66, 74, 255}
		t.small = color.NRGBA{170, 170, 170, 255}
		t.up, t.down = color.NRGBA{240, 140, 60, 255}, color.NRGBA{86, 180, 233, 255}
	}
	return t
}

// sign returns the colour of raising or lowering.
func (t theme) sign(x float64) color.NRGBA {
	if x < 0 {
		return t.down
	}
	return t.up
}

// ramp returns the colour for a cell's position among the values of its column, from low to high.
func (t theme) ramp(share float64) color.NRGBA {
	middle := color.NRGBA{186, 130, 180, 255}
	if share < .5 {
		return mix(t.down, middle, 2*share)
	}
	return mix(middle, t.up, 2*share-1)
}

// diverging is faint at 0 and the sign's colour at ∓1.
func (t theme) diverging(x float64) color.NRGBA {
	return mix(t.background, t.sign(x), math.Min(1, math.Abs(x)))
}

// on returns the text colour on a cell: ink or background, whichever has more contrast.
func (t theme) on(cell color.NRGBA) color.NRGBA {
	if contrast(cell, t.background) > contrast(cell, t.ink) {
		return t.background
	}
	return t.ink
}

// contrast returns the contrast of two colours, 1 to 21, as WCAG defines it.
func contrast(a, b color.NRGBA) float64 {
	const glare = .05
	x, y := luminance(a)+glare, luminance(b)+glare
	return math.Max(x, y) / math.Min(x, y)
}

// luminance returns the brightness of a colour, 0 to 1, as WCAG defines it.
func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= .04045 {
			return x / 12.92
		}
		return math.Pow((x+.055)/1.055, 2.4)
	}
	return .2126*linear(c.R) + .7152*linear(c.G) + .0722*linear(c.B)
}

func mix(a, b color.NRGBA, share float64) color.NRGBA {
	at := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + share*(float64(b)-float64(a)))) }
	return color.NRGBA{at(a.R, b.R), at(a.G, b.G), at(a.B, b.B), 255}
}

func pale(c color.NRGBA, alpha uint8) color.NRGBA {
	c.A = alpha
	return c
}

// newPlot returns a plot with axes in the theme's colours.
func (t theme) newPlot(title, x, y string) *gonum.Plot {
	p := gonum.New()
	p.BackgroundColor = t.background
	styles := []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle}
	for _, s := range styles {
		s.Color = t.ink
		setFont(&s.Font, 10)
	}
	p.Title.TextStyle.Font.Size = vg.Points(12)
	p.Title.Padding = vg.Points(8)
	for _, a := range []*gonum.Axis{&p.X, &p.Y} {
		a.Color, a.Tick.Color = t.ink, t.ink
		a.Label.Padding = vg.Points(4)
		a.Tick.Marker = roundTicks{}
	}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Top = true
	return p
}

func setFont(f *font.Font, size float64) { f.Variant, f.Size = "Sans", vg.Points(size) }

// box fills a rectangle.
func box(p *gonum.Plot, x0, y0, x1, y1 float64, c color.Color) {
	square, err := plotter.NewPolygon(plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
	if err != nil {
		panic(err) // cannot fail: four finite corners
	}
	square.Color, square.LineStyle.Width = c, 0
	p.Add(square)
}

// line draws a line through points.
func line(p *gonum.Plot, c color.Color, width float64, xy plotter.XYs, dashes ...vg.Length) {
	p.Add(&plotter.Line{XYs: xy, LineStyle: draw.LineStyle{Color: c, Width: vg.Points(width), Dashes: dashes}})
}

// whisker draws a horizontal interval with ends.
func whisker(p *gonum.Plot, c color.Color, low, high, y float64) {
	const end = .14
	line(p, c, 1, plotter.XYs{{X: low, Y: y}, {X: high, Y: y}})
	for _, x := range []float64{low, high} {
		line(p, c, 1, plotter.XYs{{X: x, Y: y - end}, {X: x, Y: y + end}})
	}
}

// strokes draws many short lines as one path, which keeps files small.
type strokes struct {
	draw.LineStyle
	from, to plotter.XYs
}

func (s *strokes) add(x0, y0, x1, y1 float64) {
	s.from, s.to = append(s.from, plotter.XY{X: x0, Y: y0}), append(s.to, plotter.XY{X: x1, Y: y1})
}

// Plot draws the lines.
func (s *strokes) Plot(c draw.Canvas, p *gonum.Plot) {
	x, y := p.Transforms(&c)
	var path vg.Path
	for i, from := range s.from {
		path.Move(vg.Point{X: x(from.X), Y: y(from.Y)})
		path.Line(vg.Point{X: x(s.to[i].X), Y: y(s.to[i].Y)})
	}
	c.SetLineStyle(s.LineStyle)
	c.Stroke(path)
}

// DataRange returns the range of the axes.
func (s *strokes) DataRange() (xmin, xmax, ymin, ymax float64) {
	return plotter.XYRange(append(slices.Clone(s.from), s.to...))
}

// text writes beside a point, with a small offset, because files lose spaces at the ends of a text. Alignment right
// puts it to the left of the point.
func (t theme) text(p *gonum.Plot, x, y float64, words string, c color.Color, align draw.XAlignment) {
	labels, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: y}}, Labels: []string{words}})
	if err != nil {
		panic(err) // cannot fail: one label for one point
	}
	style := &labels.TextStyle[0]
	style.Color, style.XAlign, style.YAlign = c, align, draw.YCenter
	labels.Offset.X = map[draw.XAlignment]vg.Length{draw.XLeft: 4, draw.XRight: -4}[align]
	setFont(&style.Font, 9)
	p.Add(labels)
}

// namesDown turns the y axis into a list of names, the first on top, at n−1 … 0.
func namesDown(p *gonum.Plot, names []string) {
	ticks := make([]gonum.Tick, len(names))
	for i, name := range names {
		ticks[i] = gonum.Tick{Value: float64(len(names) - 1 - i), Label: name}
	}
	p.Y.Tick.Marker = gonum.ConstantTicks(ticks)
	p.Y.Tick.Length, p.Y.Width = 0, 0
	p.Y.Min, p.Y.Max = -.7, float64(len(names))-.3
}

// shorten truncates long names in the middle: names that start alike differ at the end. Invisible characters, and those
// that would break a file, become dots.
func shorten(name string, limit int) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '·'
		}
		return r
	}, name))
	if len(runes) <= limit {
		return string(runes)
	}
	tail := limit / 3
	return string(runes[:limit-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// series returns the colour of a series by its number (Okabe and Ito).
func (t theme) series(i int) color.NRGBA {
	last := color.NRGBA{86, 180, 233, 255}
	if last == t.down {
		last = color.NRGBA{240, 228, 66, 255}
	}
	return []color.NRGBA{t.down, t.up, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, last}[i%6]
}

// widen adds a margin on both sides.
func widen(p *gonum.Plot, share float64) {
	room := share * (p.X.Max - p.X.Min)
	p.X.Min, p.X.Max = p.X.Min-room, p.X.Max+room
}

// tall returns the height of a picture with a line for each of n players.
func tall(n int) vg.Length { return vg.Points(90 + 22*float64(n)) }

const wide = 7.2 * vg.Inch

// maxNamed is the maximum number of values in a key; numbers with more values have a colour bar.
const maxNamed = 6

// colours returns the colours of rows by the value of a column, and their legend. Numbers range from low to high;
// categories have a colour each, as far as the colours go.
func (v view) colours(t theme, player int, c *table.Column) (of func(row int) color.NRGBA, beside side) {
	if c.Kind == table.Category || c.Kind == table.Boolean {
		return labelColours(t, v.name(player), c)
	}
	place := v.place(player)
	of = func(row int) color.NRGBA {
		if share, ok := place(row); ok {
			return t.ramp(math.Round(share*rampSteps) / rampSteps)
		}
		return t.missing
	}
	values := slices.Compact(sortedNumbers(c))
	if len(values) > maxNamed || c.Kind == table.Time {
		ends := scaleOf(c)
		return of, colourBar{title: v.name(player), low: textOf(c, ends.low), high: textOf(c, ends.high), colour: t.ramp}
	}
	legend, s := &key{title: v.name(player)}, scaleOf(c)
	for _, x := range values {
		legend.add(textOf(c, x), t.ramp(math.Round(s.share(x)*rampSteps)/rampSteps))
	}
	if slices.Contains(c.Observed, false) {
		legend.add("missing", t.missing)
	}
	return of, legend
}

// labelColours gives each of the most frequent labels a colour.
func labelColours(t theme, name string, c *table.Column) (func(row int) color.NRGBA, side) {
	legend, colours, named := &key{title: name}, map[string]color.NRGBA{}, 0
	commonest := explain.Cohorts(c)
	for i, cohort := range commonest[:min(len(commonest), maxNamed)] {
		colours[cohort.Name], named = t.series(i), named+len(cohort.Rows)
		legend.add(shorten(cohort.Name, 20), t.series(i))
	}
	if named < len(c.Observed) {
		legend.add("other or missing", t.missing)
	}
	return func(row int) color.NRGBA {
		if found, ok := colours[c.Text(row)]; ok && c.Observed[row] {
			return found
		}
		return t.missing
	}, legend
}

// textOf writes a number of a column, or a time.
func textOf(c *table.Column, x float64) string {
	if c.Kind != table.Time {
		return digits(x)
	}
	one := *c
	one.Observed, one.Numbers = []bool{true}, []float64{x}
	return one.Text(0)
}

// svgText matches a text as the drawing library writes it: style, size, style and words.
var svgText = regexp.MustCompile(`transform="scale\(1, -1\)"\n\tstyle="font-family:Liberation Sans;([^"]*)font-size:([0-9.]+)px;([^"]*)">([^<]+)</text>`)

// families lists fonts with the letter widths of Liberation Sans, which the layout uses.
const families = "Liberation Sans,Arial,Helvetica,Arimo,Nimbus Sans,sans-serif"

// fitText adds the width of each text. Fonts are not part of an SVG file, and a replacement font must not run off the
// page.
func fitText(file []byte, style draw.TextStyle) []byte {
	return svgText.ReplaceAllFunc(file, func(found []byte) []byte {
		parts := svgText.FindSubmatch(found)
		size, err := strconv.ParseFloat(string(parts[2]), 64)
		if err != nil {
			return found
		}
		style.Font.Size = vg.Points(size)
		width := style.Width(html.UnescapeString(string(parts[4]))).Points()
		return []byte(`transform="scale(1, -1)" textLength="` + strconv.FormatFloat(width, 'f', 2, 64) + `" lengthAdjust="spacingAndGlyphs"` +
			"\n\t" + `style="font-family:` + families + ";" + string(parts[1]) + "font-size:" + string(parts[2]) + "px;" + string(parts[3]) + `">` + string(parts[4]) + "</text>")
	})
}

// dotMark is a dash offset on lines without dashes. The drawing library cannot round the ends of lines; roundDots
// recognises the paths whose lines are dots by this mark.
const dotMark = vg.Length(7)

var (
	svgDots = regexp.MustCompile(`<path d="[^"]*" style="[^"]*;stroke-dashoffset:7" />`)
	svgDot  = regexp.MustCompile(`(M[^ML"]+)L[^ML"]+`)
)

// roundDots turns lines without length into dots.
func roundDots(file []byte) []byte {
	return svgDots.ReplaceAllFunc(file, func(path []byte) []byte {
		return bytes.Replace(svgDot.ReplaceAll(path, []byte("${1}h0")), []byte("stroke-dashoffset:7"), []byte("stroke-linecap:round"), 1)
	})
}
