package shapley

import "math/bits"

// Enumerated is one output of a game whose coalitions are all known.
type Enumerated struct {
	Players int
	Who     []int     // numbers of the players among all players of the network; nil means 0, 1, …
	F       []float64 // the network's attributions, [coalition][player]; coalition S has the index Σ_{i∈S} 2^i
}

// who returns the number of a player.
func (g Enumerated) who(player int) int {
	if g.Who == nil {
		return player
	}
	return g.Who[player]
}

// value returns the value of coalition s.
func (g Enumerated) value(s int) float64 {
	v := 0.0
	for _, x := range g.F[s*g.Players : (s+1)*g.Players] {
		v += x
	}
	return v
}

// truth returns the Shapley values, and the interaction indices [player][player].
func (g Enumerated) truth() (phi, pair []float64) {
	n := g.Players
	one, two := weights(n), weights(max(0, n-1))
	phi, pair = make([]float64, n), make([]float64, n*n)
	for s := range 1 << n {
		v, size := g.value(s), bits.OnesCount(uint(s))
		for d := range n {
			if s>>d&1 == 1 {
				phi[d] += one[size-1] * v
			} else {
				phi[d] -= one[size] * v
			}
			for e := range n {
				if d == e {
					continue
				}
				if joined := s>>d&1 + s>>e&1; joined == 1 {
					pair[d*n+e] -= two[size-1] * v
				} else {
					pair[d*n+e] += two[size-joined] * v
				}
			}
		}
	}
	return phi, pair
}

// answer returns the attributions of a coalition of a design, given the assignment of players to its seats.
func (g Enumerated) answer(design *Coalitions, at int, seats []int) []float64 {
	s := 0
	for seat := range design.Members(at) {
		s |= 1 << seats[seat]
	}
	return g.F[s*g.Players : (s+1)*g.Players]
}

// Divide returns the Shapley values of a fully enumerated game, given its outputs.
func Divide(outputs []Enumerated) *Values {
	n := outputs[0].Players
	v := &Values{
		Players: n, Outputs: len(outputs), StandardErrors: make([]float64, n*len(outputs)),
		Empty: make([]float64, len(outputs)), Coalitions: 1 << n,
	}
	for _, g := range outputs {
		phi, _ := g.truth()
		v.Phi = append(v.Phi, phi...)
		v.Grand = append(v.Grand, g.value(1<<n-1))
	}
	return v
}
