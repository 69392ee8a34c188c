package network_test

import (
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form/formtest"
)

// The value of no players is 0: exactly, not up to rounding.
func TestNobodyIsWorthNothing(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		rows := formtest.Rows(rng, s.Inputs, 5, 1)
		x := explain(t, s.evaluator(t, s.exactNodes()), rows)
		wantZeros(t, "value", x.Value)
		wantZeros(t, "attributions", x.Attributions)
		wantZeros(t, "σ", x.Std)
		const per = 3
		none := make([]float32, rows.Rows*per*rows.Players())
		wantZeros(t, "value of coalitions", coalitions(t, s.evaluator(t, 1), rows, none, per))
	})
}

// An absent player has no attribution, no σ and no interactions; a present one has a
// positive σ.
func TestAbsentPlayersGetNothing(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		const outputs = 2
		s := newSubject(t, b, k.small(7, outputs), rng)
		rows := formtest.Rows(rng, s.Inputs, 20, 0.5)
		e := s.evaluator(t, s.exactNodes())
		x := explain(t, e, rows)
		d := rows.Players()
		for i := range x.Attributions {
			present := rows.Observed[i/(outputs*d)*d+i%d] == 1
			if !present && (x.Attributions[i] != 0 || x.Std[i] != 0) {
				t.Fatalf("element %d is of an absent player: attribution %v, σ %v", i, x.Attributions[i], x.Std[i])
			}
			if present && (x.Attributions[i] == 0 || x.Std[i] <= 0) {
				t.Fatalf("element %d is of a present player: attribution %v, σ %v", i, x.Attributions[i], x.Std[i])
			}
		}
		if !slices.Contains(exactKinds, k) {
			return
		}
		for i, index := range interactions(t, e, rows) {
			row, a, c := i/(outputs*d*d), i/d%d, i%d
			present := rows.Observed[row*d+a] == 1 && rows.Observed[row*d+c] == 1
			if want := present && a != c; (index != 0) != want {
				t.Fatalf("row %d, players %d and %d: interaction %v", row, a, c, index)
			}
		}
	})
}

// Nothing depends on what a missing cell holds: not a bit changes.
func TestContentsOfMissingCellsAreNotSeen(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		e := s.evaluator(t, s.exactNodes())
		rows := formtest.Rows(rng, s.Inputs, 20, 0.5)
		before := explain(t, e, rows)
		formtest.Cells(rng, s.Inputs, rows, func(row, d int) bool { return rows.Observed[row*rows.Players()+d] == 0 })
		wantSame(t, explain(t, e, rows), before)
	})
}

// h² is the variance due to what is hidden: exactly 0 where nothing is, positive
// where anything is.
func TestHiddenVarianceNeedsSomethingHidden(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		e := s.evaluator(t, 1)
		rows := formtest.Rows(rng, s.Inputs, 7, 0)
		wantZeros(t, "h²", explain(t, e, rows).HiddenVariance)
		hideOneEach(rows)
		for i, h := range explain(t, e, rows).HiddenVariance {
			if h <= 0 {
				t.Errorf("row %d: h² = %v with one player absent", i/2, h)
			}
		}
	})
}

// hideOneEach makes player i of row i absent.
func hideOneEach(rows *encode.Batch) {
	for i := range rows.Rows {
		rows.Observed[i*rows.Players()+i%rows.Players()] = 0
	}
}

func wantZeros(t *testing.T, what string, x []float32) {
	t.Helper()
	if i := slices.IndexFunc(x, func(v float32) bool { return v != 0 }); i >= 0 || len(x) == 0 {
		t.Errorf("%s: element %d of %d is %v, want exactly 0", what, i, len(x), x[max(i, 0):][:1])
	}
}
