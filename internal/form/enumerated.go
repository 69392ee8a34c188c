package form

import (
	"context"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/shapley"
)

// MaxEnumerated is the maximum number of players whose coalitions are enumerated.
const MaxEnumerated = 14

// Enumerated computes the attributions and interactions of groups by enumerating their coalitions, which is exact for
// any pairing of columns. For everything else it uses an evaluator in which every column is a player.
type Enumerated struct {
	Evaluator
	config Config
}

// NewEnumerated returns an evaluator of groups, based on one of columns.
func (c Config) NewEnumerated(columns func(Config) (Evaluator, error)) (*Enumerated, error) {
	if n := c.Inputs.Players(); n > MaxEnumerated {
		return nil, fmt.Errorf("these groups are not those the model was trained with, and %d players are too many to enumerate: train with the groups, or make at most %d", n, MaxEnumerated)
	}
	own := c
	own.Inputs.Groups = nil
	e, err := columns(own)
	return &Enumerated{e, c}, err
}

// Pass evaluates rows.
func (e *Enumerated) Pass(ctx context.Context, b *encode.Batch, want Want) (*Explained, error) {
	x, err := e.Evaluator.Pass(ctx, b, want&^Attributions)
	if err != nil {
		return nil, err
	}
	if want&Spread != 0 {
		x.Std = e.groupStd(x.Std)
	}
	if want&Attributions == 0 {
		return x, nil
	}
	for i := range b.Rows {
		game := e.game(b, i)
		values, err := shapley.Exact(ctx, game)
		if err != nil {
			return nil, err
		}
		for _, phi := range values.Extend(game).Phi {
			x.Attributions = append(x.Attributions, float32(phi))
		}
	}
	return x, nil
}

// game returns the game of a row's players that have a cell.
func (e *Enumerated) game(b *encode.Batch, i int) *shapley.Subgame {
	game := e.config.RowGame(e.Evaluator, b, i)
	return shapley.Restrict(game, game.Present())
}

// groupStd returns σ of players from σ of columns [rows, C, D]: the columns of a group are independent, so their
// variances add up.
func (e *Enumerated) groupStd(of []float32) (std []float32) {
	columns := e.config.Inputs.Columns()
	for from := 0; from < len(of); from += columns {
		for _, group := range e.config.Inputs.Groups {
			variance := 0.0
			for _, d := range group {
				variance += float64(of[from+d]) * float64(of[from+d])
			}
			std = append(std, float32(math.Sqrt(variance)))
		}
	}
	return std
}

// Interactions returns the interaction indices of the players.
func (e *Enumerated) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	var all []float32
	for i := range b.Rows {
		game := e.game(b, i)
		indices, err := shapley.Interactions(ctx, game)
		if err != nil {
			return nil, err
		}
		for _, v := range indices.Extend(game).I {
			all = append(all, float32(v))
		}
	}
	return all, nil
}
