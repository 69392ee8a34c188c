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
		names[i] = v.name(im.player)
		box(p, 0, y-.32, im.mean, y+.32, t.down)
		if im.observed > 0 {
			whisker(p, t.ink, im.low, im.high, y)
		}
	}
	namesDown(p, names)
	p.X.Min = 0
	data, err := importanceTable(v, all)
	return &Picture{
		Title: p.Title.Text, Read: "The longer a bar, the more the column moves predictions, up or down; the thin line holds the middle 80 % of rows.",
		Data: data, plot: p, theme: t, width: wide, height: tall(len(shown)),
	}, err
}

func importanceTable(v view, all []importance) (*table.Table, error) {
	names := make([]string, len(all))
	columns := make([][]float64, 5)
	for i, im := range all {
		names[i] = v.Players[im.player]
		for k, x := range []float64{im.mean, im.low, im.high, im.doubt, float64(im.observed)} {
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
	title := fmt.Sprintf("Attributions, %s", rowsWord(v.Rows))
	if len(rows) < v.Rows {
		title = fmt.Sprintf("Attributions, %d of %s", len(rows), rowsWord(v.Rows))
	}
	p := t.newPlot(title, "attribution to "+v.unit, "")
	names := make([]string, len(shown))
	var player []string
	var row, mean, std []float64
	for i, im := range shown {
		y := float64(len(shown) - 1 - i)
		names[i] = v.name(im.player)
		line(p, t.faint, .5, plotter.XYs{{X: 0, Y: y - .45}, {X: 0, Y: y + .45}})
		place := v.place(im.player)
		var dots plotter.XYs
		var styles []draw.GlyphStyle
		for _, r := range rows {
			if !v.there(r, im.player) {
				continue
			}
			c := t.missing
			if share, ok := place(r); ok {
				c = t.ramp(share)
			}
			dots = append(dots, plotter.XY{X: v.mean(r, im.player), Y: 0})
			styles = append(styles, draw.GlyphStyle{Color: pale(c, 190), Radius: vg.Points(1.7), Shape: draw.CircleGlyph{}})
			player, row = append(player, v.Players[im.player]), append(row, float64(v.FirstRow+r))
			mean, std = append(mean, v.mean(r, im.player)), append(std, v.std(r, im.player))
		}
		swarm(dots, y)
		if len(dots) > 0 {
			p.Add(&plotter.Scatter{XYs: dots, GlyphStyleFunc: func(k int) draw.GlyphStyle { return styles[k] }})
		}
		if gaps := v.Rows - im.observed; gaps > 0 {
			names[i] += fmt.Sprintf(" (%d missing)", gaps)
		}
	}
	namesDown(p, names)
	data, err := table.New(table.CategoryColumn("player", player, nil), table.NumberColumn("row", row, nil), table.NumberColumn("mean", mean, nil), table.NumberColumn("std", std, nil))
	return &Picture{
		Title: title, Read: "A dot is a row: right of 0 the column raises the prediction. Orange is a high value of the column, blue a low one, grey a category.",
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
	p := t.newPlot(fmt.Sprintf("Attributions of %d of %s, highest predictions first", len(rows), rowsWord(v.Rows)), "rows, by prediction", "")
	largest := 0.0
	for _, im := range shown {
		for _, r := range rows {
			largest = max(largest, math.Abs(v.mean(r, im.player)))
		}
	}
	names := make([]string, len(shown))
	var player []string
	var row, mean []float64
	for i, im := range shown {
		y := float64(len(shown) - 1 - i)
		names[i] = v.name(im.player)
		for k, r := range rows {
			c := t.faint // missing
			if v.there(r, im.player) {
				c = t.diverging(v.mean(r, im.player) / math.Max(largest, math.SmallestNonzeroFloat64))
			}
			box(p, float64(k), y-.48, float64(k+1), y+.48, c)
			player, row, mean = append(player, v.Players[im.player]), append(row, float64(v.FirstRow+r)), append(mean, v.mean(r, im.player))
		}
	}
	namesDown(p, names)
	p.X.Tick.Marker = gonum.ConstantTicks{}
	data, err := table.New(table.CategoryColumn("player", player, nil), table.NumberColumn("row", row, nil), table.NumberColumn("mean", mean, nil))
	return &Picture{
		Title: p.Title.Text, Read: fmt.Sprintf("A column of cells is a row of the table. Orange raises the prediction, blue lowers it, full colour by %.3g; grey is missing.", largest),
		Data: data, plot: p, theme: t, width: wide, height: tall(len(shown)),
	}, err
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
	p := t.newPlot(fmt.Sprintf("How %d of %s come to their predictions", len(rows), rowsWord(v.Rows)), v.unit, "")
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		low, high = min(low, v.Prediction[r]), max(high, v.Prediction[r])
	}
	names := []string{"prediction"}
	for _, im := range shown {
		names = append(names, v.name(im.player))
	}
	if len(shown) < len(all) {
		names = append(names, fmt.Sprintf("%d others", len(all)-len(shown)))
	}
	var row, value []float64
	var step []string
	for _, r := range rows {
		at := v.Prediction[r]
		xy := plotter.XYs{{X: at, Y: float64(len(names) - 1)}}
		for i, im := range shown { // backwards: take away what was added last
			at -= v.mean(r, im.player)
			xy = append(xy, plotter.XY{X: at, Y: float64(len(names) - 2 - i)})
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
			row, step, value = append(row, float64(v.FirstRow+r)), append(step, names[min(i, len(names)-1)]), append(value, point.X)
		}
	}
	namesDown(p, names)
	data, err := table.New(table.NumberColumn("row", row, nil), table.CategoryColumn("after", step, nil), table.NumberColumn("value", value, nil))
	return &Picture{
		Title: p.Title.Text, Read: "A line is a row, read from below: it starts at the base and ends, at the top, at the prediction; each column moves it sideways.",
		Data: data, plot: p, theme: t, width: wide, height: tall(len(names)),
	}, err
}
