package shapley

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// MaxExact is the largest number of players whose coalitions are enumerated.
const MaxExact = 16

// ErrTooManyPlayers reports a game with more than [MaxExact] players, which has too many coalitions to enumerate.
var ErrTooManyPlayers = errors.New("too many players to enumerate")

// Exact returns the Shapley values
//
//	φ_i = Σ_{S ⊆ N∖{i}} |S|! (n−|S|−1)! / n! · [v(S∪{i}) − v(S)]
//
// by evaluating all 2ⁿ coalitions. It returns [ErrTooManyPlayers] if the game
// has more than [MaxExact] players.
func Exact(ctx context.Context, game Game) (*Values, error) {
	n := game.Players()
	if err := enumerable(n); err != nil {
		return nil, err
	}
	values := newValues(game)
	values.Coalitions = 1 << n
	weight := weights(n)
	slope := make([]float64, n) // ∂φ_i/∂v(S)

	err := enumerate(ctx, game, func(s uint, v []float64) {
		if s == 0 {
			copy(values.Empty, v)
		}
		copy(values.Grand, v) // N comes last

		size := bits.OnesCount(s)
		for i := range slope {
			if s>>i&1 == 1 {
				slope[i] = weight[size-1]
			} else {
				slope[i] = -weight[size]
			}
		}
		for c := range v {
			gain := v[c] - values.Empty[c] // same φ as v, with smaller rounding errors
			phi := values.Of(c)
			for i := range phi {
				phi[i] += slope[i] * gain
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return values, nil
}

// weights returns the probability that the players before a given one, in a
// random order of n, are a given set of s = 0, …, n−1 others:
//
//	w(s) = s! (n−s−1)! / n! = w(s−1) · s / (n−s),   w(0) = 1/n
func weights(n int) []float64 {
	w := make([]float64, n)
	for s := range w {
		if s == 0 {
			w[s] = 1 / float64(n)
		} else {
			w[s] = w[s-1] * float64(s) / float64(n-s)
		}
	}
	return w
}

// enumerable returns an error that names the cost if n players are too many.
func enumerable(n int) error {
	if n <= MaxExact {
		return nil
	}
	return fmt.Errorf("shapley: %w: %d players have 2^%d coalitions, about 10^%.0f; the limit is %d players",
		ErrTooManyPlayers, n, n, float64(n)*math.Log10(2), MaxExact)
}

// enumerate calls visit with every coalition S, as the number Σ_{i∈S} 2^i in increasing order, and its value for each
// output.
func enumerate(ctx context.Context, game Game, visit func(s uint, v []float64)) error {
	n, outputs := game.Players(), game.Outputs()
	count := 1 << n
	for start := 0; start < count; start += batchSize {
		batch := NewCoalitions(min(batchSize, count-start), n)
		for i := range batch.Len() {
			batch.row(i)[0] = uint64(start + i)
		}
		v, err := evaluate(ctx, game, batch)
		if err != nil {
			return err
		}
		for i := range batch.Len() {
			visit(uint(start+i), v[i*outputs:(i+1)*outputs])
		}
	}
	return nil
}

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

// InteractionIndices holds the pairwise Shapley interaction indices of a game, a symmetric matrix for each output. A
// positive index means that two players are worth more together than apart, a negative one that each can replace the
// other.
type InteractionIndices struct {
	Players, Outputs int

	// I holds the index of each pair, [output][player][player]. The diagonal is zero.
	I []float64

	// StandardErrors holds the sampling errors of I; nil if all coalitions were evaluated.
	StandardErrors []float64

	// Coalitions is the number of evaluated coalitions.
	Coalitions int
}

func newInteractionIndices(players, outputs int) *InteractionIndices {
	return &InteractionIndices{
		Players: players,
		Outputs: outputs,
		I:       make([]float64, outputs*players*players),
	}
}

// At returns the interaction index of players i and j for output.
func (x *InteractionIndices) At(output, i, j int) float64 {
	return x.row(output, i)[j]
}

// StandardError returns the standard error of At(output, i, j), 0 if it is exact.
func (x *InteractionIndices) StandardError(output, i, j int) float64 {
	if x.StandardErrors == nil {
		return 0
	}
	return x.rowOf(x.StandardErrors, output, i)[j]
}

func (x *InteractionIndices) row(output, i int) []float64 { return x.rowOf(x.I, output, i) }

func (x *InteractionIndices) rowOf(of []float64, output, i int) []float64 {
	n := x.Players
	end := (output + 1) * n * n
	matrix := of[output*n*n : end : end] // capped, so that an index out of range panics
	return matrix[i*n : (i+1)*n]
}

// Interactions returns the pairwise Shapley interaction indices of Grabisch and
// Roubens (1999),
//
//	I_ij = Σ_{S ⊆ N∖{i,j}} |S|! (n−|S|−2)! / (n−1)! · Δ_ij v(S)
//	Δ_ij v(S) = v(S∪{i,j}) − v(S∪{i}) − v(S∪{j}) + v(S)
//
// by evaluating all 2ⁿ coalitions. It returns [ErrTooManyPlayers] if the game
// has more than [MaxExact] players.
func Interactions(ctx context.Context, game Game) (*InteractionIndices, error) {
	n, outputs := game.Players(), game.Outputs()
	if err := enumerable(n); err != nil {
		return nil, err
	}
	indices := newInteractionIndices(n, outputs)
	indices.Coalitions = 1 << n
	weight := weights(max(0, n-1))      // as if i and j were a single player
	slope := make([]float64, n*(n-1)/2) // ∂I_ij/∂v(S) for j < i
	empty := make([]float64, outputs)   // v(∅)

	err := enumerate(ctx, game, func(s uint, v []float64) {
		if s == 0 {
			copy(empty, v)
		}
		size := bits.OnesCount(s)
		pair := 0
		for i := range n {
			for j := range i {
				joined := int(s>>i&1 + s>>j&1) // how many of i and j are in S
				slope[pair] = weight[size-joined]
				if joined == 1 {
					slope[pair] = -slope[pair]
				}
				pair++
			}
		}
		for c := range v {
			gain := v[c] - empty[c] // same I as v, with smaller rounding errors
			pair := 0
			for i := range n {
				lower := indices.row(c, i)[:i]
				for j := range lower {
					lower[j] += slope[pair] * gain
					pair++
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for c := range outputs {
		for i := range n {
			for j := range i {
				indices.row(c, j)[i] = indices.At(c, i, j)
			}
		}
	}
	return indices, nil
}
