package form

import (
	"context"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
)

// residualGoal is the maximum of Σ_d φ_d − v, root mean square, relative to that of v. In 32-bit arithmetic the
// rounding of v alone is a few times 1e-7.
const residualGoal = 1e-6

// residualRows is the number of rows on which the residual is measured.
const residualRows = 512

// stalled is the ratio of residuals above which more nodes do not help, because only rounding is left.
const stalled = 0.9

// FewestNodes returns the smallest number of quadrature nodes, tried in growing steps, for which the attributions of
// rows of b add up to their values, which need no integral. An untrained network needs fewer than a trained one. with
// returns an evaluator with the given number of nodes.
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

// fewestNodes returns the first number of nodes, up to a maximum, whose residual reaches the goal. If rounding keeps
// the residual above the goal and more nodes do not lower it, it returns the last number that did.
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

// roundingResidual is larger than rounding alone can cause: a residual that stalls above it is due to extreme factors,
// which need more nodes.
const roundingResidual = 1e-4
