package form

import (
	"context"
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/psi-shapley/psi/internal/encode"
)

// GaussLegendre returns q nodes and weights on [0, 1], exact for polynomials of
// degree 2q−1.
func GaussLegendre(q int) (nodes, weights []float64) {
	nodes, weights = make([]float64, q), make([]float64, q)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	return nodes, weights
}

// ExactNodes returns the number of quadrature nodes that integrates the derivative of any multilinear game of n players
// exactly: it is a polynomial of degree n−1.
func ExactNodes(n int) int { return max(1, (n+1)/2) }

// MaxNodes returns the maximum number of quadrature nodes of a model of n players. The cost of compiling a graph grows
// with its square. 256 nodes are exact up to 512 players, and for more players their error is below the rounding error.
func MaxNodes(n int) int { return min(256, ExactNodes(n)) }

// residualGoal is the maximum of Σ_d φ_d − v, root mean square, relative to that of v. In 32-bit arithmetic the
// rounding of v alone is a few times 1e-7.
const residualGoal = 1e-6

// residualRows is the number of rows on which the residual is measured.
const residualRows = 512

// stallRatio is the ratio of residuals above which more nodes do not help, because only rounding is left.
const stallRatio = 0.9

// MinNodes returns the smallest number of quadrature nodes, tried in growing steps, for which the attributions of
// rows of b add up to their values, which need no integral. An untrained network needs fewer than a trained one. with
// returns an evaluator with the given number of nodes.
func (c Config) MinNodes(ctx context.Context, b *encode.Batch, with func(nodes int) (Evaluator, error)) (int, error) {
	if c.Head != Exact {
		return 1, nil
	}
	rows := b.Head(min(b.Rows, residualRows))
	return minNodes(MaxNodes(c.Inputs.Players()), func(nodes int) (float64, error) {
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

// minNodes returns the first number of nodes, up to a maximum, whose residual reaches the goal. If rounding keeps
// the residual above the goal and more nodes do not lower it, it returns the last number that did.
func minNodes(limit int, residual func(nodes int) (float64, error)) (int, error) {
	before, last := math.Inf(1), 0
	for nodes := min(2, limit); nodes < limit; nodes += max(1, nodes/8) {
		left, err := residual(nodes)
		switch {
		case err != nil:
			return 0, err
		case left <= residualGoal:
			return nodes, nil
		case left > stallRatio*before && left < roundingResidual:
			return last, nil
		}
		before, last = left, nodes
	}
	return limit, nil
}

// roundingResidual is larger than rounding alone can cause: a residual that stalls above it is due to extreme factors,
// which need more nodes.
const roundingResidual = 1e-4
