package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// against evaluates the game of rows against reference rows.
type against struct {
	net  *Net
	game game
}

// Against returns an evaluator of the interventional game over reference rows; with one reference it is the baseline
// game. With the missing cells M of a row x, the value of a coalition S of its other cells is
//
//	v(S) = mean_r f(x_S, r_{∉S}),
//
// where the hybrid row has the cells of x in S, those of the reference r outside S, and lacks M. A cell that r lacks
// is missing in the hybrid row.
//
// Explained.Value is f(x) and Explained.Empty is v(∅), so attributions add up to Value − Empty. σ and h² are those of
// the row, as Net.Pass returns them. The quadrature has as many nodes as any game needs. The evaluator keeps the factors of the
// references; attributions of a row take about as many ordinary passes as there are references.
func (n *Net) Against(reference *encode.Batch) (form.Evaluator, error) {
	switch {
	case reference.Rows == 0:
		return nil, errors.New("kernel: there are no reference rows; give at least one")
	case reference.Players() != len(n.columns):
		return nil, fmt.Errorf("kernel: the reference rows have %d columns, but the network %d; encode them as other rows", reference.Players(), len(n.columns))
	}
	e := &against{n, newGame(form.MaxNodes(len(n.players)), n.recordsOf(reference))}
	s := n.scratchFor(1)
	defer n.release(s)
	e.game.empty = make([]float32, n.outputs)
	n.worthOfNothing(s, e.game.references, e.game.empty)
	return e, nil
}

// recordsOf returns the records of rows [rows][columns + 1]. Those have factors only, not the inputs of σ and h.
func (n *Net) recordsOf(b *encode.Batch) [][][]float32 {
	s := n.scratchFor(b.Rows)
	defer n.release(s)
	all := make([][][]float32, b.Rows)
	for from := 0; from < b.Rows; from += tileRows {
		rows := min(tileRows, b.Rows-from)
		n.embed(s, b, from, rows, 0)
		for r := range rows {
			records := append([][]float32(nil), s.row(n, r)...)
			for d := range n.columns {
				if n.columns[d].table == nil && b.Observed[(from+r)*len(n.columns)+d] != 0 { // in a cache, which is used again
					records[d] = vector.Floats(n.factor())
					copy(records[d], s.row(n, r)[d])
				}
			}
			all[from+r] = records
		}
	}
	return all
}

// Pass implements form.Evaluator.
func (a *against) Pass(ctx context.Context, b *encode.Batch, want form.Want) (*form.Explained, error) {
	return a.net.pass(ctx, &a.game, b, want)
}

// Coalitions implements form.Evaluator.
func (a *against) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	return a.net.coalitionsOf(ctx, &a.game, b, masks, per)
}

// Interactions implements form.Evaluator.
func (a *against) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	return a.net.interactionsOf(ctx, &a.game, b)
}

// Close implements form.Evaluator: there is nothing to free.
func (a *against) Close() {}
