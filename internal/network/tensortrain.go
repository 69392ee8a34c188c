package network

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// tensorTrain is the exact head with a matrix per player in place of a factor:
//
//	A_d = I + C_d + R_d (G_d(x_d) − C_d),   G_d, C_d ∈ R^{M×r×r}
//	v(x_S) = Σ_m aᵀ_m [Π_d A_d − Π_d (I + C_d)] b_m
//
// still multilinear in R. No matrix is ever built for a coalition: vectors are
// multiplied by C_d and by G_d − C_d, and the two mixed by R_d.
type tensorTrain struct{ Config }

func (h tensorTrain) weights() []Weight {
	d, z, m, r := h.Inputs.Players(), h.Embedding, h.Channels, h.Rank
	return []Weight{
		{"factor", []int{d, z, m * r * r}, Mean, uniform(perRoot(z) * calm(d) * perRoot(r))},
		{"factor_bias", []int{d, 1, m * r * r}, Mean, constant(0)},
		{"factor_absent", []int{d, m, r, r}, Mean, normal(.02)},
		{"left", []int{m, 1, 1, r}, Mean, normal(1)},
		{"right", []int{m, 1, r, h.Outputs}, Mean, normal(perRoot(m * r))},
	}
}

func (h tensorTrain) game(w Lookup, z *Node) Game {
	d, b, m, r := h.Inputs.Players(), z.Shape().Dim(1), h.Channels, h.Rank
	absent := Tanh(w("factor_absent")) // C [D, M, r, r]
	present := Tanh(TransposeAllAxes(Reshape(playerLayer(w, "factor", z), d, b, m, r*r), 0, 2, 1, 3))
	gain := Sub(Reshape(present, d, m, b, r, r), InsertAxes(absent, 2)) // G − C [D, M, B, r, r]
	g := trainGame{Config: h.Config, left: w("left"), right: w("right")}
	order := h.Order
	for i := range d {
		player := i
		if order != nil {
			player = order[i]
		}
		at := AxisElem(player)
		g.cars = append(g.cars, car{
			player: player,
			base:   Squeeze(Slice(absent, at), 0), // [M, r, r]
			gain:   Squeeze(Slice(gain, at), 0),   // [M, B, r, r]
		})
	}
	return g
}

// car is one player's place in the train.
type car struct {
	player     int
	base, gain *Node
}

// trainGame pushes vectors through the train. X stands for the coalitions of a row,
// times the quadrature nodes.
type trainGame struct {
	Config
	cars        []car
	left, right *Node // a [M, 1, 1, r], b [M, 1, r, C]
}

// push is x·A_d for row vectors x [M, B, X, r] and presence [1, B, X, 1].
func (c car) push(x, presence *Node) *Node {
	held := Einsum("mbxi,mij->mbxj", x, c.base)
	moved := Einsum("mbxi,mbij->mbxj", x, c.gain)
	return Add(Add(x, held), Mul(presence, moved))
}

// pull is A_d·y for column vectors y [M, B, r, X] and presence [1, B, 1, X]; it also
// returns (G_d − C_d)·y.
func (c car) pull(y, presence *Node) (pulled, gain *Node) {
	m, b, r, x := c.gain.Shape().Dim(0), c.gain.Shape().Dim(1), c.gain.Shape().Dim(2), y.Shape().Dim(3)
	held := Einsum("mij,mbjx->mibx", c.base, y) // [M, r, B, X]
	held = TransposeAllAxes(held, 0, 2, 1, 3)
	held.AssertDims(m, b, r, x)
	gain = Einsum("mbij,mbjx->mbix", c.gain, y)
	return Add(Add(y, held), Mul(presence, gain)), gain
}

func (g trainGame) Value(mask *Node) *Node {
	presence := players(mask) // [D, B, P, 1]
	b, p := mask.Shape().Dim(0), mask.Shape().Dim(1)
	x := BroadcastToDims(g.left, g.Channels, b, p, g.Rank)
	none := BroadcastToDims(g.left, g.Channels, 1, 1, g.Rank)
	for _, c := range g.cars {
		x = c.push(x, presenceOf(presence, c.player))
		none = Add(none, Einsum("mbxi,mij->mbxj", none, c.base))
	}
	return Einsum("mbxi,mic->bxc", Sub(x, none), Squeeze(g.right, 1))
}

func presenceOf(presence *Node, player int) *Node { return Slice(presence, AxisElem(player)) }

func (g trainGame) Attributions(mask *Node, nodes int) *Node { return g.integrate(mask, nil, nodes) }

// Interactions: ∂v/∂R_i puts G_i − C_i in place of A_i; see productGame.Interactions.
func (g trainGame) Interactions(mask, pivot *Node, nodes int) *Node {
	return Mul(g.integrate(mask, pivot, nodes), OneMinus(pivot))
}

// integrate is Σ_q ω_q R_d Σ_m (aᵀ Π_{j<d} A_j(t_q)) (G_d − C_d) (Π_{j>d} A_j(t_q) b)
// as [B, P, C, D], from left vectors at each player and right vectors at each
// player. All nodes share one axis with the coalitions: the vectors are small, the
// matrices are read once. With a pivot, that player's A is R (G − C).
func (g trainGame) integrate(mask, pivot *Node, nodes int) *Node {
	b, p, d := mask.Shape().Dim(0), mask.Shape().Dim(1), g.Inputs.Players()
	c, r, m := g.Outputs, g.Rank, g.Channels
	t, omega := gaussLegendre(nodes)
	x := p * nodes
	constant := func(v []float64) *Node { // [1, 1, Q]
		return InsertAxes(ConstAs(mask, v), 0, 0)
	}
	presence := TransposeAllAxes(mask, 2, 0, 1)                                                      // R [D, B, P]
	scaled := Reshape(Mul(InsertAxes(presence, -1), InsertAxes(constant(t), 0)), d, b, x)            // tR [D, B, X]
	weight := Reshape(Mul(InsertAxes(presence, -1), InsertAxes(constant(omega), 0)), d, b, p, nodes) // ωR
	plain := Reshape(BroadcastToDims(InsertAxes(presence, -1), d, b, p, nodes), d, b, x)             // R [D, B, X]

	// lefts[i] is aᵀ A_0 … A_{i−1} as [M, B, X, r].
	lefts := make([]*Node, d)
	left := BroadcastToDims(g.left, m, b, x, r)
	for i, car := range g.cars {
		lefts[i] = left
		if i == d-1 {
			break
		}
		next := car.push(left, Reshape(presenceOf(scaled, car.player), 1, b, x, 1))
		if pivot != nil {
			only := Mul(Reshape(presenceOf(plain, car.player), 1, b, x, 1), Einsum("mbxi,mbij->mbxj", left, car.gain))
			next = choose(pivot, car.player, only, next)
		}
		left = next
	}
	phi := make([]*Node, d)
	right := BroadcastToDims(InsertAxes(g.right, 3), m, b, r, x, c)
	right = Reshape(right, m, b, r, x*c)
	outputs := func(a *Node) *Node { // [1, B, X] → [1, B, 1, X·C]
		return Reshape(BroadcastToDims(InsertAxes(a, -1), 1, b, x, c), 1, b, 1, x*c)
	}
	for i := d - 1; i >= 0; i-- {
		car := g.cars[i]
		next, gain := car.pull(right, outputs(presenceOf(scaled, car.player)))
		l := InsertAxes(TransposeAllAxes(lefts[i], 0, 1, 3, 2), -1)                // [M, B, r, X, 1]
		both := ReduceSum(Mul(l, Reshape(gain, m, b, r, x, c)), 0, 2)              // [B, X, C]
		omegaR := Reshape(presenceOf(weight, car.player), b, p, nodes, 1)          // [B, P, Q, 1]
		phi[car.player] = ReduceSum(Mul(Reshape(both, b, p, nodes, c), omegaR), 2) // [B, P, C]
		if pivot != nil {
			only := Mul(outputs(presenceOf(plain, car.player)), gain)
			next = choose(pivot, car.player, only, next)
		}
		right = next
	}
	return Stack(phi, -1)
}

// choose is a where pivot [D] has its 1 at player, else b.
func choose(pivot *Node, player int, a, b *Node) *Node {
	at := Reshape(Slice(pivot, AxisElem(player)), 1, 1, 1, 1)
	return Add(b, Mul(at, Sub(a, b)))
}
