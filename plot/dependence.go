package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Dependence draws a dependence plot: the attribution of a column against its value, with intervals. Dots may be
// coloured by the value of a second column.
func Dependence(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	if len(o.Columns) > 2 {
		return nil, fmt.Errorf("plot: a dependence plot needs one column, or one and another for the colour, not %d", len(o.Columns))
	}
	d, c, err := v.column(o, 0)
	if err != nil {
		return nil, err
	}
	const maxBars = 400 // maximum number of intervals, which would otherwise cover the page
	t := themeOf(o)
	p := t.newPlot(fmt.Sprintf("Effect of %s, %s", v.name(d), rowsWord(v.Rows)), v.name(d), "attribution to "+v.unit)
	read := fmt.Sprintf("Each dot is a row: left to right is the column's value, upwards what it adds to the prediction; bars are %s%s.", v.bars(), someBars(v.Rows, maxBars))
	colour, beside := func(int) color.NRGBA { return t.down }, side(nil)
	if len(o.Columns) == 2 {
		other, by, err := v.column(o, 1)
		if err != nil {
			return nil, err
		}
		colour, beside = v.colours(t, other, by)
		read += fmt.Sprintf(" The colour is the value of %s.", v.name(other))
	} else {
		read += " Dots above each other differ in other columns."
	}
	axis := axisOf(p, c)
	var rows []int
	gaps := 0
	for r := range v.Rows {
		if v.there(r, d) {
			rows = append(rows, r)
		} else {
			gaps++
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(axis.place(a), axis.place(b)) })
	var x, mean, std, at []float64
	var known []bool
	swarm := &dots{radius: vg.Points(1.6)}
	bars := &strokes{LineStyle: draw.LineStyle{Color: pale(t.missing, 90), Width: vg.Points(1)}}
	for _, r := range rows {
		swarm.add(axis.place(r)+axis.aside(r), v.mean(r, d), colour(r))
		x, mean, std, at = append(x, axis.place(r)), append(mean, v.mean(r, d)), append(std, v.std(r, d)), append(at, float64(v.number(r)))
		known = append(known, c.Observed[r])
	}
	for _, k := range someRows(len(rows), maxBars) {
		low, high := v.interval(rows[k], d)
		bars.add(axis.place(rows[k])+axis.aside(rows[k]), low, axis.place(rows[k])+axis.aside(rows[k]), high)
	}
	if len(rows) > 0 {
		p.Add(bars)
		p.Add(swarm)
	}
	if gaps > 0 { // missing cells have no attribution; drawn beside the axis
		p.Add(&plotter.Scatter{XYs: plotter.XYs{{X: axis.gap, Y: 0}}, GlyphStyle: draw.GlyphStyle{Color: t.missing, Radius: vg.Points(4), Shape: draw.RingGlyph{}}})
		t.text(p, axis.gap, 0, fmt.Sprintf("%d missing", gaps), t.missing, draw.XLeft)
	}
	data, err := table.New(table.NumberColumn("row", at, nil), table.NumberColumn("value", x, known), table.NumberColumn("mean", mean, nil), table.NumberColumn("std", std, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, side: beside, theme: t, width: wide, height: 4.2 * vg.Inch,
	}), err
}

// column returns the k-th requested column; the first may be omitted.
func (v view) column(o Options, k int) (int, *table.Column, error) {
	name := ""
	if k < len(o.Columns) {
		name = o.Columns[k]
	}
	d, err := v.player(name)
	if err != nil {
		return 0, nil, err
	}
	if v.Values[d] == nil {
		return 0, nil, fmt.Errorf("plot: %q is a group of columns and has no single value: choose another column, or train without the group", v.Players[d])
	}
	return d, v.Values[d], nil
}
