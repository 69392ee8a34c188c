// Package network builds the graphs of a tensor engine: the encoders, the players' networks (MENN), the two heads, σ_d
// and h. docs/equations.md maps functions to equations. Axes are named as in package form; tensors of players have D
// first, so that slices of players are contiguous.
package network

import (
	"errors"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
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

// Base returns φ_0 [C] less the mean of the target, of a network that trains it.
func (f *Forward) Base() *Node { return f.w("base") }

// NoiseScale returns the unit of σ [C], [1] if classes share it.
func (f *Forward) NoiseScale() *Node { return f.w(form.NoiseScale) }

// NoiseGrowth returns the ratio [C] of the squared errors of new rows to those of training rows.
func (f *Forward) NoiseGrowth() *Node { return f.w(form.NoiseGrowth) }

// HiddenVariance returns h²(x_S) [B, P, C] for masks [B, P, D].
func (f *Forward) HiddenVariance(mask *Node) *Node {
	return hiddenVariance(f.n.Config, f.w, StopGradient(f.z), mask)
}

// Explain returns the contents of form.Explained as nodes: f(x_S) [B, 1, C], σ_d [B, C, players], h² [B, 1, C] and f_d
// [B, 1, C, players], for rows with masks [B, 1, D].
func (f *Forward) Explain(mask *Node, nodes int) (value, std, hidden, attributions *Node) {
	return f.Value(mask), playerStd(f.n.Inputs, f.Std(mask)), f.HiddenVariance(mask), f.Attributions(mask, nodes)
}

// steepest is where the linear feature of a column is clipped, in standard deviations.
const steepest = 4

// embed is MENN₁: an independent network per player, z_d = E_d(x_d), all players at once as batched blocks [D, in,
// out]. The paper writes it as dense layers under block masks, which is the same function with D times the weights.
func embed(c form.Config, w Lookup, rows Rows) *Node {
	var parts []*Node
	if rows.Numbers != nil {
		parts = append(parts, embedNumbers(c, w, rows))
	}
	if rows.Codes != nil {
		rowsOf := Gather(w("levels"), InsertAxes(rows.Codes, -1)) // [B, categorical, Z]
		parts = append(parts, TransposeAllAxes(rowsOf, 1, 0, 2))
	}
	h := parts[0]
	if len(parts) > 1 {
		h = Concatenate(parts, 0)
	}
	if c.Head == form.Learned && c.Net == form.FFNN { // a linear map, which the trunk's first layer includes
		return h
	}
	act := activation(c.Activation, relu)
	h = act(h)
	for _, name := range c.HiddenLayers() {
		h = act(playerLayer(w, name, h))
	}
	return h
}

// embedNumbers maps [B, N, 2] to the first layer of the numeric columns [N, B, Z].
func embedNumbers(c form.Config, w Lookup, rows Rows) *Node {
	x := TransposeAllAxes(rows.Numbers, 1, 0, 2)
	position := Slice(x, AxisRange(), AxisRange(), AxisRange(0, 1)) // [N, B, 1]
	bin := Iota(x.Graph(), shapes.Make(dtypes.Float32, 1, 1, c.Inputs.Bins), -1)
	code := ClipScalar(Sub(position, bin), 0, 1) // piecewise-linear: full bins, then a part of one
	h := Add(Einsum("dbi,dij->dbj", code, w("bins")), w("bins_bias"))
	value := Slice(x, AxisRange(), AxisRange(), AxisRange(1, 2))
	if c.Frequencies > 0 {
		turns := Mul(value, w("frequency"))
		turns = Sub(turns, StopGradient(Round(turns))) // otherwise the fractional part of large values would be lost
		angle := MulScalar(turns, 2*math.Pi)
		waves := Concatenate([]*Node{Sin(angle), Cos(angle)}, -1)
		h = Add(h, Einsum("dbi,dij->dbj", waves, w("periodic")))
	} else { // no waves: a linear feature
		h = Add(h, Mul(ClipScalar(value, -steepest, steepest), w("slope")))
	}
	if c.Inputs.Times > 0 { // the last columns also have cyclic parts
		parts := Einsum("dbi,dij->dbj", TransposeAllAxes(rows.Cycles, 1, 0, 2), w("cycles"))
		plain := c.Inputs.Numeric - c.Inputs.Times
		times := Add(half(h, plain, c.Inputs.Numeric), parts)
		if plain > 0 {
			times = Concatenate([]*Node{half(h, 0, plain), times}, 0)
		}
		h = times
	}
	if c.Inputs.Gaps { // a missing cell that is a level of its own lies below all bins
		gap := ConvertDType(LessThan(position, ZerosLike(position)), position.DType())
		h = Add(Mul(OneMinus(gap), h), Mul(gap, w("gap")))
	}
	return h
}

// playerLayer applies every player's own dense layer to h [D, B, in].
func playerLayer(w Lookup, name string, h *Node) *Node {
	return Add(Einsum("dbi,dij->dbj", h, w(name)), w(name+"_bias"))
}

func relu(x *Node) *Node { return MaxScalar(x, 0) }

// positive returns log(1 + eˣ), written with functions that have gradients on every backend. It is above 0 until eˣ
// underflows.
func positive(x *Node) *Node {
	return Add(relu(x), logOnePlus(Exp(Neg(Abs(x)))))
}

// logOnePlus returns log(1 + u) for u in [0, 1]. ONNX Runtime has no such function, and its backend adds 1 first, which
// loses a small u. Small u use a series with a relative error below u⁴/5.
func logOnePlus(u *Node) *Node {
	series := Mul(u, OneMinus(Mul(u, AddScalar(Mul(u, AddScalar(MulScalar(u, .25), -1./3)), .5))))
	return Where(LessThan(u, Const(u.Graph(), float32(.01))), series, Log1P(u))
}

// columnsFirst turns masks [B, P, D] into [D, B, P, 1].
func columnsFirst(mask *Node) *Node {
	return InsertAxes(TransposeAllAxes(mask, 2, 0, 1), -1)
}

// membership returns [D, players]: 1 where the column belongs to the player.
func membership(in form.Inputs, like *Node) *Node {
	rows := make([][]float32, in.Columns())
	for j := range rows {
		rows[j] = make([]float32, len(in.Groups))
	}
	for player, columns := range in.Groups {
		for _, j := range columns {
			rows[j][player] = 1
		}
	}
	return ConstAs(like, rows)
}

// PerPlayer sums values of columns, on the last axis, to values of players.
func PerPlayer(in form.Inputs, x *Node) *Node {
	if in.Groups == nil {
		return x
	}
	axes := "abc"[:x.Rank()-1]
	return Einsum(axes+"j,jp->"+axes+"p", x, membership(in, x))
}

// ColumnsOf returns masks of columns [B, P, D] for masks of players [B, P, players] and the observed cells [B, D]. A
// present player has all its observed cells.
func ColumnsOf(in form.Inputs, players, observed *Node) *Node {
	if in.Groups == nil {
		return players
	}
	b, p := players.Shape().Dim(0), players.Shape().Dim(1)
	spread := Dot(Reshape(players, b*p, in.Players()), Transpose(membership(in, players), 0, 1)).Product()
	return Mul(Reshape(spread, b, p, in.Columns()), InsertAxes(observed, 1))
}

// playerStd returns σ [B, C, players] from σ [B, C, D]: the columns of a group are independent, so their variances add
// up.
func playerStd(in form.Inputs, std *Node) *Node {
	if in.Groups == nil {
		return std
	}
	return Sqrt(PerPlayer(in, Square(std)))
}

// std returns σ_d = R_d softplus(FFNN_d([z_d, MENN₂(context_d)])) as [B, C, D] for z [D, B, Z], masks [B, D] and
// context [D or 1, B, C]. Every player has its own weights. Classes with a shared σ_d get the same value.
func std(w Lookup, z, mask, context *Node) *Node {
	d, b, c := z.Shape().Dim(0), context.Shape().Dim(1), context.Shape().Dim(2)
	lifted := relu(playerLayer(w, "sigma_context", BroadcastToDims(context, d, b, c)))
	h := Add(playerLayer(w, "sigma_in", z), Einsum("dbi,dij->dbj", lifted, w("sigma_lifted")))
	s := Mul(positive(playerLayer(w, "sigma_out", relu(h))), InsertAxes(w(form.NoiseScale), 0, 0)) // [D, B, C or 1]
	return Mul(TransposeAllAxes(BroadcastToDims(s, d, b, c), 1, 2, 0), InsertAxes(mask, 1))
}

// hiddenVariance returns h²(x_S) [B, P, C] for z [D, B, Z] and masks [B, P, D]: the variance due to absent columns,
// exactly 0 if there are none. The input of its network is a linear mix of [z', R], as in the learned head.
func hiddenVariance(c form.Config, w Lookup, z, mask *Node) *Node {
	absent := w("hidden_absent")                                    // [D, 1, H]
	gain := Sub(Einsum("dbi,dij->dbj", z, w("hidden_mix")), absent) // [D, B, H]
	rest := Add(ReduceAndKeep(absent, ReduceSum, 0), w("hidden_mix_bias"))
	h := silu(Add(Einsum("bpd,dbh->bph", mask, gain), rest))
	b, p := mask.Shape().Dim(0), mask.Shape().Dim(1)
	h = silu(dense(w, "hidden_layer", Reshape(h, b*p, c.HiddenWidth)))
	variance := Reshape(positive(dense(w, "hidden_out", h)), b, p, c.Outputs)
	anyAbsent := OneMinus(ReduceAndKeep(mask, ReduceMin, -1)) // [B, P, 1]
	return Mul(variance, anyAbsent)
}
