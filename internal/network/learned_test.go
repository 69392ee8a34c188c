package network_test

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/engine"
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
		rows := randomRows(rng, s.Inputs, 5, 0)
		masks := randomMasks(rng, rows.Rows, per, rows.Players())
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

// Nothing makes the learned head's attributions Shapley values, so it has no exact
// interactions to give either.
func TestLearnedHeadRefusesInteractions(t *testing.T) {
	rng := newRand(t)
	s := newSubject(t, open(t, "go"), learned.small(4, 1), rng)
	if _, err := s.evaluator(t, 1).Interactions(t.Context(), randomRows(rng, s.Inputs, 1, 0)); err == nil {
		t.Error("no error")
	}
}
