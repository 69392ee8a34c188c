package network_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

// The learned head mixes players by W·concat(z′) = Σ_d R_d (u_d − a_d) + Σ_d a_d. Here
// z′_d = R_d z_d + (1−R_d) b_d is built, concatenated and multiplied by W, as the paper
// writes it.
func TestMixIsTheConcatenation(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		rng := newRand(t)
		const per, outputs = 4, 3
		s := newSubject(t, b, learned.small(7, outputs), rng)
		rows := formtest.Rows(rng, s.Inputs, 5, 0)
		masks := formtest.Masks(rng, rows.Rows, per, rows.Players())
		out := s.call(t, func(f *network.Forward, in []*Node) []*Node {
			mask := in[0]
			return []*Node{f.Attributions(mask, 0), concatenated(s, f, mask), f.Value(mask)}
		}, rows, engine.Tensor(masks, rows.Rows, per, rows.Players()))
		e := relativeError(out[0], out[1])
		t.Logf("relative error %.1e", e)
		atMost(t, "relative error of attributions", e, 1e-6)
		atMost(t, "relative error of values", relativeError(out[2], sums(out[1], rows.Players())), 1e-6)
	})
}

// concatenated is the learned head's f_d [B, P, C, D], as the paper writes it.
func concatenated(s *subject, f *network.Forward, mask *Node) *Node {
	w := s.Lookup(weightsCopy, mask)
	b, p, d := mask.Shape().Dim(0), mask.Shape().Dim(1), s.Inputs.Players()
	present := InsertAxes(mask, -1)                                    // R [B, P, D, 1]
	z := InsertAxes(TransposeAllAxes(f.Embeddings(), 1, 0, 2), 1)      // [B, 1, D, Z]
	baseline := InsertAxes(Squeeze(w("baseline"), 1), 0, 0)            // [1, 1, D, Z]
	replaced := Add(Mul(present, z), Mul(OneMinus(present), baseline)) // z′ [B, P, D, Z]
	h := Reshape(replaced, b*p, d*s.Embedding)                         // concat(z′)
	h = Dot(h, Reshape(w("mix"), d*s.Embedding, s.Width)).Product()    // W·concat(z′)
	h = Add(h, Reshape(w("mix_bias"), 1, s.Width))                     // [B·P, H]
	h = Mul(h, Sigmoid(h))                                             // silu
	layer := func(name string, h *Node) *Node {
		return Add(Dot(h, w(name)).Product(), InsertAxes(w(name+"_bias"), 0))
	}
	for i := range s.Layers {
		h = layer(fmt.Sprintf("trunk%d", i+1), h)
		h = Mul(h, Sigmoid(h))
	}
	return Mul(InsertAxes(mask, 2), Reshape(layer("out", h), b, p, s.Outputs, d))
}

// The FFNN's trunk reads [x·R, R]: its first layer is A·(x·R) + B·R + c, whatever R is, and
// the rest is the trunk's, with each activation and norm. A and B are put together here from
// the weights, in double precision.
func TestFFNNReadsNumbersAndMask(t *testing.T) {
	for _, c := range trunks {
		t.Run(c.name(), func(t *testing.T) {
			onEachBackend(t, func(t *testing.T, b *engine.Backend) { checkFFNN(t, b, c) })
		})
	}
}

// trunk is how the layers of the learned head end.
type trunk struct {
	activation form.Activation
	norm       form.Norm
}

var trunks = []trunk{{"", ""}, {form.Relu, ""}, {form.Snake, ""}, {form.Elu, ""}, {"", form.LayerNorm}, {form.Snake, form.LayerNorm}, {form.Elu, form.LayerNorm}}

func (c trunk) name() string { return fmt.Sprintf("%q,%q", c.activation, c.norm) }

func checkFFNN(t *testing.T, b *engine.Backend, c trunk) {
	rng := newRand(t)
	const players, per = 3, 8
	s := newSubject(t, b, form.Config{
		Inputs: form.Inputs{Numeric: players, Bins: 1}, Outputs: 1, Head: form.Learned,
		Net: form.FFNN, Embedding: 2, Width: 5, Layers: 1, Activation: c.activation, Norm: c.norm, SigmaWidth: 1, HiddenWidth: 1,
	}, rng)
	rows := encode.NewBatch(6, players, 0)
	for i := range rows.Rows * players {
		x := rng.Float32() // the column's place in its only bin, and its standardised value
		rows.Numbers[2*i], rows.Numbers[2*i+1], rows.Observed[i] = x, 4*x-2, 1
	}
	masks := formtest.Masks(rng, rows.Rows, per, players)
	got := s.call(t, func(f *network.Forward, in []*Node) []*Node {
		return []*Node{f.Attributions(in[0], 0)}
	}, rows, engine.Tensor(masks, rows.Rows, per, players))[0]

	weights, err := s.Get(weightsCopy)
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	for i := range rows.Rows {
		for p := range per {
			x, mask := make([]float64, players), masks[(i*per+p)*players:][:players]
			for d := range x {
				x[d] = float64(rows.Numbers[2*(i*players+d)])
			}
			want = append(want, ffnn(s.Config, weights, x, mask)...)
		}
	}
	e := relativeError(got, want)
	t.Logf("relative error %.1e", e)
	atMost(t, "relative error", e, 1e-5)
}

// Gradients by the weights of a trunk with an activation and a norm of the paper's search are slopes.
func TestGradientsOfTrunks(t *testing.T) {
	const directions, step, tolerance = 6, 3e-4, 3e-3
	for _, c := range trunks[1:] {
		t.Run(c.name(), func(t *testing.T) {
			rng := newRand(t)
			config := learned.small(5, 2)
			config.Activation, config.Norm = c.activation, c.norm
			s := newSubject(t, open(t, "go"), config, rng)
			weights := awayFromKinks(t, s)
			slope := newSlope(t, s, attributions, form.Mean, rng)
			_, gradient := slope.at(t, weights)
			var want, got []float64
			for range directions {
				u := randomDirection(rng, s.Network, form.Mean)
				above, _ := slope.at(t, moved(weights, u, step))
				below, _ := slope.at(t, moved(weights, u, -step))
				want, got = append(want, (above-below)/(2*step)), append(got, dot(gradient, u))
			}
			e := relativeError(got, want)
			t.Logf("relative error %.1e", e)
			atMost(t, "relative error of the gradient", e, tolerance)
		})
	}
}

// ffnn is f_d of a row of numbers x under a mask.
func ffnn(c form.Config, w map[string][]float32, x []float64, mask []float32) []float64 {
	at := func(name string, i int) float64 { return float64(w[name][i]) }
	h := make([]float64, c.Width)
	for k := range h {
		h[k] = at("mix_bias", k)
		for d := range x {
			var a, b, absent float64 // columns of A and B, and what is there without the player
			for j := range c.Embedding {
				dj := d*c.Embedding + j
				mix := at("mix", dj*c.Width+k)
				a += mix * (at("bins", dj) + 4*at("slope", dj))
				b += mix * (at("bins_bias", dj) - 2*at("slope", dj) - at("baseline", dj))
				absent += mix * at("baseline", dj)
			}
			r := float64(mask[d])
			h[k] += a*x[d]*r + b*r + absent
		}
	}
	layer := func(name, before string, h []float64, outputs int) []float64 {
		if c.Norm == form.LayerNorm {
			mean, square := 0.0, 0.0
			for _, v := range h {
				mean, square = mean+v/float64(len(h)), square+v*v/float64(len(h))
			}
			for j, v := range h {
				h[j] = at(before+"_norm", j)*(v-mean)/math.Sqrt(square-mean*mean+1e-5) + at(before+"_norm_bias", j)
			}
		}
		out := make([]float64, outputs)
		for k := range out {
			out[k] = at(name+"_bias", k)
			for j, v := range h {
				out[k] += activated(c.Activation, v) * at(name, j*outputs+k)
			}
		}
		return out
	}
	f := layer("out", "trunk1", layer("trunk1", "mix", h, c.Width), len(x))
	for d := range f {
		f[d] *= float64(mask[d])
	}
	return f
}

// activated is the function of a unit.
func activated(a form.Activation, v float64) float64 {
	switch a {
	case form.Relu:
		return max(v, 0)
	case form.Snake:
		return v + (1-math.Cos(2*v))/2
	case form.Elu:
		if v < 0 {
			return math.Exp(v) - 1
		}
		return v
	}
	return v / (1 + math.Exp(-v))
}

// Nothing makes the learned head's attributions Shapley values, so it has no exact
// interactions to give either.
func TestLearnedHeadRefusesInteractions(t *testing.T) {
	rng := newRand(t)
	s := newSubject(t, open(t, "go"), learned.small(4, 1), rng)
	if _, err := s.evaluator(t, 1).Interactions(t.Context(), formtest.Rows(rng, s.Inputs, 1, 0)); err == nil {
		t.Error("no error")
	}
}
