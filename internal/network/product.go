package network

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/form"
)

// product is the exact head's product form. With factors g_d(x_d) ∈ R^K and
// baselines c_d ∈ R^K,
//
//	p_dk = 1 + c_dk + R_d (g_dk − c_dk)
//	v(x_S) = Σ_k w_k [Π_d p_dk − Π_d (1 + c_dk)]
//
// which is multilinear in R, so by Owen (1972)
//
//	φ_d(x_S) = ∫₀¹ ∂v/∂R_d (tR) dt.
type product struct{ form.Config }

func (h product) game(w Lookup, z *Node) Game {
	absent := Tanh(w("factor_absent"))           // c [D, 1, K]
	present := Tanh(playerLayer(w, "factor", z)) // g [D, B, K]
	return productGame{
		gain: InsertAxes(Sub(present, absent), 2), // [D, B, 1, K]
		base: InsertAxes(OnePlus(absent), 2),      // [D, 1, 1, K]
		out:  centre(h.Config, w("channel")),      // [K, C]

		groups: h.Inputs.Groups,
	}
}

type productGame struct {
	gain, base, out *Node
	groups          [][]int
}

func (g productGame) Value(mask *Node) *Node {
	factors := Add(g.base, Mul(columnsFirst(mask), g.gain)) // [D, B, P, K]
	v := Squeeze(Sub(productOf(factors), productOf(g.base)), 0)
	return Einsum("bpk,kc->bpc", v, g.out)
}

func (g productGame) Attributions(mask *Node, nodes int) *Node {
	base, gain := g.grouped(Mul(columnsFirst(mask), g.gain))
	return g.integrate(base, gain, nodes)
}

// grouped are the base and the gain of the players. A group G of columns is one player
// whose factor is that of all its members,
//
//	p_G = Π_{j∈G} (1 + c_j) + R_G [Π_{j∈G} (1 + c_j + gain_j) − Π_{j∈G} (1 + c_j)],
//
// where an absent member has no gain.
func (g productGame) grouped(gain *Node) (bases, gains *Node) {
	if g.groups == nil {
		return g.base, gain
	}
	var baseOf, gainOf []*Node
	for _, columns := range g.groups {
		base, with := member(g.base, columns[0]), Add(member(g.base, columns[0]), member(gain, columns[0]))
		for _, j := range columns[1:] {
			with = Mul(with, Add(member(g.base, j), member(gain, j)))
			base = Mul(base, member(g.base, j))
		}
		baseOf, gainOf = append(baseOf, base), append(gainOf, Sub(with, base))
	}
	return Concatenate(baseOf, 0), Concatenate(gainOf, 0)
}

func member(a *Node, j int) *Node { return half(a, j, j+1) }

// Interactions: I_ij = ∫₀¹ ∂²v/∂R_i∂R_j (tR) dt. ∂v/∂R_i puts player i's gain, which
// does not depend on t, in place of its factor; the derivative by R_j is then taken as
// for attributions.
func (g productGame) Interactions(mask, pivot *Node, nodes int) *Node {
	base, gain := g.grouped(Mul(columnsFirst(mask), g.gain))
	at := Reshape(pivot, -1, 1, 1, 1) // [D, 1, 1, 1]
	base = Add(base, Mul(at, Sub(gain, base)))
	slope := Mul(gain, OneMinus(at))
	return g.integrate(base, slope, nodes)
}

// integrate is ∫₀¹ Σ_k w_kc s_dk Π_{j≠d} (a_jk + t s_jk) dt as [B, P, C, D], for a = base
// and s = slope.
//
// Players are taken in pairs (i, j), whose factors multiply to
//
//	(a_i + t s_i)(a_j + t s_j) = a_i a_j + t (s_i a_j + a_i s_j) + t² s_i s_j,
//
// so that with M_n = Σ_q ω_q t_qⁿ Π_{other pairs}(t_q) player i's integral is
// s_i (a_j M_0 + s_j M_1): what is done for every node q is done for half as many
// factors. Nodes are added up as they come and never get an axis of their own.
func (g productGame) integrate(base, slope *Node, nodes int) *Node {
	d := slope.Shape().Dim(0)
	if d%2 == 1 { // a neutral partner for the last player
		one := OnesLike(half(base, 0, 1))
		base = Concatenate([]*Node{base, one}, 0)
		slope = Concatenate([]*Node{slope, ZerosLike(half(slope, 0, 1))}, 0)
	}
	h := slope.Shape().Dim(0) / 2
	ai, aj := half(base, 0, h), half(base, h, 2*h)
	si, sj := half(slope, 0, h), half(slope, h, 2*h)
	only, onlyI, onlyJ, both := Mul(ai, aj), Mul(si, aj), Mul(ai, sj), Mul(si, sj)
	either := Add(onlyI, onlyJ)

	var m0, m1 *Node // [D/2, B, P, K]
	t, omega := form.GaussLegendre(nodes)
	for q := range t {
		pairs := Add(only, MulScalar(Add(either, MulScalar(both, t[q])), t[q]))
		rest := MulScalar(productOfOthers(pairs), omega[q])
		if q == 0 {
			m0, m1 = rest, MulScalar(rest, t[q])
		} else {
			m0, m1 = Add(m0, rest), Add(m1, MulScalar(rest, t[q]))
		}
	}
	shared := Mul(both, m1)
	phi := func(alone *Node) *Node { // [D/2, B, P, C]
		return Einsum("dbpk,kc->dbpc", Add(Mul(alone, m0), shared), g.out)
	}
	all := Concatenate([]*Node{phi(onlyI), phi(onlyJ)}, 0)
	return TransposeAllAxes(half(all, 0, d), 1, 2, 3, 0)
}

func half(a *Node, from, to int) *Node { return Slice(a, AxisRange(from, to)) }

// productOf multiplies over axis 0 and keeps it: pairs of halves, in log depth. The
// engine's own product has no gradient.
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

// productOfOthers gives each place of axis 0 the product of all other places:
// products of pairs up a tree, then down again. O(D) work; nothing is divided.
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
