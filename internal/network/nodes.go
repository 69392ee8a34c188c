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

// FewestNodes is the least number of quadrature nodes for which the attributions of the
// rows of b add up to their values, which are computed without any integral. An
// untrained network does with fewer than a trained one. If rounding keeps every number
// from the goal, it is the number that is exact for any game.
func (n *Network) FewestNodes(ctx context.Context, backend *engine.Backend, p *Params, copyName string, b *encode.Batch) (int, error) {
	most := ExactNodes(n.Inputs.Players())
	if n.Head != Exact {
		return 1, nil
	}
	for nodes := min(2, most); nodes < most; nodes++ {
		e := n.NewEvaluator(backend, p, copyName, engine.Live, nodes)
		x, err := e.Explain(ctx, b)
		e.Close()
		if err != nil {
			return 0, err
		}
		if x.Residual() <= residualGoal {
			return nodes, nil
		}
	}
	return most, nil
}

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
