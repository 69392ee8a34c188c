package psi

import (
	"context"
	"iter"

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
