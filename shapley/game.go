// Package shapley computes the Shapley values of cooperative games.
//
// A cooperative game on the players N = {0, …, n−1} gives a value v(S) to every coalition S ⊆ N. The Shapley value of
// player i is its marginal contribution, averaged over all orders in which the players can join:
//
//	φ_i = Σ_{S ⊆ N∖{i}} |S|! (n−|S|−1)! / n! · [v(S∪{i}) − v(S)]
//
// It is the only division that satisfies four axioms. It is efficient (Σ_i φ_i = v(N) − v(∅)), symmetric and linear in v,
// and it gives nothing to a player without a contribution (Shapley, 1953). v(∅) need not be zero.
//
// A [Game] evaluates batches of [Coalitions]; it may be a formula or a neural network.
//   - [Exact] enumerates all coalitions.
//   - [Permutation] samples coalitions and estimates its standard errors.
//   - [Refine] corrects a network's own attributions by a few coalitions.
//   - [Interactions] computes pairwise interaction indices.
//   - [Restrict] restricts a game to the players that are present.
//
// Methods panic on an index out of range, as slices do. Run-time failures are returned as errors.
package shapley

import (
	"context"
	"fmt"
	"math"
	"slices"
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

// Values holds the Shapley values of all players of a game, for each output.
type Values struct {
	Players, Outputs int

	// Phi holds the Shapley value of each player, [output][player].
	Phi []float64

	// StandardErrors holds the sampling errors of Phi, [output][player]. They are zero if all coalitions were
	// evaluated.
	StandardErrors []float64

	// Empty and Grand are v(∅) and v(N), [output]. The players divide their difference: Σ_i φ_i = v(N) − v(∅).
	Empty, Grand []float64

	// Coalitions is the number of evaluated coalitions.
	Coalitions int
}

func newValues(game Game) *Values {
	n, outputs := game.Players(), game.Outputs()
	return &Values{
		Players:        n,
		Outputs:        outputs,
		Phi:            make([]float64, outputs*n),
		StandardErrors: make([]float64, outputs*n),
		Empty:          make([]float64, outputs),
		Grand:          make([]float64, outputs),
	}
}

// At returns the Shapley value of player for output.
func (v *Values) At(output, player int) float64 {
	return v.Of(output)[player]
}

// Of returns the Shapley values of all players for output. The slice shares memory with Phi.
func (v *Values) Of(output int) []float64 {
	return v.Phi[output*v.Players : (output+1)*v.Players]
}

// StandardError returns the standard error of At(output, player).
func (v *Values) StandardError(output, player int) float64 {
	return v.StandardErrors[output*v.Players : (output+1)*v.Players][player]
}

// Subgame is a game restricted to some of its players: the others never join a coalition. Its players are renumbered
// from 0. [Values.Extend] and [InteractionIndices.Extend] map its results to the players of the whole game.
type Subgame struct {
	game    Game
	present []int
}

// Restrict returns the game S ↦ v(S) on subsets S of the players present, such as the observed cells of a row. Player k
// of the sub-game is player present[k] of game. Restrict panics if a player is out of range or named twice.
func Restrict(game Game, present []int) *Subgame {
	once := NewCoalitions(1, game.Players())
	for _, player := range present {
		if once.Has(0, player) {
			panic(fmt.Sprintf("shapley: player %d is present twice", player))
		}
		once.Add(0, player)
	}
	return &Subgame{game: game, present: slices.Clone(present)}
}

// Players returns the number of players present.
func (g *Subgame) Players() int { return len(g.present) }

// Outputs returns the number of outputs of the whole game.
func (g *Subgame) Outputs() int { return g.game.Outputs() }

// Values evaluates the whole game on coalitions of the players present.
func (g *Subgame) Values(ctx context.Context, s *Coalitions) ([]float64, error) {
	whole := NewCoalitions(s.Len(), g.game.Players())
	for i := range s.Len() {
		for k := range s.Members(i) {
			whole.Add(i, g.present[k])
		}
	}
	return g.game.Values(ctx, whole)
}

// Extend returns values of a sub-game as values of all players of the whole game, with zero for absent players. Grand
// remains the value of the players present.
func (v *Values) Extend(sub *Subgame) *Values {
	whole := newValues(sub.game)
	copy(whole.Empty, v.Empty)
	copy(whole.Grand, v.Grand)
	whole.Coalitions = v.Coalitions
	for c := range v.Outputs {
		for k, player := range sub.present {
			whole.Of(c)[player] = v.At(c, k)
			whole.StandardErrors[c*whole.Players+player] = v.StandardError(c, k)
		}
	}
	return whole
}

// Extend returns interaction indices of a sub-game as indices of all players of the whole game, with zero for pairs
// with an absent player.
func (x *InteractionIndices) Extend(sub *Subgame) *InteractionIndices {
	whole := newInteractionIndices(sub.game.Players(), x.Outputs)
	whole.Coalitions = x.Coalitions
	for c := range x.Outputs {
		for k, i := range sub.present {
			for l, j := range sub.present {
				whole.row(c, i)[j] = x.At(c, k, l)
			}
		}
	}
	return whole
}
