package plot

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// Share is a promise and how often it was kept: a probability and the share of rows that came true, or an interval's
// level and the share of rows within.
type Share struct {
	Promised, Kept float64
	Rows           int
}

// Calibration holds promises against what came true. What names them for the axis, such as "probability".
func Calibration(shares []Share, what string, o Options) (*Picture, error) {
	if len(shares) == 0 {
		return nil, errNoRows
	}
	t := themeOf(o)
	p := t.newPlot("Calibration", what, "share of rows that kept it")
	p.X.Tick.Marker, p.Y.Tick.Marker = fifths(), fifths()
	line(p, t.missing, 1, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, 3, 2)
	var xy plotter.XYs
	var promised, kept, rows []float64
	for _, s := range shares {
		if s.Rows == 0 {
			continue
		}
		// What chance alone would leave of a promise that is kept.
		sd := math.Sqrt(s.Promised * (1 - s.Promised) / float64(s.Rows))
		line(p, t.faint, 5, plotter.XYs{{X: s.Promised, Y: s.Promised - 2*sd}, {X: s.Promised, Y: s.Promised + 2*sd}})
		xy = append(xy, plotter.XY{X: s.Promised, Y: s.Kept})
		promised, kept, rows = append(promised, s.Promised), append(kept, s.Kept), append(rows, float64(s.Rows))
	}
	line(p, t.down, 1.5, xy)
	p.Add(&plotter.Scatter{XYs: xy, GlyphStyle: draw.GlyphStyle{Color: t.down, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	data, err := table.New(table.NumberColumn("promised", promised, nil), table.NumberColumn("kept", kept, nil), table.NumberColumn("rows", rows, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Read: "On the dashed line promises are kept; grey bars are what chance alone leaves with so many rows.",
		Data: data, plot: p, theme: t, width: 4.6 * vg.Inch, height: 4.4 * vg.Inch,
	}), err
}

// fifths are ticks of what lies between 0 and 1.
func fifths() gonum.ConstantTicks {
	ticks := make(gonum.ConstantTicks, 6)
	for i := range ticks {
		ticks[i] = gonum.Tick{Value: float64(i) / 5, Label: strconv.FormatFloat(float64(i)/5, 'f', -1, 64)}
	}
	return ticks
}

// Fidelity holds attributions against the exact Shapley values of the same rows of the same model.
func Fidelity(e, exact *explain.Explanation, o Options) (*Picture, error) {
	v, err := viewOf(e, o)
	if err != nil {
		return nil, err
	}
	w, err := viewOf(exact, o)
	if err != nil {
		return nil, err
	}
	if len(v.Mean) != len(w.Mean) {
		return nil, errors.New("plot: the two explanations are not of the same rows and columns")
	}
	t := themeOf(o)
	var xy plotter.XYs
	var gap, size float64
	computed := &strokes{LineStyle: draw.LineStyle{Color: pale(t.missing, 120), Width: vg.Points(.8)}}
	low, high := math.Inf(1), math.Inf(-1)
	for i, phi := range w.Mean {
		if !v.Observed[i] {
			continue
		}
		xy = append(xy, plotter.XY{X: phi, Y: v.Mean[i]})
		if v.StandardError != nil {
			reach := v.Z * v.StandardError[i]
			computed.add(phi, v.Mean[i]-reach, phi, v.Mean[i]+reach)
		}
		gap, size = gap+(v.Mean[i]-phi)*(v.Mean[i]-phi), size+phi*phi
		low, high = min(low, phi, v.Mean[i]), max(high, phi, v.Mean[i])
	}
	if len(xy) == 0 {
		return nil, errors.New("plot: every cell is missing")
	}
	p := t.newPlot(fmt.Sprintf("Fidelity: off by %s of the size of Shapley values", digits(math.Sqrt(gap/math.Max(size, math.SmallestNonzeroFloat64)))), "Shapley value, from all coalitions", "attribution")
	line(p, t.missing, 1, plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}, 3, 2)
	read := "Dots on the dashed line are attributions that are the model's Shapley values."
	if v.StandardError != nil {
		p.Add(computed)
		read += fmt.Sprintf(" Bars are ± %.3g standard errors of the computation.", v.Z)
	}
	swarm := &dots{radius: vg.Points(1.6)}
	for _, point := range xy {
		swarm.add(point.X, point.Y, t.down)
	}
	p.Add(swarm)
	phi, f := make([]float64, len(xy)), make([]float64, len(xy))
	for i, point := range xy {
		phi[i], f[i] = point.X, point.Y
	}
	data, err := table.New(table.NumberColumn("shapley", phi, nil), table.NumberColumn("attribution", f, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(),
		Data: data, plot: p, theme: t, width: 4.8 * vg.Inch, height: 4.6 * vg.Inch,
	}), err
}
