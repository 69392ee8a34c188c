package plot

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	gonum "gonum.org/v1/plot"
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
	read := "Each dot is a row: left to right is the column's value, upwards what it adds to the prediction" + v.bars("; ", "bars are %s"+someBars(v.Rows, maxBars))
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
		if v.doubted() {
			p.Add(bars)
		}
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

// Interaction draws a heat map of pairwise interactions: the mean |interaction index|.
func Interaction(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	if v.Interactions == nil {
		return nil, errNoPairs
	}
	shown, err := v.choose(o)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	strong := func(share float64) color.NRGBA { return mix(t.background, t.up, share) }
	p := t.newPlot(fmt.Sprintf("Interactions of column pairs, %s", rowsWord(v.Rows)), "", "")
	n, names := len(shown), make([]string, len(shown))
	size := make([]float64, n*n)
	largest := 0.0
	for i, a := range shown {
		names[i] = v.name(a.Player)
		for j, b := range shown {
			if i == j {
				continue
			}
			for r := range v.Rows {
				size[i*n+j] += math.Abs(v.Interactions[(r*len(v.Players)+a.Player)*len(v.Players)+b.Player]) / float64(v.Rows)
			}
			largest = max(largest, size[i*n+j])
		}
	}
	var first, second []string
	var value []float64
	ticks := make([]gonum.Tick, n)
	for i := range shown {
		ticks[i] = gonum.Tick{Value: float64(i), Label: shorten(names[i], 18)}
		for j := range shown {
			x, y := float64(j), float64(n-1-i)
			if i == j {
				box(p, x-.48, y-.48, x+.48, y+.48, t.faint)
				continue
			}
			share := size[i*n+j] / math.Max(largest, math.SmallestNonzeroFloat64)
			box(p, x-.48, y-.48, x+.48, y+.48, strong(share))
			if n <= 12 {
				t.text(p, x, y, fmt.Sprintf("%.2g", size[i*n+j]), t.on(strong(share)), draw.XCenter)
			}
			if i < j {
				first, second, value = append(first, v.Players[shown[i].Player]), append(second, v.Players[shown[j].Player]), append(value, size[i*n+j])
			}
		}
	}
	namesDown(p, names)
	p.X.Tick.Marker, p.X.Tick.Length, p.X.Width = gonum.ConstantTicks(ticks), 0, 0
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	data, err := table.New(table.CategoryColumn("a", first, nil), table.CategoryColumn("b", second, nil), table.NumberColumn("mean_size", value, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: "The stronger the colour, the more the effect of one column depends on the other. Shown is the mean size of the pair's Shapley interaction index, 0 where either is missing." + omittedNote(n, len(v.Players), o.Columns),
		Data: data, plot: p, theme: t, width: vg.Points(250 + 30*float64(n)), height: vg.Points(150 + 26*float64(n)),
		side: colourBar{title: "mean size of the index", low: "0", high: digits(largest), colour: strong},
	}), err
}

// errNoPairs reports an explanation without interactions.
var errNoPairs = errors.New("plot: the explanation has no interactions: request them when explaining")
