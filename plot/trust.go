package plot

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
	return &Picture{
		Title: p.Title.Text, Read: "On the dashed line promises are kept; grey bars are what chance alone leaves with so many rows.",
		Data: data, plot: p, theme: t, width: 4.6 * vg.Inch, height: 4.4 * vg.Inch,
	}, err
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
	p := t.newPlot(fmt.Sprintf("Fidelity: off by %.2g of the size of Shapley values", math.Sqrt(gap/math.Max(size, math.SmallestNonzeroFloat64))), "Shapley value, from all coalitions", "attribution")
	line(p, t.missing, 1, plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}, 3, 2)
	read := "Dots on the dashed line are attributions that are the model's Shapley values."
	if v.StandardError != nil {
		p.Add(computed)
		read += fmt.Sprintf(" Bars are ± %.3g standard errors of the computation.", v.Z)
	}
	p.Add(&plotter.Scatter{XYs: xy, GlyphStyle: draw.GlyphStyle{Color: pale(t.down, 150), Radius: vg.Points(1.6), Shape: draw.CircleGlyph{}}})
	phi, f := make([]float64, len(xy)), make([]float64, len(xy))
	for i, point := range xy {
		phi[i], f[i] = point.X, point.Y
	}
	data, err := table.New(table.NumberColumn("shapley", phi, nil), table.NumberColumn("attribution", f, nil))
	return &Picture{
		Title: p.Title.Text, Read: read, Exact: v.Exactness(),
		Data: data, plot: p, theme: t, width: 4.8 * vg.Inch, height: 4.6 * vg.Inch,
	}, err
}

// History shows the loss of training rows and the score of validation rows over the steps of a training, from the CSV
// that a model keeps: member, phase, step, loss, score.
func History(r io.Reader, o Options) (*Picture, error) {
	lines, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("plot: history: %w", err)
	}
	t := themeOf(o)
	p := t.newPlot("Training", "step", "error of validation rows")
	var step, score []float64
	var phase []string
	series := map[string]int{}
	var curves []plotter.XYs
	var names []string
	offset, before, last := 0.0, "", 0.0
	for i, cells := range lines {
		if i == 0 || len(cells) != 5 || cells[4] == "" {
			continue
		}
		at, err1 := strconv.ParseFloat(cells[2], 64)
		y, err2 := strconv.ParseFloat(cells[4], 64)
		if err1 != nil || err2 != nil || math.IsNaN(y) {
			continue
		}
		key := cells[0] + "/" + cells[1]
		if key != before {
			offset, before = offset+last, key
		}
		last = at
		k, known := series[cells[1]]
		if !known {
			k = len(curves)
			series[cells[1]], curves, names = k, append(curves, nil), append(names, cells[1])
		}
		curves[k] = append(curves[k], plotter.XY{X: offset + at, Y: y})
		step, score, phase = append(step, offset+at), append(score, y), append(phase, cells[1])
	}
	if len(curves) == 0 {
		return nil, errors.New("plot: the model has no history")
	}
	for k, xy := range curves {
		p.Legend.Add(names[k], line(p, t.series(k), 1.6, xy))
	}
	data, err := table.New(table.CategoryColumn("phase", phase, nil), table.NumberColumn("step", step, nil), table.NumberColumn("score", score, nil))
	return &Picture{
		Title: p.Title.Text, Read: "Lower is better; each phase of the training has its colour and its own measure.",
		Data: data, plot: p, theme: t, width: wide, height: 3.8 * vg.Inch,
	}, err
}
