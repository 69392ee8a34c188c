package synth

import (
	"slices"

	"gonum.org/v1/gonum/integrate/quad"
)

// halfWidth is the a of U(−a, a), the law of every input.
const halfWidth = 4

const (
	nodes    = 20 // Gauss–Legendre points on a panel
	maxWidth = 1  // of a panel; the fastest term, sin(x²), turns by at most 8 radians on one
)

// quadrature is the Gauss–Legendre rule on (0, 1), applied panel by panel.
type quadrature struct {
	x, weight [nodes]float64
}

func newQuadrature() *quadrature {
	var q quadrature
	quad.Legendre{}.FixedLocations(q.x[:], q.weight[:], 0, 1)
	return &q
}

// mean returns
//
//	E f(X) = 1/a ∫₀ᵃ (f(x) + f(−x))/2 dx,  X ~ U(−a, a).
//
// Adding x and −x first makes every odd part vanish exactly, such as sin(100/x).
//
// kinks are the points of (0, ∞) between which f and its mirror image are smooth, in any order; panels end there. Those
// at or beyond a are ignored.
func (q *quadrature) mean(f func(x float64) float64, kinks []float64) float64 {
	ends := make([]float64, 0, len(kinks)+halfWidth/maxWidth)
	for end := maxWidth; end <= halfWidth; end += maxWidth {
		ends = append(ends, float64(end))
	}
	for _, kink := range kinks {
		if kink > 0 && kink < halfWidth {
			ends = append(ends, kink)
		}
	}
	slices.Sort(ends)

	var sum, start float64
	for _, end := range ends {
		width := end - start
		for i, u := range q.x {
			x := start + width*u
			sum += width * q.weight[i] * (f(x) + f(-x)) / 2
		}
		start = end
	}
	return sum / halfWidth
}
