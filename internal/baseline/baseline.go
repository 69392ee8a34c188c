// Package baseline fits plain models beside psi's, to tell whether psi's is worth having: the mean (of classes, their
// base rates), a linear model (ridge or penalised logistic regression, or a lasso of few rows) and an additive one (boosted bins of each
// column).
//
// They read the encoded rows that training reads, so that no table is read twice. The work is bounded: a large or wide
// table is learned from a random sample of its rows. The same rows give the same models.
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

// Names lists them, the plainest first.
func Names() []string { return []string{Mean, Linear, Additive} }

// Problem is what is to be learned.
type Problem struct {
	Rows    train.Store
	Units   []uint64  // of the rows: equal where rows belong together; nil if none do
	Classes int       // 0 for a number
	Base    []float64 // φ_0 of classes; nil for a number, whose encoded mean is 0
}

// Model is a baseline that has been fitted.
type Model struct {
	Name    string
	Columns []int // the players that a sparse linear model uses, by their places, the most telling first; nil of others

	family family
	score  func(rows *encode.Batch) []float64 // [rows, outputs]
}

// Predict returns the predictions of some rows: a number in encoded units, the probability of the second of two classes
// [rows], or that of each of more classes [rows, classes].
func (m *Model) Predict(rows *encode.Batch) []float64 {
	const chunk = 1024 // bounds the memory of a wide table
	predictions := make([]float64, 0, rows.Rows*m.family.outputs())
	for from := 0; from < rows.Rows; from += chunk {
		part := m.score(rows.Slice(from, min(from+chunk, rows.Rows)))
		m.family.respondAll(part)
		predictions = append(predictions, part...)
	}
	return predictions
}

// minRows is the number of training rows below which the mean is the only baseline: an inner split of fewer chooses nothing.
const minRows = 20

// Fit fits the baselines, in the order of Names. The work does not grow with the table beyond a limit: about a second.
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

// repeated is x in each of so many rows.
func repeated(x []float64, rows int) []float64 {
	all := make([]float64, 0, rows*len(x))
	for range rows {
		all = append(all, x...)
	}
	return all
}
