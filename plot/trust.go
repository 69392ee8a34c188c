package plot

import (
	"encoding/csv"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	gonum "gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// CalibrationPoint is a nominal and an observed value: a probability and the share of rows in the class, or the level
// of an interval and its coverage.
type CalibrationPoint struct {
	Nominal, Observed float64
	Rows              int
}

// Calibration compares nominal with observed values. what labels the axis, such as "probability".
func Calibration(points []CalibrationPoint, what string, o Options) (*Picture, error) {
	if len(points) == 0 {
		return nil, errNoRows
	}
	t := themeOf(o)
	p := t.newPlot("Calibration", what, "observed share of rows")
	p.X.Tick.Marker, p.Y.Tick.Marker = fifths(), fifths()
	line(p, t.missing, 1, plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}, 3, 2)
	var xy plotter.XYs
	var nominal, observed, rows []float64
	for _, s := range points {
		if s.Rows == 0 {
			continue
		}
		// Deviation that chance alone causes under perfect calibration.
		sd := math.Sqrt(s.Nominal * (1 - s.Nominal) / float64(s.Rows))
		line(p, t.faint, 5, plotter.XYs{{X: s.Nominal, Y: s.Nominal - 2*sd}, {X: s.Nominal, Y: s.Nominal + 2*sd}})
		xy = append(xy, plotter.XY{X: s.Nominal, Y: s.Observed})
		nominal, observed, rows = append(nominal, s.Nominal), append(observed, s.Observed), append(rows, float64(s.Rows))
	}
	line(p, t.down, 1.5, xy)
	p.Add(&plotter.Scatter{XYs: xy, GlyphStyle: draw.GlyphStyle{Color: t.down, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	data, err := table.New(table.NumberColumn("promised", nominal, nil), table.NumberColumn("kept", observed, nil), table.NumberColumn("rows", rows, nil))
	return o.settle(&Picture{
		Title: p.Title.Text, Read: "On the dashed line the model is well calibrated. Grey bars show the variation to expect from chance alone with this number of rows.",
		Data: data, plot: p, theme: t, width: 4.6 * vg.Inch, height: 4.4 * vg.Inch,
	}), err
}

// fifths returns ticks between 0 and 1.
func fifths() gonum.ConstantTicks {
	ticks := make(gonum.ConstantTicks, 6)
	for i := range ticks {
		ticks[i] = gonum.Tick{Value: float64(i) / 5, Label: strconv.FormatFloat(float64(i)/5, 'f', -1, 64)}
	}
	return ticks
}

// Fidelity compares attributions with the exact Shapley values of the same rows and model.
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
		return nil, errors.New("plot: the two explanations have different rows or columns")
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
	p := t.newPlot(fmt.Sprintf("Fidelity: error is %s of the size of Shapley values", digits(math.Sqrt(gap/math.Max(size, math.SmallestNonzeroFloat64)))), "Shapley value, from all coalitions", "attribution")
	line(p, t.missing, 1, plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}, 3, 2)
	read := "Dots on the dashed line are attributions that equal the model's Shapley values."
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

// scored holds the scores of a phase of a training: a line for each run.
type scored struct {
	name string
	runs []plotter.XYs
}

// History draws the validation score over the steps of a training, with separate axes for each phase. It reads the CSV
// of Model.History: member, phase, step, loss, score.
func History(r io.Reader, o Options) (*Picture, error) {
	lines, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("plot: history: %w", err)
	}
	var step, score []float64
	var phase []string
	var phases []*scored
	known := map[string]*scored{}
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
		of := known[cells[1]]
		if of == nil {
			of = &scored{name: cells[1]}
			known[cells[1]], phases = of, append(phases, of)
		}
		if run := cells[0] + "/" + cells[1]; run != before {
			offset, before = offset+last, run
			of.runs = append(of.runs, nil)
		}
		last = at
		run := &of.runs[len(of.runs)-1]
		*run = append(*run, plotter.XY{X: offset + at, Y: y})
		step, score, phase = append(step, offset+at), append(score, y), append(phase, cells[1])
	}
	if len(phases) == 0 {
		return nil, errors.New("plot: the model has no history")
	}
	if curves := slices.DeleteFunc(slices.Clone(phases), (*scored).lacksCurve); len(curves) > 0 {
		phases = curves
	}
	t := themeOf(o)
	plots := make([]*gonum.Plot, len(phases))
	for k, of := range phases {
		plots[k] = of.plot(t, t.series(k))
	}
	plots[0].Title.Text = "Training: error on validation rows"
	plots[len(plots)-1].X.Label.Text = "step"
	data, err := table.New(table.CategoryColumn("phase", phase, nil), table.NumberColumn("step", step, nil), table.NumberColumn("score", score, nil))
	return o.settle(&Picture{
		Title: plots[0].Title.Text, Read: "Lower is better. Each phase of training has its own metric and its own axis.",
		Data: data, plot: plots[0], below: plots[1:], theme: t, width: wide, height: vg.Points(70 + 130*float64(len(plots))),
	}), err
}

// lacksCurve reports whether no run of the phase has two scores: a single point makes an empty panel.
func (s *scored) lacksCurve() bool {
	return !slices.ContainsFunc(s.runs, func(xy plotter.XYs) bool { return len(xy) > 1 })
}

func (s *scored) plot(t theme, c color.Color) *gonum.Plot {
	p := t.newPlot("", "", s.name)
	for _, xy := range s.runs {
		line(p, c, 1.6, xy)
	}
	return p
}
