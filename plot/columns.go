package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Dependence shows how the attribution of a column hangs on its value, with its band.
func Dependence(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	name := ""
	if len(o.Columns) > 0 {
		name = o.Columns[0]
	}
	d, err := v.player(name)
	if err != nil {
		return nil, err
	}
	c := v.Values[d]
	if c == nil {
		return nil, fmt.Errorf("plot: %q is a group of columns and has no value of its own: name one of its columns at training", v.Players[d])
	}
	t := themeOf(o)
	p := t.newPlot(fmt.Sprintf("What %s does, %s", v.name(d), rowsWord(v.Rows)), v.name(d), "attribution to "+v.unit)
	xOf, gap := axisOf(p, c)
	var rows, gaps []int
	for _, r := range someRows(v.Rows) {
		if v.there(r, d) {
			rows = append(rows, r)
		} else {
			gaps = append(gaps, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(xOf(a), xOf(b)) })
	var x, mean, std, at []float64
	var dots plotter.XYs
	for _, r := range rows {
		low, high := v.interval(r, d)
		line(p, pale(t.down, 40), 1, plotter.XYs{{X: xOf(r), Y: low}, {X: xOf(r), Y: high}})
		dots = append(dots, plotter.XY{X: xOf(r), Y: v.mean(r, d)})
		x, mean, std, at = append(x, xOf(r)), append(mean, v.mean(r, d)), append(std, v.std(r, d)), append(at, float64(v.FirstRow+r))
	}
	if len(dots) > 0 {
		p.Add(&plotter.Scatter{XYs: dots, GlyphStyle: draw.GlyphStyle{Color: t.down, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}})
	}
	if len(gaps) > 0 { // absent: no attribution, beside the axis
		p.Add(&plotter.Scatter{XYs: plotter.XYs{{X: gap, Y: 0}}, GlyphStyle: draw.GlyphStyle{Color: t.missing, Radius: vg.Points(4), Shape: draw.RingGlyph{}}})
		t.text(p, gap, 0, fmt.Sprintf("  %d missing", len(gaps)), t.missing, draw.XLeft)
	}
	data, err := table.New(table.NumberColumn("row", at, nil), table.NumberColumn("value", x, nil), table.NumberColumn("mean", mean, nil), table.NumberColumn("std", std, nil))
	return &Picture{
		Title: p.Title.Text, Read: fmt.Sprintf("A dot is a row: the column's value across, what it adds to the prediction up; bars are ± %.3g standard deviations. Dots above each other differ in other columns.", v.Z),
		Data: data, plot: p, theme: t, width: wide, height: 4.2 * vg.Inch,
	}, err
}

// axisOf gives the places of cells on the x axis, labels of a category as names, and a place for missing ones.
func axisOf(p *gonum.Plot, c *table.Column) (place func(row int) float64, gap float64) {
	if c.Kind == table.Category {
		const most = 20
		ticks := make([]gonum.Tick, 0, min(most, len(c.Levels)))
		for i, level := range c.Levels {
			if i < most {
				ticks = append(ticks, gonum.Tick{Value: float64(i), Label: shorten(level, 14)})
			}
		}
		p.X.Tick.Marker = gonum.ConstantTicks(ticks)
		if len(ticks) > 6 {
			p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
		}
		// Rows of one label lie beside each other, by a fixed pattern.
		aside := func(row int) float64 { return .24 * (float64(row*7919%97)/97 - .5) }
		return func(row int) float64 { return float64(min(int(c.Codes[row]), most)) + aside(row) }, float64(min(most, len(c.Levels)))
	}
	low, high := math.Inf(1), math.Inf(-1)
	for row, x := range c.Numbers {
		if c.Observed[row] {
			low, high = min(low, x), max(high, x)
		}
	}
	if low > high {
		low, high = 0, 0
	}
	return func(row int) float64 { return c.Numbers[row] }, high + .06*(high-low)
}

// Interaction is a heat map of how much pairs of players act together: the mean of |interaction index|.
func Interaction(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	if v.Interactions == nil {
		return nil, errors.New("plot: the explanation has no interactions: ask for them")
	}
	t, all := themeOf(o), v.importances()
	shown := all[:min(len(all), o.most())]
	p := t.newPlot(fmt.Sprintf("Pairs that act together, %s", rowsWord(v.Rows)), "", "")
	n, names := len(shown), make([]string, len(shown))
	size := make([]float64, n*n)
	largest := 0.0
	for i, a := range shown {
		names[i] = v.name(a.player)
		for j, b := range shown {
			if i == j {
				continue
			}
			for r := range v.Rows {
				size[i*n+j] += math.Abs(v.Interactions[(r*len(v.Players)+a.player)*len(v.Players)+b.player]) / float64(v.Rows)
			}
			largest = max(largest, size[i*n+j])
		}
	}
	var first, second []string
	var value []float64
	ticks := make([]gonum.Tick, n)
	for i := range shown {
		ticks[i] = gonum.Tick{Value: float64(i), Label: shorten(names[i], 14)}
		for j := range shown {
			x, y := float64(j), float64(n-1-i)
			if i == j {
				box(p, x-.48, y-.48, x+.48, y+.48, t.faint)
				continue
			}
			share := size[i*n+j] / math.Max(largest, math.SmallestNonzeroFloat64)
			box(p, x-.48, y-.48, x+.48, y+.48, mix(t.background, t.up, share))
			if n <= 12 {
				t.text(p, x, y, fmt.Sprintf("%.2g", size[i*n+j]), t.ink, draw.XCenter)
			}
			if i < j {
				first, second, value = append(first, v.Players[shown[i].player]), append(second, v.Players[shown[j].player]), append(value, size[i*n+j])
			}
		}
	}
	namesDown(p, names)
	p.X.Tick.Marker, p.X.Tick.Length, p.X.Width = gonum.ConstantTicks(ticks), 0, 0
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	data, err := table.New(table.CategoryColumn("a", first, nil), table.CategoryColumn("b", second, nil), table.NumberColumn("mean_size", value, nil))
	return &Picture{
		Title: p.Title.Text, Read: "The stronger a cell, the more the effect of one column hangs on the other: the mean size of the pair's Shapley interaction index.",
		Data: data, plot: p, theme: t, width: vg.Points(200 + 30*float64(n)), height: vg.Points(150 + 26*float64(n)),
	}, err
}
