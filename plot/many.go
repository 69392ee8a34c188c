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

// view is one output of an explanation, as rows of players.
type view struct {
	*explain.Explanation
	unit string // of attributions, for an axis
}

// viewOf takes one output: the one asked for, or the first.
func viewOf(e *explain.Explanation, o Options) (view, error) {
	if e.Rows == 0 {
		return view{}, errNoRows
	}
	output := o.Output
	if output == "" {
		output = e.Outputs[0]
	}
	if len(e.Outputs) > 1 || o.Output != "" {
		only, err := e.Only(output)
		if err != nil {
			return view{}, err
		}
		e = only
	}
	unit := "the prediction"
	switch e.Scale {
	case explain.Logit:
		unit = fmt.Sprintf("the log odds of %s", shorten(e.Outputs[0], 30))
	case explain.Score:
		unit = fmt.Sprintf("the score of %s", shorten(e.Outputs[0], 30))
	}
	return view{e, unit}, nil
}

func (v view) mean(row, player int) float64 { return v.Mean[row*len(v.Players)+player] }
func (v view) std(row, player int) float64  { return v.Std[row*len(v.Players)+player] }
func (v view) there(row, player int) bool   { return v.Observed[row*len(v.Players)+player] }
func (v view) name(player int) string       { return shorten(v.Players[player], 28) }
func (v view) interval(row, d int) (lo, hi float64) {
	return v.mean(row, d) - v.Z*v.std(row, d), v.mean(row, d) + v.Z*v.std(row, d)
}

// importance is what a player does over all rows.
type importance struct {
	player    int
	mean      float64 // of |f_d|, over rows in which it is observed
	low, high float64 // that hold the middle 80 % of |f_d|
	doubt     float64 // share of Σσ² that is the player's
	observed  int
}

// importances are those of all players, the greatest first.
func (v view) importances() []importance {
	list := make([]importance, len(v.Players))
	total := 0.0
	for d := range list {
		var sizes []float64
		variance := 0.0
		for row := range v.Rows {
			if v.there(row, d) {
				sizes = append(sizes, math.Abs(v.mean(row, d)))
				variance += v.std(row, d) * v.std(row, d)
			}
		}
		list[d] = importance{player: d, observed: len(sizes), doubt: variance}
		total += variance
		if len(sizes) == 0 {
			continue
		}
		slices.Sort(sizes)
		for _, s := range sizes {
			list[d].mean += s / float64(v.Rows) // where it is missing it does nothing
		}
		list[d].low, list[d].high = quantile(sizes, .1), quantile(sizes, .9)
	}
	for d := range list {
		if total > 0 {
			list[d].doubt /= total
		}
	}
	slices.SortStableFunc(list, func(a, b importance) int { return cmp.Compare(b.mean, a.mean) })
	return list
}

// quantile of sorted values, between the two nearest.
func quantile(sorted []float64, share float64) float64 {
	at := share * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// tall is the height of a picture with a line for each of n players.
func tall(n int) vg.Length { return vg.Points(90 + 22*float64(n)) }

const wide = 7.2 * vg.Inch

func rowsWord(n int) string {
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

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

// mostDots are drawn of a player; more make a file large and the picture no clearer.
const mostDots = 400

// someRows are at most mostDots rows, evenly taken.
func someRows(n int) []int {
	step := max(1, (n+mostDots-1)/mostDots)
	rows := make([]int, 0, n/step+1)
	for row := 0; row < n; row += step {
		rows = append(rows, row)
	}
	return rows
}

// place is where a cell lies among the values of its column, 0 to 1; categories have none.
func (v view) place(player int) func(row int) (share float64, ok bool) {
	c := v.Values[player]
	if c == nil || c.Kind == table.Category {
		return func(int) (float64, bool) { return 0, false }
	}
	var sorted []float64
	for row, x := range c.Numbers {
		if c.Observed[row] {
			sorted = append(sorted, x)
		}
	}
	slices.Sort(sorted)
	return func(row int) (float64, bool) {
		if !c.Observed[row] || len(sorted) < 2 || sorted[0] == sorted[len(sorted)-1] {
			return .5, c.Observed[row]
		}
		low, _ := slices.BinarySearch(sorted, c.Numbers[row])
		high, _ := slices.BinarySearchFunc(sorted, c.Numbers[row], func(x, target float64) int {
			if x <= target {
				return -1
			}
			return 1
		})
		return float64(low+high) / 2 / float64(len(sorted)), true
	}
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

func everySecond(rows []int) []int {
	var kept []int
	for i := 0; i < len(rows); i += 2 {
		kept = append(kept, rows[i])
	}
	return kept
}
