package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

const (
	maxPairPlayers = 15 // players that fit into a picture of all pairs
	maxPairValues  = 6  // pairs that are shown row by row
)

// pairs explains some rows with interactions. rows and carried, the rows of the page, are indices among the drawn rows.
func (g *gathering) pairs(ctx context.Context, drawn *table.Table, rows, carried, order []int) (Pairs, error) {
	switch {
	case len(order) < 2:
		return Pairs{Absent: "The model has only one column, so there are no interactions."}, nil
	case g.model.Head() != "exact":
		return Pairs{Absent: "This model has the learned head, which does not compute interactions. Train with the exact head (Config.Head=exact)."}, nil
	case g.Paired < minPaired && len(rows) < len(carried):
		return Pairs{Absent: fmt.Sprintf("The model has %d columns: they have too many pairs to compute for a report.", len(order))}, nil
	}
	g.Progress(fmt.Sprintf("pairs of columns in %s", prose.Count(len(rows), "row")))
	e, err := g.model.Explain(ctx, drawn.Select(rows).Source(), psi.ExplainOptions{Interactions: true, NoDoubt: true})
	if err != nil {
		return Pairs{}, err
	}
	p := Pairs{Players: order[:min(len(order), maxPairPlayers)]}
	for _, row := range rows {
		p.Rows = append(p.Rows, slices.Index(carried, row))
	}
	n, outputs := len(e.Players), len(e.Outputs)
	for k := range e.Outputs {
		of := func(row, a, b int) float64 { return e.Interactions[((row*outputs+k)*n+a)*n+b] }
		var list []Pair
		for i, x := range p.Players {
			for _, y := range p.Players[i+1:] {
				pair := Pair{A: min(x, y), B: max(x, y)}
				for row := range e.Rows {
					v := of(row, x, y)
					pair.Size, pair.Mean = pair.Size+math.Abs(v)/float64(e.Rows), pair.Mean+v/float64(e.Rows)
				}
				list = append(list, pair)
			}
		}
		slices.SortStableFunc(list, func(a, b Pair) int { return cmp.Compare(b.Size, a.Size) })
		for i := range list[:min(len(list), maxPairValues)] {
			for row := range e.Rows {
				list[i].Values = append(list[i].Values, of(row, list[i].A, list[i].B))
			}
		}
		p.Outputs = append(p.Outputs, list)
	}
	return p, nil
}
