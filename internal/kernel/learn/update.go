package learn

import (
	"math"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// updateBlock is the number of weights that are updated as one share.
const updateBlock = 1 << 14

// blocks divides a span. The blocks, and so the sums over them, do not depend on the number of cores.
func (s span) blocks() int { return (s.to - s.from + updateBlock - 1) / updateBlock }

func (s span) block(i int) span {
	from := s.from + i*updateBlock
	return span{from, min(from+updateBlock, s.to)}
}

// optimise runs a step of the optimiser. The gradients of each group of weights are clipped by their own norm, so that
// no group dominates another.
func (t *Trainer) optimise(phase Phase, s Step) {
	t.steps++
	n := float64(t.steps)
	t.current.adam = vector.Adam{
		Rate: float32(s.Rate), Decay: float32(s.Rate * s.Decay), Keep: float32(s.Keep),
		Debias1: float32(1 / (1 - math.Pow(vector.Beta1, n))), Debias2: float32(1 / (1 - math.Pow(vector.Beta2, n))),
	}
	for _, of := range t.lay.trained(phase) {
		t.current.span = of
		t.workers.each(of.blocks(), t.normShare)
		square := 0.0
		for _, part := range t.normOf[:of.blocks()] {
			square += part
		}
		t.current.adam.Scale = float32(min(1, t.Clip/(math.Sqrt(square)+1e-6)))
		t.workers.each(of.blocks(), t.adamShare)
	}
}

func (t *Trainer) norm(i int) {
	b := t.current.span.block(i)
	t.normOf[i] = float64(t.ops.SquaredSum(t.gradient[b.from:b.to]))
}

func (t *Trainer) update(i int) {
	b := t.current.span.block(i)
	a := t.current.adam
	a.Weights, a.Gradient, a.Average = t.weights[b.from:b.to], t.gradient[b.from:b.to], t.average[b.from:b.to]
	a.First, a.Second = t.first[b.from:b.to], t.second[b.from:b.to]
	t.ops.Adam(&a)
}
