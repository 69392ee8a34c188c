package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
)

const (
	histogramBars = 20
	maxConfused   = 12 // maximum number of classes in a table
)

// outcomes accumulates predictions and targets over all rows.
type outcomes struct {
	manifest            psi.Manifest
	evaluator           *psi.Evaluator
	curve               *psi.CalibrationCurve
	rows                int
	labelled            int
	bars                []HistogramBar
	counts              [][]int   // [true class][predicted class]
	of                  []float64 // weight of each true class
	sum, square, weight float64   // for a number
}

func newOutcomes(m *psi.Model) *outcomes {
	o := &outcomes{manifest: m.Manifest(), evaluator: m.NewEvaluator(), curve: m.NewCalibrationCurve()}
	classes := o.manifest.Classes()
	o.of = make([]float64, len(classes))
	o.counts = make([][]int, len(classes))
	for k := range o.counts {
		o.counts[k] = make([]int, len(classes))
	}
	if o.manifest.Task == psi.Binary {
		o.bars = make([]HistogramBar, histogramBars)
		for i := range o.bars {
			o.bars[i].Low, o.bars[i].High = float64(i)/histogramBars, float64(i+1)/histogramBars
		}
	}
	return o
}

func (o *outcomes) add(x *psi.Outcome) {
	o.evaluator.Add(x)
	o.curve.Add(x)
	o.rows += x.Rows()
	for i := range x.Rows() {
		y := math.NaN()
		if x.Truth != nil {
			y = x.Truth[i]
		}
		o.count(x, i, y)
		if math.IsNaN(y) {
			continue
		}
		o.labelled++
		if o.manifest.Classes() != nil {
			o.of[int(y)] += x.Weight[i]
			o.counts[int(y)][x.Label(i)]++
		}
		o.sum, o.square, o.weight = o.sum+x.Weight[i]*y, o.square+x.Weight[i]*y*y, o.weight+x.Weight[i]
	}
}

// count adds a row to the histogram of probabilities.
func (o *outcomes) count(x *psi.Outcome, i int, y float64) {
	if o.bars == nil {
		return
	}
	bar := &o.bars[int(max(0, min(histogramBars-1, histogramBars*x.Probability[i])))]
	switch y {
	case 0:
		bar.Negative++
	case 1:
		bar.Positive++
	default:
		bar.Unknown++
	}
}

// performance summarises the outcomes. If no row has a target, it contains only the metrics of the model's own
// validation rows.
func (o *outcomes) performance() Performance {
	p := Performance{Metrics: []Metric{}, Baselines: []Plain{}, Histogram: o.bars}
	named := o.unmeasured()
	measured, err := o.evaluator.Evaluation()
	if err == nil {
		named = measured.Metrics
	}
	for _, m := range named {
		metric := Metric{Name: m.Name, Meaning: m.Meaning, InTargetUnits: m.InTargetUnits}
		if err == nil {
			metric.Value = known(m.Value)
		}
		if v, stored := o.manifest.Metrics[m.Name]; stored {
			metric.Validation = &v
		}
		p.Metrics = append(p.Metrics, metric)
	}
	for _, b := range o.manifest.PlainModels() {
		plain := Plain{Name: b.Name, Label: b.Label(o.manifest.Task)}
		for _, m := range named {
			if v, measured := b.Metrics[m.Name]; measured {
				plain.Values = append(plain.Values, &v)
			} else {
				plain.Values = append(plain.Values, nil)
			}
		}
		p.Baselines = append(p.Baselines, plain)
	}
	if o.labelled == 0 || o.weight == 0 {
		return p
	}
	switch classes := o.manifest.Classes(); {
	case classes == nil:
		mean := o.sum / o.weight
		p.Plain, p.PlainGuess = known(math.Sqrt(max(0, o.square/o.weight-mean*mean))), "the mean of all rows"
	default:
		largest := slices.Index(o.of, slices.Max(o.of))
		p.Plain, p.PlainGuess = known(o.of[largest]/o.weight), classes[largest]
		p.Decisions = o.decisions()
		if len(classes) > 2 && len(classes) <= maxConfused {
			p.Confusion = &Confusion{classes, o.counts}
		}
	}
	return p
}

// unmeasured returns the metrics of the task without values.
func (o *outcomes) unmeasured() []eval.Metric {
	switch o.manifest.Task {
	case psi.Binary:
		return (&eval.Binary{}).Evaluation().Metrics
	case psi.Multiclass:
		return (&eval.Multiclass{}).Evaluation().Metrics
	}
	return (&eval.Regression{}).Evaluation().Metrics
}

// rareShare is the share of positive rows below which few of them reach a probability of ½.
const rareShare = .1

// decisions returns the decisions at each threshold that a reader may choose; nil unless there are two classes.
func (o *outcomes) decisions() *Decisions {
	d := &Decisions{}
	for _, threshold := range thresholds() {
		at, err := o.evaluator.Decide(threshold)
		if err != nil {
			return nil
		}
		d.At = append(d.At, at)
	}
	d.First = firstThreshold(o.of[1] / o.weight)
	return d
}

// firstThreshold returns the index of the threshold shown first: ½ or, for a rare class, the one nearest to its share
// of the rows.
func firstThreshold(share float64) int {
	if share >= rareShare {
		share = .5
	}
	first, list := 0, thresholds()
	for i, threshold := range list {
		if math.Abs(threshold-share) < math.Abs(list[first]-share) {
			first = i
		}
	}
	return first
}

// thresholds returns steps of a hundredth, and finer steps towards 0 and 1.
func thresholds() []float64 {
	var list []float64
	steps := func(from, to int, unit float64) {
		for i := from; i <= to; i++ {
			list = append(list, float64(i)/unit)
		}
	}
	steps(1, 9, 10_000)
	steps(1, 9, 1000)
	steps(1, 99, 100)
	steps(991, 999, 1000)
	return list
}

// slopeWords explains that probabilities of rows with missing cells differ from those of their scores. κ(s) = exp(b·(1
// − s)) multiplies the distance of the score from the base, where s is the row's share of known columns. It returns ""
// if κ is 1. by says how the model came to be.
func slopeWords(c psi.Calibration, by made) string {
	if c.Slope == 0 {
		return ""
	}
	where := "nearer to the base rate"
	if c.Slope > 0 {
		where = "farther from the base rate"
	}
	return fmt.Sprintf("In rows with missing cells, the probability lies %s than the score alone implies. With half of the columns missing, the distance of the score from the base is multiplied by %.2f "+
		"before it becomes a probability. This factor was fitted on %s. Scores and attributions do not change.", where, math.Exp(c.Slope/2), by.measuredRows())
}
