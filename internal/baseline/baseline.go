// Package baseline fits simple models to compare with psi's: the mean (for classes, their base rates), a linear model
// (ridge or penalised logistic regression, or a lasso on few rows) and an additive one (boosted bins of each column).
//
// They use the encoded rows of the training, so that no table is read twice. The work is bounded: large or wide tables
// are sampled. The same rows give the same models.
package baseline

import (
	"context"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/train"
)

// Names of the baselines.
const (
	Mean     = "mean"
	Linear   = "linear"
	Additive = "additive"
)

// Names returns the names, the simplest model first.
func Names() []string { return []string{Mean, Linear, Additive} }

// Problem is a training problem.
type Problem struct {
	Rows    train.Store
	Units   []uint64  // of the rows: equal for rows that belong together; nil if there are none
	Classes int       // 0 for a number
	Base    []float64 // φ_0 of classes; nil for a number, whose encoded mean is 0
}

// Model is a fitted baseline.
type Model struct {
	Name    string
	Columns []int // indices of the players that a sparse linear model uses, in descending order of importance; nil for others

	family family
	score  func(rows *encode.Batch) []float64 // [rows, outputs]
}

// Predict returns the predictions of rows: a number in encoded units, the probability of the second of two classes
// [rows], or of each of more classes [rows, classes].
func (m *Model) Predict(rows *encode.Batch) []float64 {
	const chunk = 1024 // limits the memory of a wide table
	predictions := make([]float64, 0, rows.Rows*m.family.outputs())
	for from := 0; from < rows.Rows; from += chunk {
		part := m.score(rows.Slice(from, min(from+chunk, rows.Rows)))
		m.family.respondAll(part)
		predictions = append(predictions, part...)
	}
	return predictions
}

// minRows is the number of training rows below which the mean is the only baseline, because the inner validation split
// would be too small.
const minRows = 20

// Fit fits the baselines, in the order of Names. The work is limited to about a second for a table of any size.
func Fit(ctx context.Context, p Problem) ([]Model, error) {
	f := family{p.Classes}
	base := p.Base
	if p.Classes == 0 {
		base = []float64{0}
	}
	mean := Model{Name: Mean, family: f, score: func(rows *encode.Batch) []float64 { return repeated(base, rows.Rows) }}
	if p.Rows.Len() < minRows {
		return []Model{mean}, nil
	}
	s, err := draw(p)
	if err != nil {
		return nil, err
	}
	line, err := fitLinear(ctx, s, f, base)
	if err != nil {
		return nil, err
	}
	sum, err := fitAdditive(ctx, s, f, base)
	if err != nil {
		return nil, err
	}
	return []Model{
		mean,
		{Name: Linear, Columns: line.columns(s.rows), family: f, score: line.score},
		{Name: Additive, family: f, score: sum.score},
	}, nil
}

// repeated returns x for each of the rows.
func repeated(x []float64, rows int) []float64 {
	all := make([]float64, 0, rows*len(x))
	for range rows {
		all = append(all, x...)
	}
	return all
}
