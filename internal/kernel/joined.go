package kernel

import (
	"slices"

	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// joined is the memory for factors of more than two players.
type joined struct {
	factors [][]float32 // [factors][coalitions of its players, channels] value of the factor for each
	folded  []float32   // a copy of one, while it is folded
	at      [][]float32 // [factors][channels] values at a node
	others  [][]float32 // [factors][channels] products of the other factors
	product []float32   // [channels]
}

func newJoined(p *products) *joined {
	j := &joined{product: vector.Floats(p.channels)}
	most := 0
	for _, f := range p.factors {
		n := p.channels << len(f.Players)
		most = max(most, n)
		j.factors = append(j.factors, vector.Floats(n))
		j.at, j.others = append(j.at, vector.Floats(p.channels)), append(j.others, vector.Floats(p.channels))
	}
	j.folded = vector.Floats(most)
	return j
}

// coalitions computes every factor of a row for each coalition of its players.
func (n *Net) coalitions(s *scratch, p *products, cells [][]float32) *joined {
	n.ops.Coefficients(s.coefficients, n.pairs(s, p, cells), p.channels)
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
func (n *Net) integrate(s *scratch, p *products, j *joined, phi []float32) {
	for q, node := range n.nodes {
		t := float32(node)
		for i, values := range j.factors {
			j.fold(j.at[i], values, len(p.factors[i].Players), -1, t)
		}
		for k := range j.product {
			j.product[k] = float32(n.weights[q])
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

// interact adds the interactions of all players to all [outputs, players, players]: the attributions of ∂v/∂R_i.
func (n *Net) interact(s *scratch, p *products, j *joined, phi, all []float32) {
	d := len(n.players)
	for i, values := range j.factors {
		for place, pivot := range p.factors[i].Players {
			slope := vector.Floats(len(values))
			for c := range len(values) / p.channels {
				with, without := values[(c|1<<place)*p.channels:], values[(c&^(1<<place))*p.channels:]
				for k := range p.channels {
					slope[c*p.channels+k] = with[k] - without[k]
				}
			}
			j.factors[i] = slope
			clear(phi)
			n.integrate(s, p, j, phi)
			j.factors[i] = values
			addPivot(all, phi, pivot, d)
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
