package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
)

// Heatmap draws the attributions of many rows below their predictions, in descending order of prediction.
func Heatmap(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	shown, err := v.choose(o)
	if err != nil {
		return nil, err
	}
	const maxRows = 240 // distinguishable in the width of a page
	t, rows := themeOf(o), someRows(v.Rows, maxRows)
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(v.Prediction[b], v.Prediction[a]) })
	p := t.newPlot(fmt.Sprintf("Attributions of %s, highest predictions first", shownOfAll(len(rows), v.Rows)), "rows, by prediction", "")
	full := v.fullColour(shown, rows)
	names := make([]string, len(shown))
	data, there, grid := &cellData{}, []bool(nil), &cells{}
	for i, im := range shown {
		y := float64(len(shown) - 1 - i)
		names[i] = v.named(im)
		for k, r := range rows {
			c, half := t.faint, .48 // missing
			if v.there(r, im.Player) {
				c = t.diverging(math.Round(rampSteps*v.mean(r, im.Player)/full) / rampSteps)
				if low, high := v.interval(r, im.Player); v.doubted() && low <= 0 && high >= 0 {
					half = .2
				}
			}
			grid.add(float64(k), y, half, c)
			data.add(v, r, im.Player)
			there = append(there, v.there(r, im.Player))
		}
	}
	p.Add(grid)
	namesDown(p, names)
	p.X.Min, p.X.Max = 0, float64(len(rows))
	v.predictionsAbove(p, t, rows, len(shown))
	p.X.Tick.Marker = gonum.ConstantTicks{}
	drawn, err := data.table(there)
	return o.settle(&Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: fmt.Sprintf("Each column of cells is a row of the table, with its prediction f(x) above; the dashed line is the base. Orange raises the prediction, blue lowers it, with full colour from %s", digits(full)) +
			v.shortCells() + omittedNote(len(shown), len(v.Players), o.Columns),
		Data: drawn, plot: p, theme: t, width: wide, height: tall(len(shown) + aboveLines),
		side: colourBar{
			title: "attribution to " + v.unit, low: digits(-full), middle: "0", high: signed(full),
			colour: func(share float64) color.NRGBA { return t.diverging(2*share - 1) },
		},
	}), err
}

// shortCells describes the cells whose intervals contain 0, and missing ones.
func (v view) shortCells() string {
	if !v.doubted() {
		return "; grey is missing" + v.bars("", "")
	}
	return v.bars("; ", "in short cells, %s contains 0; grey is missing")
}

// aboveLines is the height of the predictions above a heat map, in lines of names.
const aboveLines = 3

// predictionsAbove draws the predictions of rows above n lines of cells, and labels their ends.
func (v view) predictionsAbove(p *gonum.Plot, t theme, rows []int, n int) {
	base := v.Base[rows[0]]
	low, high := base, base
	for _, r := range rows {
		low, high = min(low, v.Prediction[r]), max(high, v.Prediction[r])
	}
	bottom, top := float64(n)-.2, float64(n+aboveLines)-.9
	y := func(x float64) float64 {
		if low == high {
			return (bottom + top) / 2
		}
		return bottom + (x-low)/(high-low)*(top-bottom)
	}
	line(p, t.missing, .8, plotter.XYs{{X: 0, Y: y(base)}, {X: p.X.Max, Y: y(base)}}, 3, 2)
	curve := make(plotter.XYs, len(rows))
	for k, r := range rows {
		curve[k] = plotter.XY{X: float64(k) + .5, Y: y(v.Prediction[r])}
	}
	line(p, t.ink, 1.2, curve)
	names, _ := p.Y.Tick.Marker.(gonum.ConstantTicks)
	names = append(slices.Clone(names), gonum.Tick{Value: (bottom + top) / 2, Label: "f(x)"})
	if high > low {
		names = append(names, gonum.Tick{Value: bottom, Label: digits(low)}, gonum.Tick{Value: top, Label: digits(high)})
	}
	p.Y.Tick.Marker, p.Y.Max = names, top+.4
}

// cells draws filled rectangles of width 1, those of one colour and height as one path.
type cells struct {
	kinds []cellKind // in order of appearance
	at    map[cellKind]plotter.XYs
	right float64
	top   float64
}

type cellKind struct {
	colour color.NRGBA
	half   float64 // height
}

func (g *cells) add(x, y, half float64, c color.NRGBA) {
	kind := cellKind{c, half}
	if g.at == nil {
		g.at = map[cellKind]plotter.XYs{}
	}
	if g.at[kind] == nil {
		g.kinds = append(g.kinds, kind)
	}
	g.at[kind] = append(g.at[kind], plotter.XY{X: x, Y: y})
	g.right, g.top = max(g.right, x+1), max(g.top, y+.5)
}

// Plot draws each cell as a thick line that is slightly too long, so that no seams are visible between cells.
func (g *cells) Plot(c draw.Canvas, p *gonum.Plot) {
	const over = vg.Length(.2)
	x, y := p.Transforms(&c)
	for _, kind := range g.kinds {
		var path vg.Path
		for _, at := range g.at[kind] {
			middle := tenth(y(at.Y))
			path.Move(vg.Point{X: tenth(x(at.X)), Y: middle})
			path.Line(vg.Point{X: tenth(x(at.X+1)) + over, Y: middle})
		}
		c.SetLineStyle(draw.LineStyle{Color: kind.colour, Width: y(2*kind.half) - y(0)})
		c.Stroke(path)
	}
}

// DataRange returns the range of the axes.
func (g *cells) DataRange() (xmin, xmax, ymin, ymax float64) { return 0, g.right, -.5, g.top }

// fullColour returns the |attribution| at which a cell has its full colour: the 99 % quantile, so that a few extremes
// do not leave the rest pale.
func (v view) fullColour(shown []explain.Importance, rows []int) float64 {
	var sizes []float64
	for _, im := range shown {
		for _, r := range rows {
			if v.there(r, im.Player) {
				sizes = append(sizes, math.Abs(v.mean(r, im.Player)))
			}
		}
	}
	slices.Sort(sizes)
	full := 0.0
	if len(sizes) > 0 {
		full = explain.Quantile(sizes, .99)
	}
	return math.Max(full, math.SmallestNonzeroFloat64)
}
