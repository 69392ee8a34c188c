package network

import (
	"context"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/shapley"
)

// coalitionsPerPass is how many coalitions of one row a RowGame evaluates at once.
const coalitionsPerPass = 512

// RowGame is the game of one row, S ↦ f(x_S), for package shapley to enumerate or
// sample. Its players are all D; a row with missing cells is audited on
// shapley.Restrict of it.
type RowGame struct {
	f interface {
		Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error)
	}
	net *Network
	row *encode.Batch
}

// RowGame is the game of row i of b.
func (e *Evaluator) RowGame(b *encode.Batch, i int) *RowGame {
	return &RowGame{e, e.net, b.Slice(i, i+1)}
}

// Players is D.
func (g *RowGame) Players() int { return g.net.Inputs.Players() }

// Outputs is C.
func (g *RowGame) Outputs() int { return g.net.Outputs }

// Values is f(x_S) of each coalition.
func (g *RowGame) Values(ctx context.Context, s *shapley.Coalitions) ([]float64, error) {
	d, c := g.Players(), g.Outputs()
	values := make([]float64, 0, s.Len()*c)
	mask := make([]float32, coalitionsPerPass*d)
	for from := 0; from < s.Len(); from += coalitionsPerPass {
		k := min(coalitionsPerPass, s.Len()-from)
		clear(mask)
		for i := range k {
			for player := range s.Members(from + i) {
				mask[i*d+player] = 1
			}
		}
		out, err := g.f.Coalitions(ctx, g.row, mask, coalitionsPerPass)
		if err != nil {
			return nil, err
		}
		for _, v := range out[:k*c] {
			values = append(values, float64(v))
		}
	}
	return values, nil
}
