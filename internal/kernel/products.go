package kernel

import (
	"slices"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// products is a set of channels whose columns are multiplied in the same pairs.
type products struct {
	from, channels int
	order          []int32     // columns, pair by pair
	base           [][]float32 // [2 · pairs][channels] 1 + c
	apart          [][]float32 // [pairs][channels] their products
	weights        [][]float32 // [outputs][channels] w
	factors        []playerFactor
	simple         bool // every factor of players is a pair of columns
	joined         bool // some factor has more than two players
	straight       bool // the order is that of the columns, for all channels
}

// playerFactor is the factor of two players: one pair of columns or, if players are groups, several, possibly with more
// players.
type playerFactor struct {
	form.PlayerFactor
	simple bool // its only pair has a column of each player
}

func (n *Net) newProducts(c form.Config, f form.Factors) products {
	p := products{from: f.From, channels: vector.Padded(f.Channels), order: f.Order, simple: c.Inputs.Groups == nil}
	p.straight = len(f.Order) >= len(n.columns) && p.channels == n.channels
	for i, d := range f.Order {
		p.straight = p.straight && int(d) == i
	}
	for _, of := range c.PlayerFactors(f) {
		p.factors = append(p.factors, playerFactor{of, len(of.Pairs) == 1 && of.Pairs[0].Of[1] != 0})
		p.joined = p.joined || len(of.Players) > 2
	}
	for i, d := range f.Order {
		p.base = append(p.base, n.base[d][p.from:][:p.channels])
		if i%2 == 1 {
			both := vector.Floats(p.channels)
			for k := range both {
				both[k] = p.base[i-1][k] * p.base[i][k]
			}
			p.apart = append(p.apart, both)
		}
	}
	for _, w := range n.channel {
		p.weights = append(p.weights, w[p.from:][:p.channels])
	}
	return p
}

// pairs lets s have the pairs of a row's records, and returns them.
func (n *Net) pairs(s *scratch, p *products, cells [][]float32) *vector.Pairs {
	s.pairs.Base, s.pairs.Records = p.base, p.inPairs(s.records, cells)
	return &s.pairs
}

// inPairs returns the records of a row in the order of the pairs. It has room for them in list.
func (p *products) inPairs(list, cells [][]float32) [][]float32 {
	if p.straight {
		return cells[:len(p.order)]
	}
	list = list[:0]
	for _, d := range p.order {
		list = append(list, cells[d][p.from:])
	}
	return list
}

// value writes the products of a row's records [channels].
func (n *Net) value(s *scratch, cells [][]float32, y []float32) {
	for i := range n.sums {
		p := &n.sums[i]
		n.ops.Value(y[p.from:][:p.channels], n.pairs(s, p, cells), n.rest[p.from:])
	}
}

// expand writes the coefficients of the pairs of s, with the records of a reference in place of absent ones, or none.
func (n *Net) expand(s *scratch, p *products, absent [][]float32) {
	s.pairs.Absent = nil
	if absent != nil {
		s.pairs.Absent = p.inPairs(s.references.records, absent)
	}
	n.ops.Coefficients(s.expanded(), &s.pairs, p.channels)
}

// coefficients returns the coefficients of the players' factors, four per factor, from those that expand has written.
func (n *Net) coefficients(s *scratch, p *products) [][]float32 {
	list := s.factors[:0]
	for i := range p.factors {
		var c [4][]float32
		if f := &p.factors[i]; f.simple {
			c = p.ofPair(s, f.Pairs[0].At)
		} else {
			c = p.ofGroups(s, f, s.grouped[4*i*p.channels:][:4*p.channels])
		}
		list = append(list, c[0], c[1], c[2], c[3])
	}
	return list
}

// ofPair returns the coefficients of a pair of columns.
func (p *products) ofPair(s *scratch, at int) [4][]float32 {
	number, constant := 3, p.apart[at]
	if s.pairs.Absent != nil {
		number, constant = 4, s.expanded()[(4*at+3)*p.channels:][:p.channels]
	}
	of := s.expanded()[number*at*p.channels:][:3*p.channels]
	return [4][]float32{constant, of[:p.channels], of[p.channels:][:p.channels], of[2*p.channels:]}
}

// ofCoalition returns the product of a factor's pairs if some of its players are present: player i if coalition has bit
// i.
func (p *products) ofCoalition(s *scratch, f *playerFactor, coalition int, to []float32) {
	for k := range to {
		to[k] = 1
	}
	for _, pair := range f.Pairs {
		is := func(column int) bool { return pair.Of[column] >= 0 && coalition>>pair.Of[column]&1 != 0 }
		c := p.ofPair(s, pair.At)
		for k := range to {
			v := c[0][k]
			if is(0) {
				v += c[1][k]
			}
			if is(1) {
				v += c[2][k]
			}
			if is(0) && is(1) {
				v += c[3][k]
			}
			to[k] *= v
		}
	}
}

// ofGroups returns the coefficients of a factor of two groups, or of one. They follow from its values for each
// coalition.
func (p *products) ofGroups(s *scratch, f *playerFactor, to []float32) (list [4][]float32) {
	for coalition := range list {
		list[coalition] = to[coalition*p.channels:][:p.channels]
		p.ofCoalition(s, f, coalition, list[coalition])
	}
	for k, none := range list[0] { // in an order that gives exactly 0 to absent players
		list[3][k] -= list[2][k]
		list[1][k] -= none
		list[2][k] -= none
		list[3][k] -= list[1][k]
	}
	return list
}

// addShares adds the contributions of each channel to the attributions of the players [outputs, players].
func (n *Net) addShares(s *scratch, p *products, phi []float32) {
	rows := 2 * len(p.factors)
	for o, w := range p.weights {
		n.ops.Dots(s.dots, 1, s.share, rows, w)
		for i, f := range p.factors {
			for side, player := range f.Players {
				phi[o*len(n.players)+player] += s.dots[2*i+side]
			}
		}
	}
}

// joined is the memory for factors of more than two players.
type joined struct {
	factors [][]float32 // [factors][coalitions of its players, channels] value of the factor for each
	folded  []float32   // a copy of one, while it is folded
	slope   []float32   // the derivative of one
	at      [][]float32 // [factors][channels] values at a node
	others  [][]float32 // [factors][channels] products of the other factors
	product []float32   // [channels]
}

func newJoined(p *products) *joined {
	j := &joined{product: vector.Floats(p.channels)}
	largest := 0
	for _, f := range p.factors {
		n := p.channels << len(f.Players)
		largest = max(largest, n)
		j.factors = append(j.factors, vector.Floats(n))
		j.at, j.others = append(j.at, vector.Floats(p.channels)), append(j.others, vector.Floats(p.channels))
	}
	j.folded, j.slope = vector.Floats(largest), vector.Floats(largest)
	return j
}

// coalitions computes every factor for each coalition of its players, from the coefficients that expand has written.
func (n *Net) coalitions(s *scratch, p *products) *joined {
	if s.joined[p] == nil {
		s.joined[p] = newJoined(p)
	}
	j := s.joined[p]
	for i, values := range j.factors {
		for c := range 1 << len(p.factors[i].Players) {
			p.ofCoalition(s, &p.factors[i], c, values[c*p.channels:][:p.channels])
		}
	}
	return j
}

// fold writes the value of a factor if each of its players is present with probability t, or its derivative by the
// presence of one of them (by ≥ 0).
func (j *joined) fold(to, values []float32, players, by int, t float32) {
	x := j.folded[:copy(j.folded, values)]
	for player := players - 1; player >= 0; player-- {
		half := len(x) / 2
		without, with := x[:half], x[half:]
		for i, v := range with {
			if player == by {
				without[i] = v - without[i]
			} else {
				without[i] += t * (v - without[i])
			}
		}
		x = without
	}
	copy(to, x)
}

// integrate adds the attributions ∫₀¹ ∂v/∂R_i (tR) dt of all players to phi [outputs, players].
func (n *Net) integrate(s *scratch, g *game, p *products, j *joined, phi []float32) {
	for q, node := range g.nodes {
		t := float32(node)
		for i, values := range j.factors {
			j.fold(j.at[i], values, len(p.factors[i].Players), -1, t)
		}
		for k := range j.product {
			j.product[k] = float32(g.weights[q])
		}
		for i, others := range j.others { // factors before it
			copy(others, j.product)
			multiply(j.product, j.at[i])
		}
		for k := range j.product {
			j.product[k] = 1
		}
		for i, others := range slices.Backward(j.others) { // factors after it
			multiply(others, j.product)
			multiply(j.product, j.at[i])
		}
		for i, f := range p.factors {
			for place, player := range f.Players {
				share := s.share[:p.channels]
				j.fold(share, j.factors[i], len(f.Players), place, t)
				multiply(share, j.others[i])
				for o, w := range p.weights {
					n.ops.Dots(s.dots, 1, share, 1, w)
					phi[o*len(n.players)+player] += s.dots[0]
				}
			}
		}
	}
}

func multiply(to, by []float32) {
	for k := range to {
		to[k] *= by[k]
	}
}

// interact adds the interactions of all players, of the pairs of s, to all [outputs, players, players]: the attributions
// of ∂v/∂R_i. It replaces the factor of player i by its derivative: i + both R_j, or j + both R_i.
func (n *Net) interact(s *scratch, g *game, p *products, absent [][]float32, phi, all []float32) {
	n.expand(s, p, absent)
	if p.joined {
		n.interactJoined(s, g, p, n.coalitions(s, p), phi, all)
		return
	}
	factors := n.coefficients(s, p)
	for j, f := range p.factors {
		of := factors[4*j:][:4]
		none, first, second, both := of[0], of[1], of[2], of[3]
		for side, player := range f.Players {
			if side == 0 {
				of[0], of[1], of[2], of[3] = first, n.none, both, n.none
			} else {
				of[0], of[1], of[2], of[3] = second, both, n.none, n.none
			}
			clear(phi)
			n.ops.Shares(s.share[:2*len(p.factors)*p.channels], factors, g.rule, s.poly)
			n.addShares(s, p, phi)
			addPivot(all, phi, player, len(n.players))
		}
		of[0], of[1], of[2], of[3] = none, first, second, both
	}
}

// interactJoined is interact for factors of more than two players.
func (n *Net) interactJoined(s *scratch, g *game, p *products, j *joined, phi, all []float32) {
	for i, values := range j.factors {
		for place, pivot := range p.factors[i].Players {
			slope := j.slope[:len(values)]
			for c := range len(values) / p.channels {
				with, without := values[(c|1<<place)*p.channels:], values[(c&^(1<<place))*p.channels:]
				for k := range p.channels {
					slope[c*p.channels+k] = with[k] - without[k]
				}
			}
			j.factors[i] = slope
			clear(phi)
			n.integrate(s, g, p, j, phi)
			j.factors[i] = values
			addPivot(all, phi, pivot, len(n.players))
		}
	}
}

// addPivot adds attributions [outputs, players] of a derivative to the interactions [outputs, players, players] of its
// player.
func addPivot(all, phi []float32, pivot, players int) {
	for at := 0; at < len(phi); at += players {
		to := all[(at+pivot)*players:][:players]
		for q, v := range phi[at:][:players] {
			to[q] += v
		}
	}
}
