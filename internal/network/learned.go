package network

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
)

// learned is the paper's head (§3.4, Fig. 2): absent players' embeddings are replaced by baselines b_d, a linear mix W
// and a trunk output out ∈ R^D, and f_d = R_d out_d.
//
// W is linear, so W·concat(z') = Σ_d R_d (u_d − a_d) + Σ_d a_d with u_d = W_d z_d and a_d = W_d b_d: a further
// coalition of a row costs D·H instead of D·Z·H.
type learned struct{ form.Config }

func (h learned) game(w Lookup, z *Node) Game {
	absent := Einsum("dbi,dij->dbj", w("baseline"), w("mix"))       // a [D, 1, H]
	gain := Sub(Einsum("dbi,dij->dbj", z, w("mix")), absent)        // u − a [D, B, H]
	rest := Add(ReduceAndKeep(absent, ReduceSum, 0), w("mix_bias")) // [1, 1, H]
	return learnedGame{Config: h.Config, w: w, gain: gain, rest: rest}
}

type learnedGame struct {
	form.Config
	w          Lookup
	gain, rest *Node
}

// Attributions returns the attributions of players; that of a group is the sum over its columns.
func (g learnedGame) Attributions(mask *Node, _ int) *Node {
	return PerPlayer(g.Inputs, g.columns(mask))
}

// columns returns f_d [B, P, C, D] of the columns.
func (g learnedGame) columns(mask *Node) *Node {
	b, p := mask.Shape().Dim(0), mask.Shape().Dim(1)
	act := activation(g.Activation, silu)
	h := Reshape(Add(Einsum("bpd,dbh->bph", mask, g.gain), g.rest), b*p, g.Width)
	h = act(g.normed("mix", h))
	for i := range g.Layers {
		layer := form.TrunkLayer(i)
		h = act(g.normed(layer, dense(g.w, layer, h)))
	}
	out := Reshape(dense(g.w, "out", h), b, p, g.Outputs, g.Inputs.Columns())
	if g.Classes && g.Outputs > 1 { // see centre
		out = Sub(out, ReduceAndKeep(out, ReduceMean, 2))
	}
	return Mul(InsertAxes(mask, 2), out)
}

// Value sums the attributions as a product with ones: the last bit of a plain sum over the last axis may depend on a
// row's position in memory.
func (g learnedGame) Value(mask *Node) *Node {
	f := g.columns(mask)
	ones := Ones(f.Graph(), shapes.Make(f.DType(), g.Inputs.Columns()))
	return Einsum("bpcd,d->bpc", f, ones)
}

func dense(w Lookup, name string, h *Node) *Node {
	return Add(Dot(h, w(name)).Product(), InsertAxes(w(name+"_bias"), 0))
}

// normEpsilon keeps the normalisation of equal units finite.
const normEpsilon = 1e-5

// normed returns a layer's units [B·P, H], normalised if the network has a norm: (h − mean)/√(var + ε) · gain + shift,
// mean and variance over the units.
func (g learnedGame) normed(layer string, h *Node) *Node {
	if g.Norm != form.LayerNorm {
		return h
	}
	gap := Sub(h, ReduceAndKeep(h, ReduceMean, -1))
	std := Sqrt(AddScalar(ReduceAndKeep(Square(gap), ReduceMean, -1), normEpsilon))
	return Add(Mul(Div(gap, std), InsertAxes(g.w(layer+"_norm"), 0)), InsertAxes(g.w(layer+"_norm_bias"), 0))
}

// activation returns the function of a layer, which by default is otherwise.
func activation(a form.Activation, otherwise func(*Node) *Node) func(*Node) *Node {
	switch a {
	case form.Relu:
		return relu
	case form.Snake:
		return snake
	case form.Elu:
		return elu
	}
	return otherwise
}

// snake returns x + sin²x.
func snake(x *Node) *Node { return Add(x, Square(Sin(x))) }

// elu returns x where x > 0, else eˣ − 1.
func elu(x *Node) *Node { return Add(relu(x), AddScalar(Exp(MinScalar(x, 0)), -1)) }

func silu(x *Node) *Node { return Mul(x, Sigmoid(x)) }
