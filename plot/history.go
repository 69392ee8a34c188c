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

	"github.com/psi-shapley/psi/table"
)

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
