package shapley

import (
	"context"
	"fmt"
	"math"
)

// Game is a cooperative game with one or more outputs, each with its own characteristic function: one for a regression
// model, one per class for a classifier.
type Game interface {
	// Players returns the number n of players, which are numbered 0, …, n−1.
	Players() int

	// Outputs returns the number of outputs.
	Outputs() int

	// Values returns v(S) for every coalition of the batch and every output: output c of coalition i is element
	// i·Outputs()+c. It must not modify the batch, and should return soon after ctx is done.
	Values(ctx context.Context, s *Coalitions) ([]float64, error)
}

// GameFunc is a game with one output, defined by a function.
type GameFunc struct {
	N int // number of players

	// V is the characteristic function v(S) of the members of S in increasing order. It must not keep the slice.
	V func(members []int) float64
}

// Players returns N.
func (g GameFunc) Players() int { return g.N }

// Outputs returns 1.
func (g GameFunc) Outputs() int { return 1 }

// Values calls V for every coalition of the batch.
func (g GameFunc) Values(ctx context.Context, s *Coalitions) ([]float64, error) {
	values := make([]float64, s.Len())
	members := make([]int, 0, g.N)
	for i := range values {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		members = members[:0]
		for player := range s.Members(i) {
			members = append(members, player)
		}
		values[i] = g.V(members)
	}
	return values, nil
}

// batchSize is the maximum number of coalitions passed to a game at once: enough to keep an accelerator busy, and half
// a megabyte of bits at a thousand players.
const batchSize = 1 << 12

// evaluate returns the values of a batch and checks that they are complete and finite: one NaN would invalidate the
// values of all players.
func evaluate(ctx context.Context, game Game, s *Coalitions) ([]float64, error) {
	if s.Len() == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("shapley: %w", err)
	}
	values, err := game.Values(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("shapley: values of %d coalitions: %w", s.Len(), err)
	}
	outputs := game.Outputs()
	if want := s.Len() * outputs; len(values) != want {
		return nil, fmt.Errorf("shapley: game returned %d values for %d coalitions of %d outputs, want %d",
			len(values), s.Len(), outputs, want)
	}
	for k, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("shapley: output %d of a coalition of %d of %d players is %v",
				k%outputs, s.Size(k/outputs), s.Players(), v)
		}
	}
	return values, nil
}
