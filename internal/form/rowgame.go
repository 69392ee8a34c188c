package form

import (
	"context"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/shapley"
)

// coalitionsPerPass is how many coalitions of one row a RowGame evaluates at once.
const coalitionsPerPass = 512

// RowGame is the game of one row, S ↦ f(x_S), for package shapley to enumerate or
// sample. Its players are all of them; a row with missing cells is audited on
// shapley.Restrict of it.
type RowGame struct {
	config Config
	of     coalitions
	row    *encode.Batch
	at     int // number of the row in its batch
}

type coalitions interface {
	Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error)
}

// RowGame is the game that an evaluator, or an ensemble of them, plays with row i of b.
func (c Config) RowGame(of coalitions, b *encode.Batch, i int) *RowGame {
	return &RowGame{c, of, b.Slice(i, i+1), i}
}

// Players is D.
func (g *RowGame) Players() int { return g.config.Inputs.Players() }

// Outputs is C.
func (g *RowGame) Outputs() int { return g.config.Outputs }

// Values is f(x_S) of each coalition.
func (g *RowGame) Values(ctx context.Context, s *shapley.Coalitions) ([]float64, error) {
	d, c := g.config.Inputs.Columns(), g.Outputs()
	values := make([]float64, 0, s.Len()*c)
	mask := make([]float32, coalitionsPerPass*d)
	for from := 0; from < s.Len(); from += coalitionsPerPass {
		k := min(coalitionsPerPass, s.Len()-from)
		clear(mask)
		for i := range k {
			for player := range s.Members(from + i) {
				g.Enter(mask[i*d:(i+1)*d], player)
			}
		}
		out, err := g.of.Coalitions(ctx, g.row, mask[:k*d], k)
		if err != nil {
			return nil, Renumber(err, func(int) int { return g.at })
		}
		for _, v := range out {
			values = append(values, float64(v))
		}
	}
	return values, nil
}

// Enter puts a player into the mask of a coalition: its column, or those of its group that
// the row has.
func (g *RowGame) Enter(mask []float32, player int) {
	if g.config.Inputs.Groups == nil {
		mask[player] = 1
		return
	}
	for _, j := range g.config.Inputs.Groups[player] {
		mask[j] = g.row.Observed[j]
	}
}

// Present are the players that have a cell in the row.
func (g *RowGame) Present() []int {
	var present []int
	for player := range g.Players() {
		columns := []int{player}
		if g.config.Inputs.Groups != nil {
			columns = g.config.Inputs.Groups[player]
		}
		if slices.ContainsFunc(columns, func(j int) bool { return g.row.Observed[j] != 0 }) {
			present = append(present, player)
		}
	}
	return present
}
