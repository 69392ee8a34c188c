package network_test

import (
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
)

// Many coalitions of a row at once have the values they have one by one.
func TestCoalitionAxis(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		const per, outputs = 5, 2
		s := newSubject(t, b, k.small(7, outputs), rng)
		rows := formtest.Rows(rng, s.Inputs, 6, 0)
		masks := formtest.Masks(rng, rows.Rows, per, rows.Players())
		e := s.evaluator(t, 1)
		together := coalitions(t, e, rows, masks, per)

		alone := make([]float32, len(together))
		for p := range per {
			for i := range rows.Rows {
				copy(rows.Observed[i*rows.Players():(i+1)*rows.Players()], masks[(i*per+p)*rows.Players():])
			}
			values, err := e.Pass(t.Context(), rows, 0)
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows.Rows {
				copy(alone[(i*per+p)*outputs:][:outputs], values.Value[i*outputs:])
			}
		}
		atMost(t, "relative difference", relativeError(together, alone), 1e-6)
	})
}

// What a pass finds out does not depend on what else is wanted.
func TestPassesAgree(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		rows := formtest.Rows(rng, s.Inputs, 6, 0.2)
		e := s.evaluator(t, s.exactNodes())
		explained := explain(t, e, rows)
		for _, want := range []form.Want{0, form.Spread, form.Attributions} {
			x, err := e.Pass(t.Context(), rows, want)
			if err != nil {
				t.Fatal(err)
			}
			atMost(t, "values", relativeError(x.Value, explained.Value), 1e-6)
			if want == form.Spread {
				atMost(t, "σ", relativeError(x.Std, explained.Std), 1e-6)
				atMost(t, "h²", relativeError(x.HiddenVariance, explained.HiddenVariance), 1e-6)
			}
			if want == form.Attributions {
				atMost(t, "attributions", relativeError(x.Attributions, explained.Attributions), 1e-6)
			}
		}
	})
}

// A row's numbers do not depend on the rows beside it, their number or its place among
// them: not a bit changes.
func TestRowsDoNotSeeTheirNeighbours(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(5, 2), rng)
		e := s.fullEvaluator(t, engine.Live, 2)
		rows := formtest.Rows(rng, s.Inputs, 2*network.PassRows+3, 0.2)
		together := explain(t, e, rows)
		for _, i := range []int{0, 1, 6, network.PassRows - 1, network.PassRows, rows.Rows - 1} {
			others := formtest.Rows(rng, s.Inputs, i+1, 0.2)
			others.Set(i, rows, i)
			wantSame(t, part(explain(t, e, others), i+1, i), part(together, rows.Rows, i))
			wantSame(t, explain(t, e, only(rows, i)), part(together, rows.Rows, i))
		}
		const per = 3
		masks := formtest.Masks(rng, rows.Rows, per, rows.Players())
		values := coalitions(t, e, rows, masks, per)
		last := rows.Rows - 1
		alone := coalitions(t, e, only(rows, last), masks[last*per*rows.Players():], per)
		if among := values[len(values)-len(alone):]; !slices.Equal(alone, among) {
			t.Errorf("coalitions of a row alone are worth %v, among others %v", alone, among)
		}
	})
}

// A few rows go through a small pass, and have the bits they have in a large one, also
// with layers as wide as tables are fitted with.
func TestSmallPassesGiveTheSameBits(t *testing.T) {
	for _, head := range []form.Head{form.Exact, form.Learned} {
		onEachBackend(t, func(t *testing.T, b *engine.Backend) {
			rng := newRand(t)
			in := form.Inputs{Numeric: 4, Bins: 128, Levels: []int{7, 3}}
			s := newSubject(t, b, form.Default(in, head, form.Size{Rows: 20_000, Columns: in.Columns()}), rng)
			e := s.fullEvaluator(t, engine.Final, 3)
			rows := formtest.Rows(rng, s.Inputs, network.PassRows, 0.1)
			together := explain(t, e, rows)
			for _, i := range []int{0, 1, 5, 30, 59} {
				wantSame(t, explain(t, e, only(rows, i)), part(together, rows.Rows, i))
			}
		})
	}
}

// only is row i by itself.
func only(rows *encode.Batch, i int) *encode.Batch {
	one := rows.Like(1)
	one.Set(0, rows, i)
	return one
}

// part is what x, of n rows, says of row i.
func part(x *form.Explained, n, i int) *form.Explained {
	of := func(all []float32) []float32 {
		width := len(all) / n
		return all[i*width : (i+1)*width]
	}
	return &form.Explained{
		Value: of(x.Value), Attributions: of(x.Attributions), Std: of(x.Std), HiddenVariance: of(x.HiddenVariance),
	}
}
