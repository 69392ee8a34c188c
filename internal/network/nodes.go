package network

import (
	"context"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
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
// An untrained network does with fewer than a trained one. Where rounding keeps the residual
// from the goal, and more nodes do not lower it, the fewest that reach it are taken.
func (n *Network) FewestNodes(ctx context.Context, backend *engine.Backend, p *Params, copyName string, b *encode.Batch) (int, error) {
	most := ExactNodes(n.Inputs.Players())
	if n.Head != Exact {
		return 1, nil
	}
	rows := b.Head(min(b.Rows, residualRows))
	before, last := math.Inf(1), 0
	for nodes := min(2, most); nodes < most; nodes += max(1, nodes/8) {
		e := n.NewEvaluator(backend, p, copyName, engine.Live, nodes)
		x, err := e.Explain(ctx, rows)
		e.Close()
		if err != nil {
			return 0, err
		}
		residual := x.Residual()
		switch {
		case residual <= residualGoal:
			return nodes, nil
		case residual > stalled*before && residual < roundingResidual:
			return last, nil
		}
		before, last = residual, nodes
	}
	return most, nil
}

// roundingResidual is above what rounding alone leaves: a residual that stalls higher up is
// one of wild factors, which need more nodes yet.
const roundingResidual = 1e-4

// Residual is the root mean square of v − Σ_d f_d over that of v.
func (x *Explained) Residual() float64 {
	d := len(x.Attributions) / len(x.Value)
	var gap, size float64
	for i, v := range x.Value {
		sum := float64(v)
		for _, phi := range x.Attributions[i*d : (i+1)*d] {
			sum -= float64(phi)
		}
		gap += sum * sum
		size += float64(v) * float64(v)
	}
	if size == 0 {
		return 0
	}
	return math.Sqrt(gap / size)
}
