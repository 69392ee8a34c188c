package psi

import (
	"context"
	"iter"
	"math"

	"github.com/psi-shapley/psi/table"
)

// Prediction is what a model expects of consecutive rows, in the target's units.
type Prediction struct {
	FirstRow int // number of the first row within its source
	Mean     []float64
	Std      []float64 // standard deviation of the target about Mean
}

// Predictions predicts the rows of a source, some at a time, without explaining them.
func (m *Model) Predictions(ctx context.Context, rows Source) iter.Seq2[*Prediction, error] {
	return func(yield func(*Prediction, error) bool) {
		for c, err := range m.chunks(ctx, rows, span{}, nil) {
			if err != nil {
				yield(nil, err)
				return
			}
			p, err := m.predict(ctx, c)
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// Predict predicts all rows of a source.
func (m *Model) Predict(ctx context.Context, rows Source) (*Prediction, error) {
	all := &Prediction{}
	for p, err := range m.Predictions(ctx, rows) {
		if err != nil {
			return nil, err
		}
		all.Mean = append(all.Mean, p.Mean...)
		all.Std = append(all.Std, p.Std...)
	}
	return all, nil
}

func (m *Model) predict(ctx context.Context, c *chunk) (*Prediction, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, err := m.ensemble.Predict(ctx, c.batch)
	if err != nil {
		return nil, err
	}
	p := &Prediction{FirstRow: c.first, Mean: make([]float64, len(x.Value)), Std: make([]float64, len(x.Value))}
	for i, v := range x.Value {
		p.Mean[i] = m.manifest.Scale.Decode(v)
		p.Std[i] = m.manifest.Scale.Std * math.Sqrt(x.Variance[i])
	}
	return p, nil
}

// Table is the prediction as columns row, prediction, prediction_std.
func (p *Prediction) Table() (*table.Table, error) {
	row := make([]float64, len(p.Mean))
	for i := range row {
		row[i] = float64(p.FirstRow + i)
	}
	return table.New(
		table.NumberColumn("row", row, nil),
		table.NumberColumn("prediction", p.Mean, nil),
		table.NumberColumn("prediction_std", p.Std, nil),
	)
}
