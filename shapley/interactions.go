package shapley

import (
	"context"
	"math/bits"
)

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
