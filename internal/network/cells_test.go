package network_test

import (
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

// embedded is z [D, B, Z] of rows.
func embedded(t *testing.T, s *subject, rows *encode.Batch) []float32 {
	t.Helper()
	return s.call(t, func(f *network.Forward, _ []*graph.Node) []*graph.Node {
		// The go backend wants an output to be the last node of its graph.
		return []*graph.Node{graph.MulScalar(f.Embeddings(), 1)}
	}, rows)[0]
}

// noGaps puts all numbers among the bins.
func noGaps(rows *encode.Batch) {
	for at := 0; at < len(rows.Numbers); at += 2 {
		rows.Numbers[at] = max(rows.Numbers[at], 0)
	}
}

// The cyclic parts of a time are its player's alone.
func TestCyclesBelongToTheirTime(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		rng := newRand(t)
		s := newSubject(t, b, product.small(7, 1), rng)
		in := s.Inputs
		rows := formtest.Rows(rng, in, 4, 0)
		noGaps(rows)
		before := embedded(t, s, rows)
		for k := range in.Times {
			player := in.Numeric - in.Times + k
			for row := range rows.Rows {
				for i := range formtest.Cycles(rows, row, k) {
					formtest.Cycles(rows, row, k)[i] *= -1 // half a period later
				}
			}
			after := embedded(t, s, rows)
			for d := range in.Columns() {
				per := rows.Rows * s.Embedding
				if same := slices.Equal(after[d*per:(d+1)*per], before[d*per:(d+1)*per]); same == (d == player) {
					t.Errorf("time %d moved: the embedding of player %d is the same: %v", player, d, same)
				}
			}
			before = after
		}
	})
}

// A gap that is a level is one value: what else its cell holds is not seen, and other
// cells are not moved by the level's weights.
func TestGapsAreOneLevel(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		e := s.evaluator(t, s.exactNodes())
		rows := formtest.Rows(rng, s.Inputs, 6, 0)
		noGaps(rows)
		whole := explain(t, e, rows)
		const player = 1
		for row := range rows.Rows {
			rows.Numbers[2*(row*rows.Numeric+player)] = encode.GapPosition
		}
		gaps := explain(t, e, rows)
		for row := range rows.Rows {
			rows.Numbers[2*(row*rows.Numeric+player)+1] = float32(rng.NormFloat64())
		}
		wantSame(t, explain(t, e, rows), gaps)
		if slices.Equal(gaps.Value, whole.Value) {
			t.Error("a gap changes nothing")
		}
		last := rows.Numeric - 1 // a time: its cyclic parts go with it
		for row := range rows.Rows {
			rows.Numbers[2*(row*rows.Numeric+last)] = encode.GapPosition
		}
		gaps = explain(t, e, rows)
		for i := range rows.Cycles {
			if i/encode.CyclicParts%rows.Times == rows.Times-1 {
				rows.Cycles[i] *= -1
			}
		}
		wantSame(t, explain(t, e, rows), gaps)

		noGaps(rows)
		before := explain(t, e, rows)
		weights, err := s.Get(weightsCopy)
		if err != nil {
			t.Fatal(err)
		}
		for i := range weights["gap"] {
			weights["gap"][i]++
		}
		s.put(t, weights)
		wantSame(t, explain(t, e, rows), before)
	})
}

// Both have gradients where a cell has them, and only there. The seed is fixed: of one network in 256 all eight hidden units
// are off for the one vector that all gaps share, and it learns nothing.
func TestGradientsOfTimesAndGaps(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := fixedRand(t, 1)
		s := newSubject(t, b, k.small(7, 1), rng)
		weights, err := s.Get(weightsCopy)
		if err != nil {
			t.Fatal(err)
		}
		slope := newSlope(t, s, values, form.Mean, rng)
		for i := range slope.masks {
			slope.masks[i] = 1
		}
		const player = 0
		gap := func(position float32) {
			noGaps(slope.rows)
			for row := range slope.rows.Rows {
				slope.rows.Numbers[2*(row*s.Inputs.Numeric+player)] = position
			}
		}
		moves := func(g []float32) bool { return slices.ContainsFunc(g, func(v float32) bool { return v != 0 }) }
		gap(encode.GapPosition)
		_, with := slope.at(t, weights)
		gap(0.5)
		_, without := slope.at(t, weights)
		if !moves(with["cycles"]) {
			t.Error("cyclic parts teach nothing")
		}
		z := s.Embedding
		if g := with["gap"]; !moves(g[:z]) || moves(g[z:]) || moves(without["gap"]) {
			t.Errorf("player %d has gaps, and the gradient is %v; without any it is %v", player, g, without["gap"])
		}
		per := s.Inputs.Bins * z
		if moves(with["bins"][:per]) || !moves(without["bins"][:per]) {
			t.Error("a gap teaches the bins")
		}
		for i := range slope.masks { // absent players teach nothing
			slope.masks[i] = 0
		}
		gap(encode.GapPosition)
		_, absent := slope.at(t, weights)
		if moves(absent["gap"]) || moves(absent["cycles"]) {
			t.Error("absent cells teach their embeddings")
		}
	})
}
