package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"time"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Dependence shows how the attribution of a column hangs on its value, with its band. The dots may be coloured by the
// value of a second column.
func Dependence(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	if len(o.Columns) > 2 {
		return nil, fmt.Errorf("plot: a dependence is of one column, or of one coloured by another, not of %d", len(o.Columns))
	}
	d, c, err := v.column(o, 0)
	if err != nil {
		return nil, err
	}
	t := themeOf(o)
	p := t.newPlot(fmt.Sprintf("What %s does, %s", v.name(d), rowsWord(v.Rows)), v.name(d), "attribution to "+v.unit)
	read := fmt.Sprintf("Each dot is a row: the column's value across, what it adds to the prediction up; bars are %s.", v.bars())
	colour := func(int) color.NRGBA { return t.down }
	if len(o.Columns) == 2 {
		other, by, err := v.column(o, 1)
		if err != nil {
			return nil, err
		}
		colour = v.colours(p, t, other, by)
		read += fmt.Sprintf(" The colour is the value of %s.", v.name(other))
	} else {
		read += " Dots above each other differ in other columns."
	}
	xOf, gap := axisOf(p, c)
	var rows []int
	gaps := 0
	for _, r := range someRows(v.Rows) {
		if v.there(r, d) {
			rows = append(rows, r)
		} else {
			gaps++
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(xOf(a), xOf(b)) })
	var x, mean, std, at []float64
	var known []bool
	var dots plotter.XYs
	bars := &strokes{LineStyle: draw.LineStyle{Color: pale(t.missing, 90), Width: vg.Points(1)}}
	for _, r := range rows {
		low, high := v.interval(r, d)
		bars.add(xOf(r), low, xOf(r), high)
		dots = append(dots, plotter.XY{X: xOf(r), Y: v.mean(r, d)})
		x, mean, std, at = append(x, xOf(r)), append(mean, v.mean(r, d)), append(std, v.std(r, d)), append(at, float64(v.FirstRow+r))
		known = append(known, c.Observed[r])
	}
	if len(dots) > 0 {
		p.Add(bars)
		p.Add(&plotter.Scatter{XYs: dots, GlyphStyleFunc: func(k int) draw.GlyphStyle {
			return draw.GlyphStyle{Color: colour(rows[k]), Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}
		}})
	}
	keepClear(p, dots)
	if gaps > 0 { // absent: no attribution, beside the axis
		p.Add(&plotter.Scatter{XYs: plotter.XYs{{X: gap, Y: 0}}, GlyphStyle: draw.GlyphStyle{Color: t.missing, Radius: vg.Points(4), Shape: draw.RingGlyph{}}})
		t.text(p, gap, 0, fmt.Sprintf("%d missing", gaps), t.missing, draw.XLeft)
	}
	data, err := table.New(table.NumberColumn("row", at, nil), table.NumberColumn("value", x, known), table.NumberColumn("mean", mean, nil), table.NumberColumn("std", std, nil))
	return &Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t, width: wide, height: 4.2 * vg.Inch,
	}, err
}

// keepClear puts the legend into the corner with the fewest dots.
func keepClear(p *gonum.Plot, dots plotter.XYs) {
	fewest := math.MaxInt
	for _, top := range []bool{true, false} {
		for _, left := range []bool{true, false} {
			n := 0
			for _, d := range dots {
				across, up := p.X.Norm(d.X), p.Y.Norm(d.Y)
				if (across < .35) == left && (across < .35 || across > .65) && (up > .65) == top && (up < .35 || up > .65) {
					n++
				}
			}
			if n < fewest {
				fewest, p.Legend.Top, p.Legend.Left = n, top, left
			}
		}
	}
}

// column is the k-th column that a picture was asked for; the first may be left out.
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
		return 0, nil, fmt.Errorf("plot: %q is a group of columns and has no value of its own: name one of its columns at training", v.Players[d])
	}
	return d, v.Values[d], nil
}

// colours are those of rows by the value of a column, with a legend: of numbers from low to high, of categories each its
// own, as far as they go.
func (v view) colours(p *gonum.Plot, t theme, player int, c *table.Column) func(row int) color.NRGBA {
	entry := func(name string, of color.NRGBA) {
		p.Legend.Add(shorten(name, 24), &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: of, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}})
	}
	if c.Kind == table.Category || c.Kind == table.Boolean {
		of := map[string]color.NRGBA{}
		for i, cohort := range explain.Cohorts(c) {
			of[cohort.Name] = t.series(i)
			entry(cohort.Name, t.series(i))
		}
		entry("other or missing", t.missing)
		return func(row int) color.NRGBA {
			if found, ok := of[c.Text(row)]; ok && c.Observed[row] {
				return found
			}
			return t.missing
		}
	}
	name := v.name(player)
	entry(name+", high", t.ramp(1))
	entry(name+", middle", t.ramp(.5))
	entry(name+", low", t.ramp(0))
	entry("missing", t.missing)
	place := v.place(player)
	return func(row int) color.NRGBA {
		if share, ok := place(row); ok {
			return t.ramp(share)
		}
		return t.missing
	}
}

// axisOf gives the places of cells on the x axis, labels as names and times as such, and a place for missing ones.
func axisOf(p *gonum.Plot, c *table.Column) (place func(row int) float64, gap float64) {
	of := func(row int) float64 { return c.Numbers[row] }
	// Rows of one label lie beside each other, by a fixed pattern.
	aside := func(row int) float64 { return .24 * (float64(row*7919%97)/97 - .5) }
	switch c.Kind {
	case table.Category:
		gap = labelAxis(p, c)
		of = func(row int) float64 { return min(float64(c.Codes[row]), gap-1) + aside(row) }
	case table.Boolean:
		gap = 2
		words := []string{"false", "true"}
		if len(c.Levels) == len(words) {
			words = c.Levels
		}
		p.X.Tick.Marker = gonum.ConstantTicks{{Value: 0, Label: shorten(words[0], 14)}, {Value: 1, Label: shorten(words[1], 14)}}
		of = func(row int) float64 { return c.Numbers[row] + aside(row) }
	default:
		low, high := ends(c)
		gap = high + .06*(high-low)
		if c.Kind == table.Time {
			p.X.Tick.Marker = timeTicks{}
		}
	}
	return func(row int) float64 {
		if !c.Observed[row] { // a gap that is a value
			return gap
		}
		return of(row)
	}, gap
}

// labelAxis writes a category's labels below the axis, those beyond a number as one, and returns the place behind them.
func labelAxis(p *gonum.Plot, c *table.Column) (behind float64) {
	const most = 20
	var ticks gonum.ConstantTicks
	for i, level := range c.Levels[:min(most, len(c.Levels))] {
		ticks = append(ticks, gonum.Tick{Value: float64(i), Label: shorten(level, 18)})
	}
	if len(c.Levels) > most {
		ticks = append(ticks, gonum.Tick{Value: most, Label: fmt.Sprintf("%d others", len(c.Levels)-most)})
	}
	p.X.Tick.Marker = ticks
	if len(ticks) > 6 {
		p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YTop
	}
	return float64(len(ticks))
}

// ends are the least and the greatest of a column's numbers.
func ends(c *table.Column) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for row, x := range c.Numbers {
		if c.Observed[row] {
			low, high = min(low, x), max(high, x)
		}
	}
	if low > high {
		return 0, 0
	}
	return low, high
}

// timeTicks are five times, evenly spaced, told as finely as they lie apart.
type timeTicks struct{}

// Ticks of seconds since 1970.
func (timeTicks) Ticks(low, high float64) []gonum.Tick {
	const n = 5
	layout := "2006-01-02"
	switch apart := (high - low) / (n - 1); {
	case apart < 60:
		layout = "15:04:05"
	case apart < 24*3600:
		layout = "01-02 15:04"
	}
	ticks := make([]gonum.Tick, n)
	for i := range ticks {
		x := low + (high-low)*float64(i)/(n-1)
		ticks[i] = gonum.Tick{Value: x, Label: time.Unix(int64(x), 0).UTC().Format(layout)}
	}
	return ticks
}
