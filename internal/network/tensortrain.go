package network

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
)

// tensorTrain is the exact head with a matrix per player in place of a factor:
//
//	A_d = I + C_d + R_d (G_d(x_d) − C_d),   G_d, C_d ∈ R^{r×r×M}
//	v(x_S) = Σ_m aᵀ_m [Π_d A_dm − Π_d (I + C_dm)] b_m
//
// still multilinear in R. No matrix is built for a coalition: vectors are multiplied by C_d and by G_d − C_d, and the
// results are mixed by R_d.
//
// The M trains are on the innermost axis, and matrices are multiplied by vectors as broadcast products and sums: r is
// small, and the engines are slow at many tiny matrix products.
type tensorTrain struct{ form.Config }

func (h tensorTrain) game(w Lookup, z *Node) Game {
	d, b, m, r := h.Inputs.Columns(), z.Shape().Dim(1), h.Channels, h.Rank
	absent := Tanh(w("factor_absent"))
	gain := Sub(Tanh(playerLayer(w, "factor", z)), absent)
	bases, gains := separate(absent), separate(gain)
	g := trainGame{Config: h.Config, left: w("left"), right: centre(h.Config, w("right"))}
	for i := range d {
		player := i
		if h.Order != nil {
			player = h.Order[i]
		}
		g.cars = append(g.cars, car{
			player: player,
			base:   Reshape(bases[player], 1, 1, r, r, m),
			gain:   Reshape(gains[player], b, 1, r, r, m),
		})
	}
	return g
}

// separate splits a along axis 0 by halves. The gradient of each slice is padded to the size of the tensor it was cut
// from; cutting all slices from the whole would create D tensors of full size.
func separate(a *Node) []*Node {
	n := a.Shape().Dim(0)
	if n == 1 {
		return []*Node{a}
	}
	return append(separate(half(a, 0, n/2)), separate(half(a, n/2, n))...)
}

// car is the position of one player in the train: C_d [1, 1, r, r, M] and G_d − C_d [B, 1, r, r, M].
type car struct {
	player     int
	base, gain *Node
}

// trainGame multiplies vectors through the train. X is the number of coalitions of a row, times the quadrature nodes
// and outputs.
type trainGame struct {
	form.Config
	cars        []car
	left, right *Node // a [r, M], b [r, M, C]
}

// fromLeft returns xᵀA for row vectors x [B, X, r, M] and matrices a [B, 1, r, r, M].
func fromLeft(x, a *Node) *Node { return ReduceSum(Mul(InsertAxes(x, 3), a), 2) }

// fromRight returns A·y for column vectors y [B, X, r, M] and matrices a [B, 1, r, r, M].
func fromRight(y, a *Node) *Node { return ReduceSum(Mul(InsertAxes(y, 2), a), 3) }

// step returns x + x·C + presence·x·(G − C), and its last term without the presence, for times = fromLeft or fromRight
// and presence [B, X, 1, 1].
func (c car) step(times func(x, a *Node) *Node, x, presence *Node) (next, gained *Node) {
	gained = times(x, c.gain)
	return Add(Add(x, times(x, c.base)), Mul(presence, gained)), gained
}

func (g trainGame) Value(mask *Node) *Node {
	x := InsertAxes(g.left, 0, 0) // the same for all rows and coalitions, before the first player
	none := x
	for _, c := range g.cars {
		x, _ = c.step(fromLeft, x, presenceOf(mask, c.player))
		none = Add(none, fromLeft(none, c.base))
	}
	return Einsum("bprm,rmc->bpc", Sub(x, none), g.right)
}

// presenceOf returns one player's column of a mask [B, X, D] as [B, X, 1, 1].
func presenceOf(mask *Node, player int) *Node {
	return InsertAxes(Slice(mask, AxisRange(), AxisRange(), AxisElem(player)), -1)
}

func (g trainGame) Attributions(mask *Node, nodes int) *Node { return g.integrate(mask, nil, nodes) }

// Interactions: ∂v/∂R_i replaces A_i by R_i (G_i − C_i); see productGame.Interactions.
func (g trainGame) Interactions(mask, pivot *Node, nodes int) *Node {
	return Mul(g.integrate(mask, pivot, nodes), OneMinus(InsertAxes(pivot, 0, 0, 0)))
}

// integrate returns Σ_q ω_q R_d Σ_m (aᵀ Π_{j<d} A_j(t_q)) (G_d − C_d) (Π_{j>d} A_j(t_q) b) as [B, P, C, D], from left
// vectors and right vectors at each player. The nodes share an axis with the coalitions: vectors are small, matrices
// are read once. With a pivot, that player's A is R (G − C).
func (g trainGame) integrate(mask, pivot *Node, nodes int) *Node {
	b, p, d := mask.Shape().Dim(0), mask.Shape().Dim(1), g.Inputs.Columns()
	c, r, m := g.Outputs, g.Rank, g.Channels
	t, omega := form.GaussLegendre(nodes)
	// perNode returns the mask times v_q, as [B, P·Q, D].
	perNode := func(v []float64) *Node {
		return Reshape(Mul(InsertAxes(mask, 2), Reshape(ConstAs(mask, v), 1, 1, nodes, 1)), b, p*nodes, d)
	}
	one := make([]float64, nodes)
	for q := range one {
		one[q] = 1
	}
	scaled, whole, weight := perNode(t), perNode(one), perNode(omega)

	lefts := make([]*Node, d) // aᵀ A_0 … A_{i−1} as [B, X, r, M]
	left := InsertAxes(g.left, 0, 0)
	for i, car := range g.cars {
		lefts[i] = left
		next, gained := car.step(fromLeft, left, presenceOf(scaled, car.player))
		left = instead(pivot, car.player, Mul(presenceOf(whole, car.player), gained), next)
	}
	phi := make([]*Node, d)
	right := TransposeAllAxes(g.right, 2, 0, 1) // [C, r, M]
	right = Reshape(BroadcastToDims(InsertAxes(right, 0, 0), 1, p*nodes, c, r, m), 1, p*nodes*c, r, m)
	perOutput := func(presence *Node) *Node { // [B, X, 1, 1] → [B, X·C, 1, 1]
		return Reshape(BroadcastToDims(presence, b, p*nodes, c, 1), b, p*nodes*c, 1, 1)
	}
	for i := d - 1; i >= 0; i-- {
		car := g.cars[i]
		next, gained := car.step(fromRight, right, perOutput(presenceOf(scaled, car.player)))
		right = instead(pivot, car.player, Mul(perOutput(presenceOf(whole, car.player)), gained), next)
		// Σ over r, M of left and (G − C)·right, then over the nodes by ωR.
		meet := ReduceSum(Mul(InsertAxes(lefts[i], 2), Reshape(gained, b, p*nodes, c, r, m)), 3, 4)
		meet = Mul(meet, Squeeze(presenceOf(weight, car.player), -1)) // [B, P·Q, C]
		phi[car.player] = ReduceSum(Reshape(meet, b, p, nodes, c), 2)
	}
	return Stack(phi, -1)
}

// instead returns a where pivot [D] has its 1 at player, else b; without a pivot, b.
func instead(pivot *Node, player int, a, b *Node) *Node {
	if pivot == nil {
		return b
	}
	at := Reshape(Slice(pivot, AxisElem(player)), 1, 1, 1, 1)
	return Add(b, Mul(at, Sub(a, b)))
}
