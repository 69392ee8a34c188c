package network

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
)

// product is the exact head's product form. With factors g_d(x_d) ∈ R^K and baselines c_d ∈ R^K,
//
//	f_dk = 1 + c_dk + R_d (g_dk − c_dk)
//	v(x_S) = Σ_k w_k [Π_(i,j) (f_ik f_jk + R_i R_j Σ_m u_imk u_jmk) − Π_d (1 + c_dk)]
//
// over the pairs (i, j) of columns, which depend on the channel. Without pairs there is no u. It is multilinear in R,
// so by Owen (1972)
//
//	φ_d(x_S) = ∫₀¹ ∂v/∂R_d (tR) dt.
type product struct{ form.Config }

func (h product) game(w Lookup, z *Node) Game {
	absent := Tanh(w("factor_absent"))       // c [D, 1, K]
	all := Tanh(playerLayer(w, "factor", z)) // g and u [D, B, parts · K]
	out := centre(h.Config, w("channel"))
	game := productGame{players: h.Inputs.Players(), learners: h.LearnerCount()}
	for _, f := range h.Factors() {
		channels := func(x *Node, part int) *Node {
			at := part*h.Channels + f.From
			x = Slice(x, AxisRange(), AxisRange(), AxisRange(at, at+f.Channels))
			return withNone(InsertAxes(x, 2))
		}
		c, p := channels(absent, 0), products{learner: f.Learner, out: half(out, f.From, f.From+f.Channels), alone: h.Inputs.Groups == nil}
		p.factors = h.PlayerFactors(f)
		for n := range p.sides {
			s := &p.sides[n]
			for i := n; i < len(f.Order); i += 2 {
				s.columns = append(s.columns, f.Order[i])
			}
			s.base, s.gain = OnePlus(take(c, s.columns)), take(Sub(channels(all, 0), c), s.columns)
		}
		for m := 1; m < h.Parts(); m++ {
			u := channels(all, m)
			p.with = append(p.with, Mul(take(u, p.sides[0].columns), take(u, p.sides[1].columns)))
		}
		game.sums = append(game.sums, p)
	}
	return game
}

// withNone appends the column that does not exist, which changes no product.
func withNone(x *Node) *Node { return Concatenate([]*Node{x, ZerosLike(member(x, 0))}, 0) }

// take selects columns of x [D + 1, …].
func take(x *Node, columns []int32) *Node {
	return Gather(x, InsertAxes(Const(x.Graph(), columns), -1))
}

type productGame struct {
	sums              []products
	players, learners int
}

// products is a set of channels whose columns are multiplied in the same pairs.
type products struct {
	learner int // learner of the channels
	sides   [2]side
	with    []*Node // joint parts of the columns of each pair, by rank [pairs, B, 1, K]
	out     *Node   // [K, C]
	factors []form.PlayerFactor
	alone   bool // every player is a column
}

// side holds the first columns of all pairs, or the second ones.
type side struct {
	columns []int32
	base    *Node // 1 + c [pairs, 1, 1, K]
	gain    *Node // g − c [pairs, B, 1, K]
}

// polynomial holds factors of two players with presence R_i and R_j: none + i R_i + j R_j + both R_i R_j.
type polynomial struct{ none, i, j, both *Node } // [factors, B, P, K]

// ofColumns returns the factors of pairs of columns for masks [D + 1, B, P, 1].
func (p products) ofColumns(mask *Node) polynomial {
	inI, inJ := take(mask, p.sides[0].columns), take(mask, p.sides[1].columns)
	a, b := p.sides[0].base, p.sides[1].base
	r, s := Mul(inI, p.sides[0].gain), Mul(inJ, p.sides[1].gain)
	both := Mul(r, s)
	for _, u := range p.with {
		both = Add(both, Mul(Mul(inI, inJ), u))
	}
	return polynomial{Mul(a, b), Mul(r, b), Mul(a, s), both}
}

// ofPlayers returns the factors of pairs of players. For groups, the coefficients follow from the products of their
// columns with each of the two present and absent.
func (p products) ofPlayers(mask *Node) polynomial {
	pairs := p.ofColumns(mask)
	if p.alone {
		return pairs
	}
	var list [4][]*Node
	for _, f := range p.factors {
		state := func(first, second bool) *Node {
			v := OnesLike(member(pairs.both, 0))
			for _, pair := range f.Pairs {
				is := func(n int) bool { return pair.Of[n] == 0 && first || pair.Of[n] == 1 && second }
				v = Mul(v, pairs.at(pair.At, is(0), is(1)))
			}
			return v
		}
		none, i, j, both := state(false, false), state(true, false), state(false, true), state(true, true)
		for n, x := range []*Node{none, Sub(i, none), Sub(j, none), Sub(Sub(both, j), Sub(i, none))} {
			list[n] = append(list[n], x)
		}
	}
	return polynomial{Concatenate(list[0], 0), Concatenate(list[1], 0), Concatenate(list[2], 0), Concatenate(list[3], 0)}
}

// at returns the value of a factor with each of its two players present or absent.
func (f polynomial) at(factor int, first, second bool) *Node {
	v := member(f.none, factor)
	if first {
		v = Add(v, member(f.i, factor))
	}
	if second {
		v = Add(v, member(f.j, factor))
	}
	if first && second {
		v = Add(v, member(f.both, factor))
	}
	return v
}

func (g productGame) Value(mask *Node) *Node {
	var v *Node
	for _, part := range g.parts(mask) {
		v = sum(v, part)
	}
	return v
}

// parts returns the contribution of each learner's channels to the value.
func (g productGame) parts(mask *Node) []*Node {
	mask = withNone(columnsFirst(mask))
	list := make([]*Node, g.learners)
	for _, p := range g.sums {
		f := p.ofColumns(mask)
		with := productOf(Add(Add(f.none, f.i), Add(f.j, f.both)))
		list[p.learner] = sum(list[p.learner], Einsum("bpk,kc->bpc", Squeeze(Sub(with, productOf(f.none)), 0), p.out))
	}
	return list
}

func sum(a, b *Node) *Node {
	if a == nil {
		return b
	}
	return Add(a, b)
}

func (g productGame) Attributions(mask *Node, nodes int) *Node {
	return g.integrate(mask, nil, nodes)
}

// Interactions: I_ij = ∫₀¹ ∂²v/∂R_i∂R_j (tR) dt, the attributions of ∂v/∂R_i.
func (g productGame) Interactions(mask, pivot *Node, nodes int) *Node {
	return g.integrate(mask, pivot, nodes)
}

// integrate returns φ [B, P, C, players] of v, or of its derivative by the presence of a pivot. With M_n = Σ_q ω_q t_qⁿ
// Π_{other factors}(t_q) the integrals of a factor's players are i M_0 + both M_1 and j M_0 + both M_1. The work per
// node q covers half as many factors as there are players. Nodes are accumulated one by one and never get an axis.
func (g productGame) integrate(mask, pivot *Node, nodes int) *Node {
	mask = withNone(columnsFirst(mask))
	phi := make([]*Node, g.players) // [1, B, P, C]
	for _, p := range g.sums {
		f := p.ofPlayers(mask)
		if pivot != nil {
			f = f.derivative(pivot, p.factors)
		}
		either := Add(f.i, f.j)
		var m0, m1 *Node // [factors, B, P, K]
		t, omega := form.GaussLegendre(nodes)
		for q := range t {
			rest := MulScalar(productOfOthers(Add(f.none, MulScalar(Add(either, MulScalar(f.both, t[q])), t[q]))), omega[q])
			m0, m1 = sum(m0, rest), sum(m1, MulScalar(rest, t[q]))
		}
		shared := Mul(f.both, m1)
		for side, alone := range []*Node{f.i, f.j} {
			x := Einsum("dbpk,kc->dbpc", Add(Mul(alone, m0), shared), p.out)
			for n, of := range p.factors {
				if side < len(of.Players) {
					player := of.Players[side]
					phi[player] = sum(phi[player], member(x, n))
				}
			}
		}
	}
	return TransposeAllAxes(Concatenate(phi, 0), 1, 2, 3, 0)
}

// derivative returns the derivative by the presence of the player marked 1 in pivot: its factor becomes i + both R_j or
// j + both R_i.
func (f polynomial) derivative(pivot *Node, factors []form.PlayerFactor) polynomial {
	var is [2]*Node // where the pivot is the first player, and where it is the second [factors, 1, 1, 1]
	for side := range is {
		var all []*Node
		for _, of := range factors {
			if side < len(of.Players) {
				all = append(all, half(pivot, of.Players[side], of.Players[side]+1))
			} else {
				all = append(all, ZerosLike(half(pivot, 0, 1)))
			}
		}
		is[side] = Reshape(Concatenate(all, 0), -1, 1, 1, 1)
	}
	other := OneMinus(Add(is[0], is[1]))
	return polynomial{
		none: Add(Mul(other, f.none), Add(Mul(is[0], f.i), Mul(is[1], f.j))),
		i:    Add(Mul(other, f.i), Mul(is[1], f.both)),
		j:    Add(Mul(other, f.j), Mul(is[0], f.both)),
		both: Mul(other, f.both),
	}
}

func member(a *Node, j int) *Node { return half(a, j, j+1) }

func half(a *Node, from, to int) *Node { return Slice(a, AxisRange(from, to)) }

// productOf multiplies over axis 0 and keeps it: pairs of halves, in log depth. The engine's own product has no
// gradient.
func productOf(a *Node) *Node {
	for n := a.Shape().Dim(0); n > 1; n = a.Shape().Dim(0) {
		h := n / 2
		pairs := Mul(half(a, 0, h), half(a, h, 2*h))
		if n%2 == 1 {
			pairs = Concatenate([]*Node{pairs, half(a, 2*h, n)}, 0)
		}
		a = pairs
	}
	return a
}

// productOfOthers returns, for each index of axis 0, the product of all others: products of pairs up a tree, then down
// again. It takes O(D) work and avoids division.
func productOfOthers(a *Node) *Node {
	n := a.Shape().Dim(0)
	if n == 1 {
		return OnesLike(a)
	}
	h := n / 2
	left, right := half(a, 0, h), half(a, h, 2*h)
	if n%2 == 0 {
		up := productOfOthers(Mul(left, right))
		return Concatenate([]*Node{Mul(up, right), Mul(up, left)}, 0)
	}
	up := productOfOthers(Concatenate([]*Node{Mul(left, right), half(a, 2*h, n)}, 0))
	pair := half(up, 0, h)
	return Concatenate([]*Node{Mul(pair, right), Mul(pair, left), half(up, h, h+1)}, 0)
}
