// Package baseline fits simple models to compare with psi's: the mean (for classes, their base rates), a linear model
// (ridge or penalised logistic regression, or a lasso on few rows) and an additive one (boosted bins of each column).
//
// They use the encoded rows of the training, so that no table is read twice. The work is bounded: large or wide tables
// are sampled. The same rows give the same models.
package baseline

import (
	"context"
	"math"

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

// family is a loss of scores f with its canonical link: the squared error ½(p − y)² of a number, p = f; the log loss of
// two classes, p = sigmoid(f); that of more, p = softmax(f). The gradient of each by f is p − y, where y is 0 or 1 for
// each class.
type family struct{ classes int }

// outputs returns the number of scores of a row.
func (f family) outputs() int {
	if f.classes > 2 {
		return f.classes
	}
	return 1
}

// respond turns the scores of a row into p.
func (f family) respond(score []float64) {
	switch {
	case f.classes == 0:
	case f.classes == 2:
		score[0] = 1 / (1 + math.Exp(-score[0]))
	default:
		largest := score[0]
		for _, s := range score {
			largest = max(largest, s)
		}
		sum := 0.0
		for k, s := range score {
			score[k] = math.Exp(s - largest)
			sum += score[k]
		}
		for k := range score {
			score[k] /= sum
		}
	}
}

// respondAll turns the scores [rows, outputs] into p.
func (f family) respondAll(scores []float64) {
	k := f.outputs()
	for i := 0; i < len(scores); i += k {
		f.respond(scores[i : i+k])
	}
}

// loss returns the loss of a row with target y: a number, or the index of its class.
func (f family) loss(p []float64, y float64) float64 {
	const least = 1e-15
	switch {
	case f.classes == 0:
		return (p[0] - y) * (p[0] - y) / 2
	case f.classes == 2 && y == 0:
		return -math.Log(max(1-p[0], least))
	case f.classes == 2:
		return -math.Log(max(p[0], least))
	}
	return -math.Log(max(p[int(y)], least))
}

// gradient turns p of a row into p − y.
func (f family) gradient(p []float64, y float64) {
	if f.classes > 2 {
		p[int(y)]--
		return
	}
	p[0] -= y
}

// curvature returns the diagonal of the second derivative by output k.
func (f family) curvature(p float64) float64 {
	if f.classes == 0 {
		return 1
	}
	return p * (1 - p)
}

// steepest returns an upper bound of the eigenvalues of the second derivative.
func (f family) steepest() float64 {
	switch {
	case f.classes == 0:
		return 1
	case f.classes == 2:
		return 0.25
	}
	return 0.5
}

// bend replaces v by ∇²v, the second derivative at p times v: v, p(1−p)v, or p_k(v_k − Σ_j p_j v_j).
func (f family) bend(p, v []float64) {
	switch {
	case f.classes == 0:
	case f.classes == 2:
		v[0] *= p[0] * (1 - p[0])
	default:
		mean := 0.0
		for k := range v {
			mean += p[k] * v[k]
		}
		for k := range v {
			v[k] = p[k] * (v[k] - mean)
		}
	}
}

// meanLoss returns the weighted mean loss of scores [rows, outputs]. The scores become p.
func (f family) meanLoss(scores, y, weight []float64) float64 {
	f.respondAll(scores)
	sum, total, k := 0.0, 0.0, f.outputs()
	for i, w := range weight {
		sum += w * f.loss(scores[i*k:(i+1)*k], y[i])
		total += w
	}
	return sum / total
}
