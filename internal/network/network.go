// Package network builds the graphs of a tensor engine: the encoders, the players' networks (MENN), the two heads, σ_d
// and h. docs/equations.md maps functions to equations. Axes are named as in package form; tensors of players have D
// first, so that slices of players are contiguous.
package network

import (
	"errors"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
)

// Network is the definition of a network: its weights and how graphs are built from them. It does not hold weights.
type Network struct {
	form.Config
	weights []form.Weight
	head    head
}

// head is the interface of the two heads.
type head interface {
	// game prepares, from the players' embeddings z [D, B, Z], what all coalitions of a row share.
	game(w Lookup, z *Node) Game
}

// Lookup returns a weight's node by name.
type Lookup func(name string) *Node

// Game is the game of each row of a batch, S ↦ f(x_S), with f(∅) = 0.
type Game interface {
	// Value returns f(x_S) [B, P, C] for masks [B, P, D].
	Value(mask *Node) *Node
	// Attributions returns f_d(x_S) [B, P, C, players] for masks [B, P, D]: with the exact head, Shapley values by the
	// given number of quadrature nodes; with the learned head, the trunk's outputs. Absent players get 0.
	Attributions(mask *Node, nodes int) *Node
}

// Interacting is a Game with exact pairwise interactions.
type Interacting interface {
	Game
	// Interactions returns the Shapley interaction indices [B, P, C, players] of every player with the one marked 1 in
	// pivot [players]. The pivot's interaction with itself is 0.
	Interactions(mask, pivot *Node, nodes int) *Node
}

// New checks the configuration and lists the weights.
func New(c form.Config) (*Network, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Joined() > 2 {
		return nil, errors.New("network: pairs of columns join more than two players")
	}
	n := &Network{Config: c, weights: c.Weights()}
	switch {
	case c.Head == form.Learned:
		n.head = learned{c}
	case c.Form == form.TensorTrain:
		n.head = tensorTrain{c}
	default:
		n.head = product{c}
	}
	return n, nil
}

// centre subtracts the mean over classes, the last axis, from scores. The common part of all classes does not change
// probabilities, so the data would not determine C explanations.
func centre(c form.Config, scores *Node) *Node {
	if c.Outputs == 1 || !c.Classes {
		return scores
	}
	return Sub(scores, ReduceAndKeep(scores, ReduceMean, -1))
}

// Rows holds the inputs of a batch of rows, as package encode writes them.
type Rows struct {
	Numbers *Node // [B, numeric columns, 2]: position among the bins, standardised value; nil if there are none
	Cycles  *Node // [B, times, 8]: cyclic parts of times; nil if there are none
	Codes   *Node // [B, categorical columns] int32 rows of the embedding table; nil if there are none
}

// Forward is a network applied to rows with given weights.
type Forward struct {
	Game
	n      *Network
	w      Lookup
	z      *Node           // [D, B, Z]
	values map[*Node]*Node // by mask: σ and the prediction share the node
}

// Forward embeds the rows.
func (n *Network) Forward(w Lookup, rows Rows) *Forward { return n.Thinned(w, rows, nil) }

// Thinned is Forward with dropout: the game uses the embeddings times kept [D, B, Z], if given. σ and h use all of
// them.
func (n *Network) Thinned(w Lookup, rows Rows, kept *Node) *Forward {
	z := embed(n.Config, w, rows)
	thin := z
	if kept != nil {
		thin = Mul(z, kept)
	}
	return &Forward{Game: n.head.game(w, thin), n: n, w: w, z: z, values: map[*Node]*Node{}}
}

// Value returns f(x_S) [B, P, C] for masks [B, P, D], built once per node of masks.
func (f *Forward) Value(mask *Node) *Node {
	if f.values[mask] == nil {
		f.values[mask] = f.Game.Value(mask)
	}
	return f.values[mask]
}

// Learners returns each learner's f(x_S), whose mean is f(x_S).
func (f *Forward) Learners(mask *Node) []*Node {
	game, is := f.Game.(productGame)
	if !is || game.learners == 1 {
		return []*Node{f.Value(mask)}
	}
	list := game.parts(mask)
	for i, part := range list {
		list[i] = MulScalar(part, game.learners)
	}
	return list
}

// Std returns σ_d [B, C, D] of the columns of rows with masks [B, 1, D]. With the learned head, the σ network of a
// column uses f_d besides z_d, as in the paper, at no extra cost. With the exact head it uses f(x_S), so that a
// prediction and its spread need no integral.
func (f *Forward) Std(mask *Node) *Node {
	var context *Node
	if f.n.Head == form.Learned {
		context = TransposeAllAxes(Squeeze(f.Game.(learnedGame).columns(mask), 1), 2, 0, 1) // [D, B, C]
	} else {
		context = TransposeAllAxes(f.Value(mask), 1, 0, 2) // [1, B, C]
	}
	return std(f.w, StopGradient(f.z), Squeeze(mask, 1), StopGradient(context))
}

// NoiseStd returns σ_0 [C]. Classes have none: labels are random already.
func (f *Forward) NoiseStd() *Node { return Mul(positive(f.w("sigma0")), f.w(form.NoiseScale)) }

// NoiseScale returns the unit of σ [C], [1] if classes share it.
func (f *Forward) NoiseScale() *Node { return f.w(form.NoiseScale) }

// NoiseGrowth returns the ratio [C] of the squared errors of new rows to those of training rows.
func (f *Forward) NoiseGrowth() *Node { return f.w(form.NoiseGrowth) }

// HiddenVariance returns h²(x_S) [B, P, C] for masks [B, P, D].
func (f *Forward) HiddenVariance(mask *Node) *Node {
	return hiddenVariance(f.n.Config, f.w, StopGradient(f.z), mask)
}
