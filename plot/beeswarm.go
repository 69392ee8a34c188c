package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Beeswarm draws a dot for each row and player: how the attribution depends on the value of the cell. Dots of rows with
// the same attribution lie side by side.
func Beeswarm(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	shown, err := v.choose(o)
	if err != nil {
		return nil, err
	}
	const maxBars = 200 // maximum number of intervals per column, which would otherwise cover the page
	t, barred := themeOf(o), map[int]bool{}
	for _, r := range someRows(v.Rows, maxBars) {
		barred[r] = true
	}
	p := t.newPlot("Attributions, "+rowsWord(v.Rows), "attribution to "+v.unit, "")
	names := make([]string, len(shown))
	data := &cellData{}
	for i, im := range shown {
		y := float64(len(shown) - 1 - i)
		names[i] = v.named(im)
		line(p, t.faint, .5, plotter.XYs{{X: 0, Y: y - .45}, {X: 0, Y: y + .45}})
		place := v.place(im.Player)
		var rows []int
		var at []float64
		for r := range v.Rows {
			if v.there(r, im.Player) {
				rows, at = append(rows, r), append(at, v.mean(r, im.Player))
				data.add(v, r, im.Player)
			}
		}
		if len(rows) == 0 {
			continue
		}
		swarm := &dots{radius: vg.Points(1.5)}
		doubt := &strokes{LineStyle: draw.LineStyle{Color: t.faint, Width: vg.Points(.5)}}
		for k, aside := range asides(at) {
			c := t.missing
			if share, ok := place(rows[k]); ok {
				c = t.ramp(math.Round(share*rampSteps) / rampSteps)
			}
			swarm.add(at[k], y+aside, c)
			if v.doubted() && barred[rows[k]] {
				low, high := v.interval(rows[k], im.Player)
				doubt.add(low, y+aside, high, y+aside)
			}
		}
		if len(doubt.from) > 0 {
			p.Add(doubt)
		}
		p.Add(swarm)
	}
	namesDown(p, names)
	drawn, err := data.table(nil)
	return o.settle(&Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: "Each dot is a row: right of 0 the column raises the prediction; thicker means more rows. Orange is a high value of the column, blue a low one, grey a category" +
			v.bars("; ", "pale lines are %s"+someBars(v.Rows, maxBars)) + omittedNote(len(shown), len(v.Players), o.Columns),
		Data: drawn, plot: p, theme: t, width: wide, height: tall(len(shown)),
		side: colourBar{title: "value of the column", low: "low", high: "high", colour: t.ramp},
	}), err
}

// rampSteps is the number of distinct colours from low to high; more make files larger.
const rampSteps = 24

// someBars says how many intervals are drawn if there is no room for all.
func someBars(rows, limit int) string {
	if rows <= limit {
		return ""
	}
	return fmt.Sprintf(", for %d of the rows", limit)
}

// asides moves overlapping dots up and down: the n-th dot of a bin by n lanes, alternately above and below. Lanes are
// as narrow as the fullest bin requires.
func asides(at []float64) []float64 {
	const bins, lane, widest = 120, .07, .4
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range at {
		low, high = min(low, x), max(high, x)
	}
	aside, taken, fullest := make([]float64, len(at)), [bins + 1]int{}, 0.0
	for i, x := range at {
		bin := 0
		if high > low {
			bin = int(bins * (x - low) / (high - low))
		}
		n := taken[bin]
		taken[bin]++
		aside[i] = float64((n + 1) / 2)
		fullest = max(fullest, aside[i])
		if n%2 == 1 {
			aside[i] = -aside[i]
		}
	}
	step := min(lane, widest/max(fullest, 1))
	for i := range aside {
		aside[i] *= step
	}
	return aside
}

// cellData collects the data of the drawn cells.
type cellData struct {
	player         []string
	row, mean, std []float64 // an unknown std is NaN
}

func (c *cellData) add(v view, row, player int) {
	c.player, c.row = append(c.player, v.Players[player]), append(c.row, float64(v.number(row)))
	c.mean, c.std = append(c.mean, v.mean(row, player)), append(c.std, v.std(row, player))
}

// table omits the numbers of cells that are not there; nil means that all are.
func (c *cellData) table(there []bool) (*table.Table, error) {
	return table.New(table.CategoryColumn("player", c.player, nil), table.NumberColumn("row", c.row, nil), table.NumberColumn("mean", c.mean, there), table.NumberColumn("std", c.std, there))
}

// dots draws many dots, those of one colour as one path, which keeps files small.
type dots struct {
	xy      plotter.XYs
	colours []color.NRGBA
	radius  vg.Length
}

func (d *dots) add(x, y float64, c color.NRGBA) {
	d.xy, d.colours = append(d.xy, plotter.XY{X: x, Y: y}), append(d.colours, c)
}

// dotGrid is the minimum distance of dots; closer dots are drawn once.
const dotGrid = vg.Length(.7)

// Plot draws the dots in random order, so that no colour hides the others.
func (d *dots) Plot(c draw.Canvas, p *gonum.Plot) {
	x, y := p.Transforms(&c)
	rng := rand.New(rand.NewPCG(0, 0))
	taken := map[[2]int]bool{}
	places := map[color.NRGBA][]vg.Point{}
	var colours []color.NRGBA
	for _, i := range rng.Perm(len(d.xy)) {
		at := vg.Point{X: x(d.xy[i].X), Y: y(d.xy[i].Y)}
		cell := [2]int{int(math.Round(float64(at.X / dotGrid))), int(math.Round(float64(at.Y / dotGrid)))}
		if taken[cell] {
			continue
		}
		taken[cell] = true
		if places[d.colours[i]] == nil {
			colours = append(colours, d.colours[i])
		}
		places[d.colours[i]] = append(places[d.colours[i]], at)
	}
	rng.Shuffle(len(colours), func(i, j int) { colours[i], colours[j] = colours[j], colours[i] })
	for _, colour := range colours {
		d.draw(c, colour, places[colour])
	}
}

func (d *dots) draw(c draw.Canvas, colour color.NRGBA, places []vg.Point) {
	if !isSVG(c.Canvas) {
		for _, at := range places {
			c.DrawGlyph(draw.GlyphStyle{Color: colour, Radius: d.radius, Shape: draw.CircleGlyph{}}, at)
		}
		return
	}
	var path vg.Path
	for _, at := range places {
		at = vg.Point{X: tenth(at.X), Y: tenth(at.Y)}
		path.Move(at)
		path.Line(at)
	}
	c.SetColor(colour)
	c.SetLineWidth(2 * d.radius)
	c.SetLineDash(nil, dotMark)
	c.Stroke(path)
	c.SetLineDash(nil, 0)
}

// isSVG looks through the canvases that others were cropped from.
func isSVG(c vg.Canvas) bool {
	for {
		cut, ok := c.(draw.Canvas)
		if !ok {
			_, ok = c.(*vgsvg.Canvas)
			return ok
		}
		c = cut.Canvas
	}
}

// tenth rounds to a tenth of a point, which has a short notation.
func tenth(x vg.Length) vg.Length { return vg.Length(math.Round(10*float64(x)) / 10) }

// DataRange returns the range of the axes.
func (d *dots) DataRange() (xmin, xmax, ymin, ymax float64) { return plotter.XYRange(d.xy) }

// GlyphBoxes keeps dots at the ends of the axes off their edge.
func (d *dots) GlyphBoxes(p *gonum.Plot) []gonum.GlyphBox {
	if len(d.xy) == 0 {
		return nil
	}
	size := vg.Rectangle{Min: vg.Point{X: -d.radius, Y: -d.radius}, Max: vg.Point{X: d.radius, Y: d.radius}}
	var boxes []gonum.GlyphBox
	for _, of := range []func(a, b plotter.XY) int{
		func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) }, func(a, b plotter.XY) int { return cmp.Compare(a.Y, b.Y) },
	} {
		for _, at := range []plotter.XY{slices.MinFunc(d.xy, of), slices.MaxFunc(d.xy, of)} {
			boxes = append(boxes, gonum.GlyphBox{X: p.X.Norm(at.X), Y: p.Y.Norm(at.Y), Rectangle: size})
		}
	}
	return boxes
}

// someRows draws at most the given number of n rows with a fixed seed, and sorts them. Evenly spaced rows would be
// alike in a periodic table, such as hourly data.
func someRows(n, limit int) []int {
	rows := rand.New(rand.NewPCG(0, 0)).Perm(n)[:min(n, limit)]
	slices.Sort(rows)
	return rows
}
