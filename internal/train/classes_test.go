package train_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel"
	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// sorted is an easy problem: classes that a number and a category decide.
func sorted(t *testing.T, rng *rand.Rand, n, classes int) (*encode.Encoder, encode.Target, train.Data) {
	t.Helper()
	x, kind, y := make([]float64, n), make([]string, n), make([]string, n)
	for i := range n {
		shift := rng.IntN(3)
		x[i], kind[i] = 6*rng.Float64()-3, []string{"a", "b", "c"}[shift]
		score := x[i] + 2*float64(shift-1)
		y[i] = []string{"p", "q", "r"}[min(max(0, int(math.Floor(score/2+float64(classes)/2))), classes-1)]
	}
	rows, err := table.New(table.NumberColumn("x", x, nil), table.CategoryColumn("kind", kind, nil), table.CategoryColumn("y", y, nil))
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := encode.Fit(rows, []string{"x", "kind"}, 16)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := encoder.Encode(rows)
	if err != nil {
		t.Fatal(err)
	}
	var labels encode.Labels
	if err := labels.Add(rows.Column("y"), nil); err != nil {
		t.Fatal(err)
	}
	target, _, err := labels.Target(encode.Auto, "")
	if err != nil {
		t.Fatal(err)
	}
	fitter := encode.NewTargetFitter(target)
	if err := fitter.Add(rows.Column("y"), nil, nil); err != nil {
		t.Fatal(err)
	}
	if target, err = fitter.Finish(); err != nil {
		t.Fatal(err)
	}
	numbers, err := target.Encode(rows.Column("y"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return encoder, target, train.Unweighted(batch, numbers)
}

// Labels are learned, of two classes and of three, and σ does not spoil what was learned.
func TestClassesAreLearned(t *testing.T) {
	for _, classes := range []int{2, 3} {
		t.Logf("seed %d", classes)
		encoder, target, data := sorted(t, rand.New(rand.NewPCG(uint64(classes), 0)), 500, classes)
		rows, err := data.Read(0, 400)
		if err != nil {
			t.Fatal(err)
		}
		held, err := data.Read(400, 500)
		if err != nil {
			t.Fatal(err)
		}
		n := form.Config{
			Inputs:  form.Inputs{Numeric: encoder.Numeric(), Bins: encoder.Bins, Levels: encoder.EmbeddingRows()},
			Outputs: target.Outputs(), Classes: true, Head: form.Exact, Form: form.Product,
			Embedding: 8, Hidden: 1, Channels: 8, SigmaWidth: 4, HiddenWidth: 8,
		}
		recipe := shortRecipe()
		recipe.Base, recipe.Steps, recipe.SpreadSteps, recipe.Rate = target.Base, 150, 30, 2e-2
		recipe.Decay = 0 // which moves weights that nothing teaches
		run, err := train.New(n, train.Native{}, recipe, rows, held)
		if err != nil {
			t.Fatal(err)
		}
		weights := finish(t, run)
		last := map[string]float64{}
		var phases []string
		for _, p := range run.History() {
			if _, met := last[p.Phase]; !met {
				phases, last[p.Phase] = append(phases, p.Phase), math.Inf(1)
			}
			last[p.Phase] = min(last[p.Phase], p.Score)
		}
		naive := math.Log(float64(classes))
		t.Logf("%d classes: log loss %.3f, with σ %.3f", classes, last["fit"], last["spread"])
		if !slices.Equal(phases, []string{"fit", "absent", "spread"}) || !(last["fit"] < 0.3*naive) || !(last["spread"] < 0.35*naive) {
			t.Errorf("%d classes: log losses of the phases %v: %v", classes, phases, last)
		}
		wantOtherTaught(t, encoder, n.Start(recipe.Seed), weights)
		run.Close()
	}
}

// No row has a label that is not known, so that the row of such labels learns from labels
// which are read as "other" on purpose.
func wantOtherTaught(t *testing.T, e *encode.Encoder, start, weights map[string][]float32) {
	t.Helper()
	if e.Players[1].Rare > 0 {
		t.Fatal("there are rare labels")
	}
	z := len(weights["levels"]) / e.EmbeddingRows()[0]
	if slices.Equal(weights["levels"][:z], start["levels"][:z]) {
		t.Error("the row of labels that are not known is as it was before training")
	}
}

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
