package plot

import (
	"cmp"
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

// Bar shows how much each player moves predictions: the mean of |attribution|, and the middle 80 % of it.
func Bar(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	t, all := themeOf(o), v.importances()
	shown := all[:min(len(all), o.most())]
	p := t.newPlot(fmt.Sprintf("Importance of columns, %s", rowsWord(v.Rows)), "mean size of the attribution to "+v.unit, "")
	names := make([]string, len(shown))
	for i, im := range shown {
		y := float64(len(shown) - 1 - i)
		names[i] = v.named(im)
		box(p, 0, y-.32, im.Mean, y+.32, t.down)
		if im.Observed > 0 {
			whisker(p, t.ink, im.Low, im.High, y)
		}
	}
	namesDown(p, names)
	p.X.Min = 0
	data, err := importanceTable(v, all)
	return &Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: "The longer a bar, the more the column moves predictions, up or down; the thin line holds the middle 80 % of rows." + beyond(len(shown), len(all)),
		Data: data, plot: p, theme: t, width: wide, height: tall(len(shown)),
	}, err
}

func importanceTable(v view, all []explain.Importance) (*table.Table, error) {
	names := make([]string, len(all))
	columns := make([][]float64, 5)
	for i, im := range all {
		names[i] = v.Players[im.Player]
		for k, x := range []float64{im.Mean, im.Low, im.High, im.Spread, float64(im.Observed)} {
			columns[k] = append(columns[k], x)
		}
	}
	return table.New(
		table.CategoryColumn("player", names, nil), table.NumberColumn("mean_size", columns[0], nil), table.NumberColumn("size_10", columns[1], nil),
		table.NumberColumn("size_90", columns[2], nil), table.NumberColumn("share_of_variance", columns[3], nil), table.NumberColumn("observed", columns[4], nil))
}

// Beeswarm shows a dot for each row and player: how the attribution hangs on the value of the cell.
func Beeswarm(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	t, all := themeOf(o), v.importances()
	shown := all[:min(len(all), o.most())]
	rows := someRows(v.Rows)
	p := t.newPlot("Attributions, "+someOf(len(rows), v.Rows), "attribution to "+v.unit, "")
	names := make([]string, len(shown))
	var player []string
	var row, mean, std []float64
	for i, im := range shown {
		y := float64(len(shown) - 1 - i)
		names[i] = v.named(im)
		line(p, t.faint, .5, plotter.XYs{{X: 0, Y: y - .45}, {X: 0, Y: y + .45}})
		place := v.place(im.Player)
		var dots plotter.XYs
		var styles []draw.GlyphStyle
		var bars []float64
		for _, r := range rows {
			if !v.there(r, im.Player) {
				continue
			}
			c := t.missing
			if share, ok := place(r); ok {
				c = t.ramp(share)
			}
			dots, bars = append(dots, plotter.XY{X: v.mean(r, im.Player), Y: 0}), append(bars, v.bar(r, im.Player))
			styles = append(styles, draw.GlyphStyle{Color: pale(c, 190), Radius: vg.Points(1.7), Shape: draw.CircleGlyph{}})
			player, row = append(player, v.Players[im.Player]), append(row, float64(v.FirstRow+r))
			mean, std = append(mean, v.mean(r, im.Player)), append(std, v.std(r, im.Player))
		}
		swarm(dots, y)
		if len(dots) > 0 {
			doubt := &strokes{LineStyle: draw.LineStyle{Color: t.faint, Width: vg.Points(.5)}}
			for k, d := range dots {
				doubt.add(d.X-bars[k], d.Y, d.X+bars[k], d.Y)
			}
			p.Add(doubt)
			p.Add(&plotter.Scatter{XYs: dots, GlyphStyleFunc: func(k int) draw.GlyphStyle { return styles[k] }})
		}
	}
	namesDown(p, names)
	data, err := table.New(table.CategoryColumn("player", player, nil), table.NumberColumn("row", row, nil), table.NumberColumn("mean", mean, nil), table.NumberColumn("std", std, nil))
	return &Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: fmt.Sprintf("Each dot is a row: right of 0 the column raises the prediction. Orange is a high value of the column, blue a low one, grey a category; "+
			"pale lines are %s.", v.bars()) + beyond(len(shown), len(all)),
		Data: data, plot: p, theme: t, width: wide, height: tall(len(shown)),
	}, err
}

// swarm moves dots up and down where they would lie on each other.
func swarm(dots plotter.XYs, y float64) {
	const bins, lane, widest = 90, .07, .4
	low, high := math.Inf(1), math.Inf(-1)
	for _, d := range dots {
		low, high = min(low, d.X), max(high, d.X)
	}
	taken := map[int]int{}
	for i, d := range dots {
		bin := 0
		if high > low {
			bin = int(bins * (d.X - low) / (high - low))
		}
		n := taken[bin]
		taken[bin]++
		side := float64((n+1)/2) * lane
		if n%2 == 1 {
			side = -side
		}
		dots[i].Y = y + math.Max(-widest, math.Min(widest, side))
	}
}

// Heatmap shows the attributions of many rows at once, those with the highest predictions on the left.
func Heatmap(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	t, all := themeOf(o), v.importances()
	shown := all[:min(len(all), o.most())]
	const mostColumns = 160
	rows := someRows(v.Rows)
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(v.Prediction[b], v.Prediction[a]) })
	for len(rows) > mostColumns {
		rows = everySecond(rows)
	}
	p := t.newPlot(fmt.Sprintf("Attributions of %s, highest predictions first", someOf(len(rows), v.Rows)), "rows, by prediction", "")
	full := v.fullColour(shown, rows)
	names := make([]string, len(shown))
	var player []string
	var row, mean, std []float64
	var there []bool
	for i, im := range shown {
		y := float64(len(shown) - 1 - i)
		names[i] = v.named(im)
		for k, r := range rows {
			c, half := t.faint, .48 // missing
			if v.there(r, im.Player) {
				c = t.diverging(v.mean(r, im.Player) / full)
				if low, high := v.interval(r, im.Player); low <= 0 && high >= 0 {
					half = .2
				}
			}
			box(p, float64(k), y-half, float64(k+1), y+half, c)
			player, row, there = append(player, v.Players[im.Player]), append(row, float64(v.FirstRow+r)), append(there, v.there(r, im.Player))
			mean, std = append(mean, v.mean(r, im.Player)), append(std, v.std(r, im.Player))
		}
	}
	namesDown(p, names)
	p.X.Tick.Marker = gonum.ConstantTicks{}
	data, err := table.New(table.CategoryColumn("player", player, nil), table.NumberColumn("row", row, nil), table.NumberColumn("mean", mean, there), table.NumberColumn("std", std, there))
	return &Picture{
		Title: p.Title.Text, Exact: v.Exactness(),
		Read: fmt.Sprintf("Each column of cells is a row of the table. Orange raises the prediction, blue lowers it, in full colour from %.3g on; "+
			"of a low cell %s holds 0; grey is missing.", full, v.bars()) + beyond(len(shown), len(all)),
		Data: data, plot: p, theme: t, width: wide, height: tall(len(shown)),
	}, err
}

// fullColour is the size of attribution from which on a cell has its full colour: all but the largest hundredth are below
// it, lest a few extremes leave the rest pale.
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

// Decision follows rows from the base to their predictions, player by player, the most important last.
func Decision(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	const mostRows = 40
	t, all := themeOf(o), v.importances()
	shown := all[:min(len(all), o.most())]
	rows := someRows(v.Rows)
	for len(rows) > mostRows {
		rows = everySecond(rows)
	}
	p := t.newPlot(fmt.Sprintf("How %s come to their predictions", someOf(len(rows), v.Rows)), v.unit, "")
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		low, high = min(low, v.Prediction[r]), max(high, v.Prediction[r])
	}
	names, steps := []string{"prediction"}, []string{"prediction"}
	for _, im := range shown {
		names, steps = append(names, v.named(im)), append(steps, v.Players[im.Player])
	}
	if len(shown) < len(all) {
		names, steps = append(names, fmt.Sprintf("%d others", len(all)-len(shown))), append(steps, "others")
	}
	var row, value []float64
	var step []string
	var gaps plotter.XYs
	for _, r := range rows {
		at := v.Prediction[r]
		xy := plotter.XYs{{X: at, Y: float64(len(names) - 1)}}
		for i, im := range shown { // backwards: take away what was added last
			at -= v.mean(r, im.Player)
			xy = append(xy, plotter.XY{X: at, Y: float64(len(names) - 2 - i)})
			if !v.there(r, im.Player) {
				gaps = append(gaps, plotter.XY{X: at, Y: float64(len(names)-2-i) + .5})
			}
		}
		if len(shown) < len(all) {
			xy = append(xy, plotter.XY{X: v.Base[r], Y: -.5})
		}
		share := .5
		if high > low {
			share = (v.Prediction[r] - low) / (high - low)
		}
		line(p, pale(t.ramp(share), 150), 1, xy)
		for i, point := range xy {
			row, step, value = append(row, float64(v.FirstRow+r)), append(step, steps[min(i, len(steps)-1)]), append(value, point.X)
		}
	}
	read := "Each line is a row, read from below: it starts at the base and ends, at the top, at the prediction; each column moves it sideways."
	if len(gaps) > 0 {
		p.Add(&plotter.Scatter{XYs: gaps, GlyphStyle: draw.GlyphStyle{Color: t.missing, Radius: vg.Points(2), Shape: draw.RingGlyph{}}})
		read += " Rings are missing cells, which do nothing."
	}
	namesDown(p, names)
	data, err := table.New(table.NumberColumn("row", row, nil), table.CategoryColumn("after", step, nil), table.NumberColumn("value", value, nil))
	return &Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t, width: wide, height: tall(len(names)),
	}, err
}
