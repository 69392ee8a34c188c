package form

import (
	"context"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/shapley"
)

// coalitionsPerPass is the number of coalitions of one row that a RowGame evaluates at once.
const coalitionsPerPass = 512

// RowGame is the game of one row, S ↦ f(x_S), for package shapley to enumerate or sample. It has all players; a row
// with missing cells is audited with shapley.Restrict.
type RowGame struct {
	config Config
	of     coalitions
	row    *encode.Batch
	at     int // index of the row in its batch
}

type coalitions interface {
	Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error)
}

// RowGame returns the game of row i of b under an evaluator or an ensemble.
func (c Config) RowGame(of coalitions, b *encode.Batch, i int) *RowGame {
	return &RowGame{c, of, b.Slice(i, i+1), i}
}

// Players returns D.
func (g *RowGame) Players() int { return g.config.Inputs.Players() }

// Outputs returns C.
func (g *RowGame) Outputs() int { return g.config.Outputs }

// Values returns f(x_S) of each coalition.
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

// Enter adds a player to the mask of a coalition: its column, or the observed columns of its group.
func (g *RowGame) Enter(mask []float32, player int) {
	if g.config.Inputs.Groups == nil {
		mask[player] = 1
		return
	}
	for _, j := range g.config.Inputs.Groups[player] {
		mask[j] = g.row.Observed[j]
	}
}

// Present returns the players that have a cell in the row.
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
