package network_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

// output is a part of a network's answer as a graph of rows with masks [B, P, D].
type output func(f *network.Forward, mask *Node) *Node

func values(f *network.Forward, mask *Node) *Node         { return f.Value(mask) }
func attributions(f *network.Forward, mask *Node) *Node   { return f.Attributions(mask, 2) }
func hiddenVariance(f *network.Forward, mask *Node) *Node { return f.HiddenVariance(mask) }

func spread(f *network.Forward, mask *Node) *Node {
	first := Slice(mask, AxisRange(), AxisRange(0, 1))
	return Add(f.Std(first), Reshape(f.NoiseStd(), 1, -1, 1))
}

// Gradients by the weights are what moving the weights a little shows. Each output is
// checked by the weights it is trained by, all moved at once, in random directions.
func TestGradients(t *testing.T) {
	const (
		directions = 6
		step       = 3e-4 // balances errors of rounding and of curvature
		tolerance  = 3e-3
	)
	cases := []struct {
		name  string
		of    output
		group form.Group
	}{
		{"value", values, form.Mean},
		{"attributions", attributions, form.Mean},
		{"std", spread, form.Sigma},
		{"hidden variance", hiddenVariance, form.Hidden},
	}
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				rng := newRand(t)
				s := newSubject(t, b, k.small(5, 2), rng)
				weights := awayFromKinks(t, s)
				slope := newSlope(t, s, c.of, c.group, rng)
				_, gradient := slope.at(t, weights)
				var want, got []float64
				for range directions {
					u := randomDirection(rng, s.Network, c.group)
					above, _ := slope.at(t, moved(weights, u, step))
					below, _ := slope.at(t, moved(weights, u, -step))
					want = append(want, (above-below)/(2*step))
					got = append(got, dot(gradient, u))
				}
				e := relativeError(got, want)
				t.Logf("relative error %.1e", e)
				atMost(t, "relative error of the gradient", e, tolerance)
			})
		}
	})
}

// awayFromKinks is the subject's weights, changed so that every relu is clearly on or
// clearly off: a difference across its kink is no derivative. Biases are ±1 in turn, and
// what is added to them is small; so are factors, lest their products be large.
func awayFromKinks(t *testing.T, s *subject) map[string][]float32 {
	t.Helper()
	weights, err := s.Get(weightsCopy)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range s.Weights() {
		for i, v := range weights[w.Name] {
			switch {
			case w.Group == form.Fixed:
			case w.Name == "levels", w.Name == "gap", w.Name != "factor_bias" && strings.HasSuffix(w.Name, "_bias"):
				weights[w.Name][i] = float32(1 - 2*(i%2))
			default:
				weights[w.Name][i] = 0.2 * v
			}
		}
	}
	return weights
}

// Training σ and h leaves the mean alone: what they see of it is stopped.
func TestSpreadDoesNotMoveTheMean(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(5, 2), rng)
		weights, err := s.Get(weightsCopy)
		if err != nil {
			t.Fatal(err)
		}
		for name, of := range map[string]output{"σ": spread, "h²": hiddenVariance} {
			_, gradient := newSlope(t, s, of, form.Mean, rng).at(t, weights)
			for weight, g := range gradient {
				wantZeros(t, "gradient of "+name+" by "+weight, g)
			}
		}
	})
}

// slope is a random combination of the elements of an output, and its gradient by the
// weights of a group, both at weights yet to be given.
type slope struct {
	s           *subject
	f           *engine.Function
	rows        *encode.Batch
	masks       []float32
	coefficient []float64
	names       []string // of the weights
}

const coalitionsPerRow = 2

func newSlope(t *testing.T, s *subject, of output, group form.Group, rng *rand.Rand) *slope {
	t.Helper()
	p := &slope{s: s, rows: formtest.Rows(rng, s.Inputs, 6, 0)}
	p.masks = formtest.Masks(rng, p.rows.Rows, coalitionsPerRow, p.rows.Players())
	for _, w := range s.Weights() {
		if w.Group == group {
			p.names = append(p.names, w.Name)
		}
	}
	var err error
	p.f, err = s.backend.Compile(s.Store, engine.Live, func(_ *model.Scope, in []*Node) []*Node {
		rows, rest := network.RowsOf(s.Inputs, in)
		weight := s.Lookup(weightsCopy, in[0])
		out := of(s.Forward(weight, rows), rest[0])
		p.coefficient = make([]float64, out.Shape().Size())
		for i := range p.coefficient {
			p.coefficient[i] = rng.NormFloat64()
		}
		loss := ReduceAllSum(Mul(Reshape(out, -1), ConstAs(out, p.coefficient)))
		nodes := make([]*Node, len(p.names))
		for i, name := range p.names {
			nodes[i] = weight(name)
		}
		return append([]*Node{out}, Gradient(loss, nodes...)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.f.Close)
	return p
}

// at returns the combination, added up in double precision, and its gradient.
func (p *slope) at(t *testing.T, weights map[string][]float32) (loss float64, gradient map[string][]float32) {
	t.Helper()
	p.s.put(t, weights)
	in := append(network.RowTensors(p.rows), engine.Tensor(p.masks, p.rows.Rows, coalitionsPerRow, p.rows.Players()))
	out, err := p.f.Call(in...)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range out[0] {
		loss += p.coefficient[i] * float64(v)
	}
	gradient = map[string][]float32{}
	for i, name := range p.names {
		gradient[name] = out[1+i]
	}
	return loss, gradient
}

// randomDirection draws how far each weight of a group moves.
func randomDirection(rng *rand.Rand, n *network.Network, group form.Group) map[string][]float32 {
	u := map[string][]float32{}
	for _, w := range n.Weights() {
		if w.Group != group {
			continue
		}
		for range w.Size() {
			u[w.Name] = append(u[w.Name], float32(rng.NormFloat64()))
		}
	}
	return u
}

// moved is weights + step·u.
func moved(weights, u map[string][]float32, step float32) map[string][]float32 {
	all := maps.Clone(weights)
	for name, direction := range u {
		v := slices.Clone(all[name])
		for i := range v {
			v[i] += step * direction[i]
		}
		all[name] = v
	}
	return all
}

func dot(a, b map[string][]float32) float64 {
	sum := 0.0
	for name, x := range a {
		for i := range x {
			sum += float64(x[i]) * float64(b[name][i])
		}
	}
	return sum
}
