package form

import (
	"context"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
)

// residualGoal is how near Σ_d φ_d must come to v, root mean square, relative to that of
// v. In 32-bit arithmetic the rounding of v alone is a few times 1e-7.
const residualGoal = 1e-6

// residualRows is how many rows the residual is measured on.
const residualRows = 512

// stalled is how little of the residual more nodes must take away for it to be rounding.
const stalled = 0.9

// FewestNodes is the least number of quadrature nodes, tried in growing steps, for which the
// attributions of rows of b add up to their values, which are computed without any integral.
// An untrained network does with fewer than a trained one. with makes the evaluator that integrates with a number of nodes.
func (c Config) FewestNodes(ctx context.Context, b *encode.Batch, with func(nodes int) (Evaluator, error)) (int, error) {
	if c.Head != Exact {
		return 1, nil
	}
	rows := b.Head(min(b.Rows, residualRows))
	return fewestNodes(MaxNodes(c.Inputs.Players()), func(nodes int) (float64, error) {
		e, err := with(nodes)
		if err != nil {
			return 0, err
		}
		defer e.Close()
		x, err := e.Pass(ctx, rows, Attributions)
		if err != nil {
			return 0, err
		}
		return x.Residual(), nil
	})
}

// fewestNodes is the first number of nodes whose residual reaches the goal, at most the given
// one. Where rounding keeps the residual from the goal, and more nodes do not lower it, the
// last that lowered it is taken.
func fewestNodes(most int, residual func(nodes int) (float64, error)) (int, error) {
	before, last := math.Inf(1), 0
	for nodes := min(2, most); nodes < most; nodes += max(1, nodes/8) {
		left, err := residual(nodes)
		switch {
		case err != nil:
			return 0, err
		case left <= residualGoal:
			return nodes, nil
		case left > stalled*before && left < roundingResidual:
			return last, nil
		}
		before, last = left, nodes
	}
	return most, nil
}

// roundingResidual is above what rounding alone leaves: a residual that stalls higher up is
// one of wild factors, which need more nodes yet.
const roundingResidual = 1e-4
