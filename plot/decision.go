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

// Decision draws a decision plot: the path of each row from the base to its prediction, player by player, the most
// important last.
func Decision(e *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	const maxRows = 40
	shown, err := v.choose(o)
	if err != nil {
		return nil, err
	}
	t, all, rows := themeOf(o), v.importances(), someRows(v.Rows, maxRows)
	p := t.newPlot(fmt.Sprintf("From base to prediction, %s", shownOfAll(len(rows), v.Rows)), v.unit, "")
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
		for i, im := range shown { // backwards: subtract what was added last
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
			row, step, value = append(row, float64(v.number(r))), append(step, steps[min(i, len(steps)-1)]), append(value, point.X)
		}
	}
	read := "Each line is a row; read it from the bottom up. It starts at the base and ends at the prediction; each column moves it sideways."
	if len(gaps) > 0 {
		p.Add(&plotter.Scatter{XYs: gaps, GlyphStyle: draw.GlyphStyle{Color: t.missing, Radius: vg.Points(2), Shape: draw.RingGlyph{}}})
		read += " Rings are missing cells, which have no effect."
	}
	namesDown(p, names)
	data, err := table.New(table.NumberColumn("row", row, nil), table.CategoryColumn("after", step, nil), table.NumberColumn("value", value, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(), Data: data, plot: p, theme: t, width: wide, height: tall(len(names)),
	}), err
}
