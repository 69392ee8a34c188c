package shapley

import (
	"context"
	"fmt"
	"slices"
)

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
