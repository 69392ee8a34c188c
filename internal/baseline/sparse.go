package baseline

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

const (
	plentyRows     = 20          // rows per feature from which no sparse model is tried, because ridge suffices
	sparsePath     = 16          // number of penalties to try, each sparseRatio times the previous one
	sparseRatio    = 0.7         // so that the last is 1/300 of the first
	sparseCells    = 500_000_000 // maximum cells processed by a path
	maxSparseSteps = 100         // per penalty
)

// fitSparse replaces the model by the lasso (Tibshirani 1996) if its validation loss is below least. On few rows with
// many columns, of which few are informative, the lasso is far better than ridge.
func (l *linear) fitSparse(ctx context.Context, s *sample, d *design, f family, base []float64, least float64) error {
	if d.rows >= plentyRows*d.count {
		return nil
	}
	folds := newFolds(s, d, f, base)
	whole := &regression{design: d, family: f, y: s.y, weight: s.weight}
	b := make([]float64, d.count*f.outputs())
	copy(b[len(b)-len(base):], base)
	penalty := whole.largestPenalty(b)
	left := sparseCells / (2 * d.rows * d.count)
	var path []float64 // followed by the last fit, because each fit starts from the previous one
	for worse := 0; len(path) < sparsePath && worse < 2 && left > 0; {
		penalty *= sparseRatio
		path = append(path, penalty)
		loss := 0.0
		for _, fold := range folds {
			fold.penalty = penalty
			if err := fold.shrink(ctx, fold.b, &left); err != nil {
				return err
			}
			loss += fold.loss()
		}
		if loss < least {
			least, worse = loss, 0
			l.sparse, l.penalty, l.b = true, penalty, b
		} else if l.sparse {
			worse++
		}
	}
	left = sparseCells / (2 * d.rows * d.count)
	for _, whole.penalty = range path {
		if !l.sparse || whole.penalty < l.penalty {
			break
		}
		if err := whole.shrink(ctx, b, &left); err != nil {
			return err
		}
	}
	return nil
}

// largestPenalty returns the smallest penalty at which all of b but the intercepts is 0; b must have only intercepts.
func (r *regression) largestPenalty(b []float64) float64 {
	n := newton{regression: r, b: b, total: floats.Sum(r.weight), gradient: make([]float64, len(b))}
	n.p, n.rowwise = make([]float64, r.rows*r.family.outputs()), make([]float64, r.rows*r.family.outputs())
	n.evaluate(b)
	n.differentiate()
	return floats.Norm(n.gradient[:len(b)-r.family.outputs()], math.Inf(1))
}

// shrink minimises, starting from b,
//
//	Σ_i w_i loss(x_i·b, y_i) / Σ_i w_i + penalty · ‖b without the intercepts‖₁
//
// by accelerated proximal gradients (Beck and Teboulle 2009) with restarts on overshoot (O'Donoghue and Candès 2015).
// It takes at most left steps, and subtracts those it took.
func (r *regression) shrink(ctx context.Context, b []float64, left *int) error {
	const enough = 1e-4 // maximum change of the last step
	ridgeless := *r
	ridgeless.penalty = 0
	at := slices.Clone(b) // ahead of b, by momentum
	n := newton{regression: &ridgeless, b: at, total: floats.Sum(r.weight), gradient: make([]float64, len(b))}
	n.p, n.rowwise = make([]float64, r.rows*r.family.outputs()), make([]float64, r.rows*r.family.outputs())
	if r.steepest == 0 {
		r.steepest = n.powered()
	}
	length := 1 / r.steepest
	penalised := len(b) - r.family.outputs()
	next, momentum := make([]float64, len(b)), 1.0
	for range min(maxSparseSteps, *left) {
		*left--
		if err := ctx.Err(); err != nil {
			return err
		}
		n.evaluate(at)
		n.differentiate()
		floats.AddScaledTo(next, at, -length, n.gradient)
		for j, v := range next[:penalised] {
			next[j] = math.Copysign(max(0, math.Abs(v)-length*r.penalty), v)
		}
		overshoots, moved := 0.0, 0.0
		for j, v := range next {
			overshoots += (at[j] - v) * (v - b[j])
			moved = max(moved, math.Abs(v-b[j]))
		}
		following := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		ahead := (momentum - 1) / following
		if momentum = following; overshoots > 0 {
			momentum, ahead = 1, 0
		}
		for j, v := range next {
			at[j] = v + ahead*(v-b[j])
		}
		copy(b, next)
		if moved < enough {
			return nil
		}
	}
	return nil
}

// powered returns an upper bound of the largest eigenvalue of ∇² anywhere, from some steps of the power method for the
// squared error.
func (n *newton) powered() float64 {
	const steps, allowance = 12, 1.2 // the method converges from below
	k := n.family.outputs()
	v, out := make([]float64, len(n.b)), make([]float64, len(n.b))
	for j := range v {
		v[j] = 1 + float64(j%7)/7 // asymmetric
	}
	size := 1.0
	for range steps {
		floats.Scale(1/floats.Norm(v, 2), v)
		n.times(v, n.rowwise)
		for i, w := range n.weight {
			floats.Scale(w/n.total, n.rowwise[i*k:(i+1)*k])
		}
		n.transposed(n.rowwise, out)
		size = floats.Norm(out, 2)
		v, out = out, v
	}
	return allowance * n.family.steepest() * size
}
