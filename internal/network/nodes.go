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
// An untrained network does with fewer than a trained one.
func (n *Network) FewestNodes(ctx context.Context, backend *engine.Backend, p *Params, copyName string, b *encode.Batch) (int, error) {
	if n.Head != Exact {
		return 1, nil
	}
	rows := b.Head(min(b.Rows, residualRows))
	return fewestNodes(MostNodes(n.Inputs.Players()), func(nodes int) (float64, error) {
		e := n.NewEvaluator(backend, p, copyName, engine.Live, nodes)
		defer e.Close()
		x, err := e.Explain(ctx, rows)
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
