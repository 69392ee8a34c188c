package psi

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// Outcome pairs the predictions of consecutive rows with their targets.
type Outcome struct {
	*Prediction
	// Truth holds numbers or indices into Classes. It is NaN where the target is missing, and nil if the table has no
	// target column.
	Truth  []float64
	Weight []float64 // row weights: 1, unless the model was trained with weights and the table has them
}

// Outcomes yields predictions and targets of the rows of a source in chunks. It stops at the first error, which it
// yields.
func (m *Model) Outcomes(ctx context.Context, rows Source) iter.Seq2[*Outcome, error] {
	return eachChunk(ctx, m, rows, span{}, nil, func(ctx context.Context, c *chunk) (*Outcome, error) {
		o := &Outcome{Weight: make([]float64, c.batch.Rows)}
		weight := m.weights(c.table)
		for i := range o.Weight {
			o.Weight[i] = weight(i)
		}
		var err error
		if c.table.Column(m.manifest.Target) != nil {
			if o.Truth, err = m.truth(c.table); err != nil {
				return nil, err
			}
		}
		o.Prediction, err = m.predict(ctx, c.batch, c.first)
		return o, err
	})
}

// Evaluate measures predictions on the rows of a source that have a target; other rows are skipped. If the model was
// trained with weights and the source has them, rows are weighted. Evaluate reads the source to its end and does not
// close it.
func (m *Model) Evaluate(ctx context.Context, rows Source) (*eval.Evaluation, error) {
	return m.EvaluateAt(ctx, rows)
}

// EvaluateAt is Evaluate with decisions at thresholds of the positive class's probability. Thresholds need a target
// with two classes.
func (m *Model) EvaluateAt(ctx context.Context, rows Source, thresholds ...float64) (*eval.Evaluation, error) {
	all := m.NewEvaluator()
	for _, threshold := range thresholds {
		if _, err := all.Decide(threshold); err != nil { // fail before rows are read
			return nil, err
		}
	}
	for o, err := range m.Outcomes(ctx, rows) {
		if err != nil {
			return nil, err
		}
		if o.Truth == nil {
			return nil, m.lacksTarget()
		}
		all.Add(o)
	}
	e, err := all.Evaluation()
	if err != nil {
		return nil, err
	}
	for _, threshold := range thresholds {
		d, err := all.Decide(threshold)
		if err != nil {
			return nil, err
		}
		e.Decisions = append(e.Decisions, d)
	}
	return e, nil
}

func (m *Model) lacksTarget() error {
	return &table.Error{Row: -1, Column: m.manifest.Target, Message: "the table lacks the target column", Remedy: "give rows whose outcome is known"}
}

// weights returns the row weights of a table: 1, unless the model was trained with weights and the table has them.
func (m *Model) weights(t *table.Table) func(row int) float64 {
	column := t.Column(m.manifest.Weight)
	if m.manifest.Weight == "" || column == nil || column.Kind == table.Category {
		return func(int) float64 { return 1 }
	}
	return func(row int) float64 {
		if !column.Observed[row] {
			return 0
		}
		return max(0, column.Numbers[row])
	}
}

// truth returns the targets of a table: numbers in their own units, or indices of classes. Missing targets are NaN.
func (m *Model) truth(t *table.Table) ([]float64, error) {
	column := t.Column(m.manifest.Target)
	encoded, err := m.manifest.Scale.Encode(column, nil)
	if err != nil {
		return nil, err
	}
	y := make([]float64, len(encoded))
	for i, v := range encoded {
		switch {
		case m.classes() || !column.Observed[i]:
			y[i] = float64(v)
		default:
			y[i] = column.Numbers[i] // in full precision
		}
	}
	return y, nil
}

// measure evaluates encoded rows.
func (m *Model) measure(ctx context.Context, d train.Data) (map[string]float64, error) {
	p, err := m.predict(ctx, d.Rows, 0)
	if err != nil {
		return nil, err
	}
	all := m.NewEvaluator()
	for i, y := range labels(d, m.manifest.Scale) {
		all.add(p, i, y, float64(d.Weight[i]))
	}
	return finiteMetrics(all.evaluation()), nil
}

// labels returns the targets of rows that t encoded: numbers in their own units, or indices of classes.
func labels(d train.Data, t encode.Target) []float64 {
	y := make([]float64, len(d.Target))
	for i, v := range d.Target {
		if y[i] = float64(v); t.Task == Regression {
			y[i] = t.Decode(v)
		}
	}
	return y
}

// Evaluator accumulates predictions and targets in chunks and computes metrics. It is not safe for concurrent use.
type Evaluator struct {
	target     string
	task       Task
	regression eval.Regression
	binary     eval.Binary
	multiclass eval.Multiclass
	known      bool // whether any row has a target
	noStd      bool // predictions have no standard deviations
}

// NewEvaluator returns an empty Evaluator for the model's predictions.
func (m *Model) NewEvaluator() *Evaluator {
	return &Evaluator{target: m.manifest.Target, task: m.manifest.Task}
}

// Add accumulates the rows of o whose target is known.
func (e *Evaluator) Add(o *Outcome) {
	for i, y := range o.Truth {
		if !math.IsNaN(y) {
			e.add(o.Prediction, i, y, o.Weight[i])
		}
	}
}

// add accumulates a row of a prediction; y is its target, a number or the index of its class.
func (e *Evaluator) add(p *Prediction, row int, y, weight float64) {
	e.known = true
	switch e.task {
	case Binary:
		e.binary.Add(y == 1, p.Probability[row], weight)
	case Multiclass:
		e.multiclass.Add(int(y), p.ofRow(row), weight)
	default:
		if e.noStd = p.noStd; e.noStd {
			e.regression.AddScored(y, p.Mean[row], eval.Scored{}, weight)
			return
		}
		centre, spread := p.link.Normal(p.scores[row], p.stds[row])
		score, logSlope := p.link.Score(y)
		e.regression.AddScored(y, p.Mean[row], eval.Scored{Miss: score - centre, Std: spread, RangeStd: p.ranges[row], LogSlope: logSlope}, weight)
	}
}

// Evaluation returns the metrics of the rows added so far. It returns an error if none of them has a target.
func (e *Evaluator) Evaluation() (*eval.Evaluation, error) {
	if !e.known {
		return nil, &table.Error{Row: -1, Column: e.target, Message: "no row has a value in the target column", Remedy: "give rows whose outcome is known"}
	}
	all := e.evaluation()
	return &all, nil
}

// Decide returns the confusion matrix of the rows added so far at a threshold of the positive class's probability. It
// returns an error unless the target has two classes.
func (e *Evaluator) Decide(threshold float64) (eval.Decision, error) {
	if e.task != Binary {
		return eval.Decision{}, &table.Error{
			Row: -1, Column: e.target, Message: "a threshold needs a target of two classes",
			Remedy: "leave the threshold out, or train a model that predicts whether the target is one of its classes",
		}
	}
	if !(threshold >= 0 && threshold <= 1) {
		return eval.Decision{}, wrongSetting(fmt.Sprintf("the threshold is %g", threshold), "give a probability, between 0 and 1")
	}
	return e.binary.Decide(threshold), nil
}

func (e *Evaluator) evaluation() eval.Evaluation {
	switch e.task {
	case Binary:
		return e.binary.Evaluation()
	case Multiclass:
		return e.multiclass.Evaluation()
	}
	all := e.regression.Evaluation()
	if e.noStd {
		all.Metrics = slices.DeleteFunc(all.Metrics, func(m eval.Metric) bool { return slices.Contains(spreadMetrics(), m.Name) })
	}
	return all
}

// spreadMetrics returns the metrics of a number that need standard deviations.
func spreadMetrics() []string { return []string{"nll", "coverage_50", "coverage_90"} }

// CalibrationPoint compares a nominal with an observed value over many rows: a probability with the share of
// rows in the class, or the level of an interval with its coverage.
type CalibrationPoint struct {
	Nominal, Observed float64
	Rows              int
}

// CalibrationCurve accumulates predictions and targets for a calibration curve: of the probabilities of classes, or of
// the intervals of a number. It is not safe for concurrent use.
type CalibrationCurve struct {
	task      Task
	intervals eval.Intervals
	bins      eval.Calibration
}

// NewCalibrationCurve returns an empty curve for the model's predictions.
func (m *Model) NewCalibrationCurve() *CalibrationCurve {
	return &CalibrationCurve{task: m.manifest.Task}
}

// What returns the label of the axis of nominal values.
func (c *CalibrationCurve) What() string {
	if c.task == Regression {
		return "level of the interval"
	}
	return "probability of a class"
}

// Add accumulates the rows of o whose target is known.
func (c *CalibrationCurve) Add(o *Outcome) {
	for i, y := range o.Truth {
		if math.IsNaN(y) {
			continue
		}
		switch c.task {
		case Binary:
			c.bins.Add(y == 1, o.Probability[i], o.Weight[i])
		case Multiclass:
			for class, probability := range o.ofRow(i) {
				c.bins.Add(int(y) == class, probability, o.Weight[i])
			}
		default:
			if o.noStd {
				continue
			}
			centre, _ := o.link.Normal(o.scores[i], o.stds[i])
			score, _ := o.link.Score(y)
			c.intervals.Add(score, centre, o.ranges[i], o.Weight[i])
		}
	}
}

// Points returns the points of the curve in ascending order of the nominal value.
func (c *CalibrationCurve) Points() []CalibrationPoint {
	intervals, bins := c.intervals.Shares(), c.bins.Bins()
	list := make([]CalibrationPoint, 0, len(intervals)+len(bins))
	for _, s := range intervals {
		list = append(list, CalibrationPoint{s.Level, s.Share, s.Rows})
	}
	for _, b := range bins {
		list = append(list, CalibrationPoint{b.Mean, b.Share, b.Count})
	}
	return list
}

// Gap returns the mean |nominal − observed| over the points, weighted by their rows; NaN without rows.
func (c *CalibrationCurve) Gap() float64 {
	sum, rows := 0.0, 0.0
	for _, s := range c.Points() {
		sum += math.Abs(s.Observed-s.Nominal) * float64(s.Rows)
		rows += float64(s.Rows)
	}
	return sum / rows
}
