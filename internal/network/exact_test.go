package network_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/shapley"
)

// The attributions and interactions of the exact head are the Shapley values and
// interaction indices of its game, of the observed cells if some are missing: the
// definition, enumerated over all coalitions, gives the same.
func TestExactHeadIsTheShapleyValue(t *testing.T) {
	cases := []struct {
		kind                   kind
		players, outputs, rows int
		order                  []int
	}{
		{product, 1, 1, 3, nil},
		{product, 3, 1, 6, nil},
		{product, 8, 1, 4, nil},
		{product, 8, 3, 4, nil},
		{product, 12, 1, 1, nil},
		{product, 14, 1, 1, nil},
		{pairs, 1, 1, 3, nil},
		{pairs, 2, 1, 6, nil},
		{pairs, 3, 1, 6, nil},
		{pairs, 8, 3, 4, nil},
		{pairs, 13, 1, 1, nil},
		{pairs, 14, 1, 1, nil},
		{tensorTrain, 1, 1, 3, nil},
		{tensorTrain, 3, 1, 6, nil},
		{tensorTrain, 8, 1, 4, nil},
		{tensorTrain, 8, 3, 4, []int{3, 0, 7, 5, 1, 6, 2, 4}},
		{tensorTrain, 12, 1, 1, nil},
		{tensorTrain, 14, 1, 1, nil},
	}
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		for _, c := range cases {
			for _, missing := range []float64{0, 0.3} {
				t.Run(fmt.Sprintf("%s/players=%d/outputs=%d/missing=%v", c.kind.name, c.players, c.outputs, missing), func(t *testing.T) {
					rng := newRand(t)
					config := c.kind.small(c.players, c.outputs)
					config.Order = c.order
					s := newSubject(t, b, config, rng)
					wantShapley(t, s, formtest.Rows(rng, s.Inputs, c.rows, missing))
				})
			}
		}
	})
}

// So they are for tables of numbers alone and of categories alone.
func TestExactHeadOnOneKindOfColumn(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		for name, in := range map[string]form.Inputs{
			"numbers":    {Numeric: 4, Bins: 3},
			"categories": {Levels: []int{2, 3, 5, 2}},
		} {
			for _, k := range exactKinds {
				t.Run(name+"/"+k.name, func(t *testing.T) {
					rng := newRand(t)
					config := k.small(4, 1)
					config.Inputs = in
					wantShapley(t, newSubject(t, b, config, rng), formtest.Rows(rng, in, 3, 0.2))
				})
			}
		}
	})
}

// wantShapley holds attributions and interactions of rows to the definitions.
func wantShapley(t *testing.T, s *subject, rows *encode.Batch) {
	t.Helper()
	const tolerance = 1e-5
	e := s.evaluator(t, s.exactNodes())
	phi, indices := enumerate(t, e, rows)
	attributions := relativeError(explain(t, e, rows).Attributions, phi)
	pairs := relativeError(interactions(t, e, rows), indices)
	t.Logf("relative error of attributions %.1e, of interactions %.1e", attributions, pairs)
	atMost(t, "relative error of attributions", attributions, tolerance)
	atMost(t, "relative error of interactions", pairs, tolerance)
}

// enumerate gives the Shapley values [rows, C, D] and interaction indices
// [rows, C, D, D] of the observed cells by their definitions.
func enumerate(t *testing.T, e *network.Evaluator, rows *encode.Batch) (phi, indices []float64) {
	t.Helper()
	for i := range rows.Rows {
		game := shapley.Restrict(e.RowGame(rows, i), observed(rows, i))
		twice := remembered{game, map[int][]float64{}}
		values, err := shapley.Exact(t.Context(), twice)
		if err != nil {
			t.Fatal(err)
		}
		pairs, err := shapley.Interactions(t.Context(), twice)
		if err != nil {
			t.Fatal(err)
		}
		phi = append(phi, values.Extend(game).Phi...)
		indices = append(indices, pairs.Extend(game).I...)
	}
	return phi, indices
}

// remembered is a game that may be enumerated again without being evaluated again.
// Batches are told apart by their first coalition.
type remembered struct {
	shapley.Game
	values map[int][]float64
}

func (g remembered) Values(ctx context.Context, s *shapley.Coalitions) ([]float64, error) {
	first := 0
	for player := range s.Members(0) {
		first |= 1 << player
	}
	if v, ok := g.values[first]; ok {
		return v, nil
	}
	v, err := g.Game.Values(ctx, s)
	g.values[first] = v
	return v, err
}

// observed lists the players that row i has.
func observed(rows *encode.Batch, i int) []int {
	var present []int
	for d, seen := range rows.Observed[i*rows.Players() : (i+1)*rows.Players()] {
		if seen == 1 {
			present = append(present, d)
		}
	}
	return present
}
