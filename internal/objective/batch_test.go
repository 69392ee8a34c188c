package objective_test

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

// batch holds rows as Estimator.DSHAP takes them, and a weight for each.
type batch struct {
	rows, copies, outputs, players int

	f      []float64 // [rows, copies, outputs, players]
	mask   []float64 // [rows, copies, players]
	pick   []float64 // [rows, players]
	weight []float64 // [rows]
}

// evaluated is a copy of a row with the network's attributions [output][player].
type evaluated struct {
	members coalition
	f       []float64
}

// evaluate is the copy of a row in which only s is present, if the network plays g.
// How v(s) is shared among the members does not matter to what uses it.
func (g game) evaluate(s coalition) evaluated { return evaluated{s, g.shared(s)} }

// add appends a row whose random players are those of pick.
func (b *batch) add(weight float64, pick coalition, copies ...evaluated) {
	b.rows++
	b.weight = append(b.weight, weight)
	b.pick = pick.appendMask(b.pick, b.players)
	for _, e := range copies {
		b.mask = e.members.appendMask(b.mask, b.players)
		b.f = append(b.f, e.f...)
	}
}

func (s coalition) appendMask(mask []float64, players int) []float64 {
	for d := range players {
		mask = append(mask, float64(s>>d&1))
	}
	return mask
}

// attributions are those of one copy of a row for one output, [player]: a part of f
// or of its gradient.
func (b *batch) attributions(f []float64, row, copyAt, output int) []float64 {
	from := ((row*b.copies+copyAt)*b.outputs + output) * b.players
	return f[from : from+b.players]
}

func (b *batch) maskOf(row, copyAt int) []float64 {
	from := (row*b.copies + copyAt) * b.players
	return b.mask[from : from+b.players]
}

// estimate evaluates the estimator: DSHAP [rows, outputs], and the gradient by f of
// its weighted sum over rows and outputs.
func estimate(t *testing.T, on *engine.Backend, e objective.Estimator, b *batch) (value, gradient []float64) {
	t.Helper()
	out := run(t, on, func(in []*Node) []*Node {
		f, mask, pick, weight := in[0], in[1], in[2], in[3]
		dshap := e.DSHAP(f, mask, pick)
		loss := ReduceAllSum(Mul(dshap, InsertAxes(weight, -1)))
		return []*Node{dshap, Gradient(loss, f)[0]}
	},
		tensor(b.f, b.rows, b.copies, b.outputs, b.players),
		tensor(b.mask, b.rows, b.copies, b.players),
		tensor(b.pick, b.rows, b.players),
		vector(b.weight))
	return out[0], out[1]
}

// mean is the weighted sum over rows of values [rows, outputs] of one output.
func (b *batch) mean(value []float64, output int) float64 {
	sum := 0.0
	for row, w := range b.weight {
		sum += w * value[row*b.outputs+output]
	}
	return sum
}

// meanSlope is the sum over rows of the gradient by the attributions of one copy.
func (b *batch) meanSlope(gradient []float64, copyAt, output int) []float64 {
	sum := make([]float64, b.players)
	for row := range b.rows {
		for d, slope := range b.attributions(gradient, row, copyAt, output) {
			sum[d] += slope
		}
	}
	return sum
}
