package train_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/internal/train"
)

// What stands in for absent columns is learned without a price: rows that have every cell move by one constant, rows with gaps err less.
func TestAbsentColumnsAreLearnedAlone(t *testing.T) {
	s := newSmall(t)
	n := s.network(form.Exact, form.Product)
	n.Channels = 48
	recipe := shortRecipe()
	recipe.MaskedExponent = 4 // so that masked copies teach the mean little
	recipe.Steps, recipe.AbsentSteps, recipe.SpreadSteps = 600, 0, 0
	before := finish(t, s.run(t, train.Native{}, n, recipe))
	recipe.AbsentSteps = 600
	after := finish(t, s.run(t, train.Native{}, n, recipe))

	least, most := math.Inf(1), math.Inf(-1)
	one, two := values(t, n, before, s.validation), values(t, n, after, s.validation)
	d := s.validation.Rows.Players()
	for i := range one {
		if !slices.Contains(s.validation.Rows.Observed[i*d:(i+1)*d], 0) {
			moved := float64(two[i]) - float64(one[i])
			least, most = min(least, moved), max(most, moved)
		}
	}
	if !(most-least < 1e-5) {
		t.Errorf("whole rows moved by %g to %g", least, most)
	}
	a, b := 0.0, 0.0
	for mask := 1; mask < 1<<d-1; mask++ {
		part := hideAllBut(s.validation, mask)
		a += squaredError(t, n, before, part)
		b += squaredError(t, n, after, part)
	}
	t.Logf("coalitions err by %.4f before and %.4f after", a, b)
	if !(b < a) {
		t.Error("they err no less")
	}
}

func values(t *testing.T, n form.Config, weights map[string][]float32, rows train.Data) []float32 {
	t.Helper()
	k, err := kernel.New(n, weights, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, err := k.Pass(context.Background(), rows.Rows, 0)
	if err != nil {
		t.Fatal(err)
	}
	return x.Value
}

// hideAllBut are the rows with the cells of those columns alone whose bit is set.
func hideAllBut(rows train.Data, mask int) train.Data {
	part := rows
	part.Rows = rows.Rows.Slice(0, rows.Len())
	part.Rows.Observed = slices.Clone(rows.Rows.Observed)
	d := rows.Rows.Players()
	for i := range part.Rows.Observed {
		if mask>>(i%d)&1 == 0 {
			part.Rows.Observed[i] = 0
		}
	}
	return part
}
