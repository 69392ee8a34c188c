package plot

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

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
			if barred[rows[k]] {
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
		Read: fmt.Sprintf("Each dot is a row: right of 0 the column raises the prediction; thicker means more rows. Orange is a high value of the column, blue a low one, grey a category; "+
			"pale lines are %s%s.", v.bars(), someBars(v.Rows, maxBars)) + beyond(len(shown), len(v.Players), o.Columns),
		Data: drawn, plot: p, theme: t, width: wide, height: tall(len(shown)),
		side: colourBar{title: "value of the column", low: "low", high: "high", colour: t.ramp},
	}), err
}

// rampSteps is the number of distinct colours from low to high; more make files larger.
const rampSteps = 24

// someBars says how many intervals are drawn if there is no room for all.
func someBars(rows, most int) string {
	if rows <= most {
		return ""
	}
	return fmt.Sprintf(", for %d of the rows", most)
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
	row, mean, std []float64
}

func (c *cellData) add(v view, row, player int) {
	c.player, c.row = append(c.player, v.Players[player]), append(c.row, float64(v.number(row)))
	c.mean, c.std = append(c.mean, v.mean(row, player)), append(c.std, v.std(row, player))
}

// table omits the numbers of cells that are not there; nil means that all are.
func (c *cellData) table(there []bool) (*table.Table, error) {
	return table.New(table.CategoryColumn("player", c.player, nil), table.NumberColumn("row", c.row, nil), table.NumberColumn("mean", c.mean, there), table.NumberColumn("std", c.std, there))
}
