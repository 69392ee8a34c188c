package dataset

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/train"
	"github.com/psi-shapley/psi/table"
)

// weighted reads people with their weights changed.
func weighted(t *testing.T, rows int, change func(weights []float64)) *Dataset {
	t.Helper()
	tab, o := people(t, rows), usual(t)
	o.Weight = "weight"
	change(tab.Column("weight").Numbers)
	return read(t, tab, o)
}

// wantWeights compares the weights of rows with what they are to be in proportion to, with
// the mean 1 over the training rows.
func wantWeights(t *testing.T, ds *Dataset, proportional func(row int) float64) {
	t.Helper()
	training := whole(t, ds.Training)
	mean := 0.0
	for _, row := range rowsOf(t, ds, training) {
		mean += proportional(row) / float64(training.Len())
	}
	for _, d := range []train.Data{training, ds.Validation} {
		for i, row := range rowsOf(t, ds, d) {
			if got, want := float64(d.Weight[i]), proportional(row)/mean; math.Abs(got-want) > 1e-6*want {
				t.Fatalf("row %d weighs %g, want %g", row, got, want)
			}
		}
	}
}

func TestWeights(t *testing.T) {
	ds := weighted(t, 500, func([]float64) {})
	if !ds.Weighted || ds.Weightless != 0 {
		t.Errorf("weighted is %v, and %d rows have no weight", ds.Weighted, ds.Weightless)
	}
	if slices.ContainsFunc(ds.Encoder.Players, func(p player) bool { return p.Name == "weight" }) {
		t.Error("the weight is an input")
	}
	wantWeights(t, ds, func(row int) float64 { return 100 + float64(row) })
}

func TestRowsWithoutWeightsCountTheSame(t *testing.T) {
	ds := read(t, people(t, 500), usual(t))
	if ds.Weighted {
		t.Error("rows without weights are weighted")
	}
	wantWeights(t, ds, func(int) float64 { return 1 })
}

// The target's mean and standard deviation are those of the training rows, each as often as
// it weighs.
func TestTargetIsWeighted(t *testing.T) {
	ds := weighted(t, 500, func([]float64) {})
	sum, mean, squares := 0.0, 0.0, 0.0
	for _, row := range rowsOf(t, ds, whole(t, ds.Training)) {
		w, y := 100+float64(row), float64(row)
		sum, mean, squares = sum+w, mean+w*y, squares+w*y*y
	}
	mean /= sum
	if std := math.Sqrt(squares/sum - mean*mean); math.Abs(ds.Target.Mean-mean) > 1e-9 || math.Abs(ds.Target.Std-std) > 1e-9 {
		t.Errorf("mean %g and standard deviation %g, want %g and %g", ds.Target.Mean, ds.Target.Std, mean, std)
	}
}

// Weights of any size are brought to the mean 1.
func TestWeightsOfAnySize(t *testing.T) {
	for _, unit := range []float64{math.SmallestNonzeroFloat64, 1e-300, 0.1, 1e300, math.MaxFloat64 / 4} {
		ds := weighted(t, 60, func(w []float64) {
			for i := range w {
				w[i] = float64(1+i%4) * unit
			}
		})
		wantWeights(t, ds, func(row int) float64 { return float64(1 + row%4) })
	}
	ds := weighted(t, 60, func(w []float64) {
		for i := range w {
			w[i] = []float64{1e300, 1e-300}[i%2]
		}
	})
	for _, w := range slices.Concat(whole(t, ds.Training).Weight, ds.Validation.Weight) {
		if !(w > 0) || math.IsInf(float64(w), 0) {
			t.Fatalf("a weight is %g", w)
		}
	}
}

// A row of weight 0 is as good as not there.
func TestRowsOfWeightZeroAreLeftOut(t *testing.T) {
	ds := weighted(t, 500, func(w []float64) { clear(w[:100]) })
	training, validation := rowsOf(t, ds, whole(t, ds.Training)), rowsOf(t, ds, ds.Validation)
	if ds.Weightless != 100 || ds.Rows != 400 || len(training)+len(validation) != 400 || len(validation) != 40 {
		t.Errorf("%d left out of %d, %d train, %d validate", ds.Weightless, ds.Rows, len(training), len(validation))
	}
	if least := slices.Min(slices.Concat(training, validation)); least != 100 {
		t.Errorf("row %d is among them", least)
	}
}

func TestBadWeights(t *testing.T) {
	for name, c := range map[string]struct {
		change func(tab *table.Table, o *Options)
		row    int
		want   string
	}{
		"missing": {func(tab *table.Table, _ *Options) {
			tab.Column("weight").Observed[9000], tab.Column("weight").Numbers[9000] = false, 0
		}, 9000, "missing"},
		"negative":        {func(tab *table.Table, _ *Options) { tab.Column("weight").Numbers[9001] = -1 }, 9001, "-1"},
		"infinite":        {func(tab *table.Table, _ *Options) { tab.Column("weight").Numbers[3] = math.Inf(1) }, 3, "+Inf"},
		"no number":       {func(tab *table.Table, _ *Options) { tab.Column("weight").Numbers[3] = math.NaN() }, 3, "NaN"},
		"all 0":           {func(tab *table.Table, _ *Options) { clear(tab.Column("weight").Numbers) }, -1, "no row"},
		"text":            {func(_ *table.Table, o *Options) { o.Weight = "town" }, -1, "category"},
		"no such column":  {func(_ *table.Table, o *Options) { o.Weight = "mass" }, -1, "no such column"},
		"the target":      {func(_ *table.Table, o *Options) { o.Weight = "y" }, -1, "target"},
		"a missing level": {func(_ *table.Table, o *Options) { o.MissingAsLevel = []string{"weight"} }, -1, "not a feature"},
		"validation": {func(_ *table.Table, o *Options) {
			held := people(t, 20)
			held.Column("weight").Numbers[7] = -3
			o.Validation = held.Source()
		}, 7, "-3"},
		"no validation": {func(_ *table.Table, o *Options) {
			held := people(t, 20)
			clear(held.Column("weight").Numbers)
			o.Validation = held.Source()
		}, -1, "no validation row"},
	} {
		tab, o := people(t, 10_000), usual(t)
		o.Weight = "weight"
		c.change(tab, &o)
		_, err := Read(context.Background(), tab.Source(), o)
		e, ok := errors.AsType[*table.Error](err)
		if !ok || e.Row != c.row || e.Remedy == "" || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error of row %d with %q", name, err, c.row, c.want)
		}
	}
}

// A weight may be missing where the target is.
func TestMissingWeightOfAnUnlabelledRow(t *testing.T) {
	tab, o := people(t, 100), usual(t)
	o.Weight = "weight"
	tab.Column("weight").Observed[5], tab.Column("y").Observed[5] = false, false
	if ds := read(t, tab, o); ds.Rows != 99 || ds.Unlabelled != 1 {
		t.Errorf("%d rows, %d without a target, want 99 and 1", ds.Rows, ds.Unlabelled)
	}
}
