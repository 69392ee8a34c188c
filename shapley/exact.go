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
