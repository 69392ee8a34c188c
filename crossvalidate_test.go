package psi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/internal/dataset"
	"github.com/psi-shapley/psi/table"
)

// folded is a table of a line with noise, units of four rows, a day and a weight.
func folded(t *testing.T, rows int) *table.Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, 0))
	x, y, unit := make([]float64, rows), make([]float64, rows), make([]string, rows)
	day, weight := make([]float64, rows), make([]float64, rows)
	for i := range rows {
		x[i], day[i], weight[i] = rng.NormFloat64(), rng.Float64(), 0.5+rng.Float64()
		y[i] = 3*x[i] + 0.1*rng.NormFloat64()
		unit[i] = fmt.Sprint("u", i/4)
	}
	all, err := table.New(
		table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil), table.CategoryColumn("unit", unit, nil),
		table.NumberColumn("day", day, nil), table.NumberColumn("weight", weight, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sides are the rows of a fold, read here without CrossValidate.
func sides(t *testing.T, rows *table.Table, c Config, folds, k int) (training, test *table.Table) {
	t.Helper()
	f, err := dataset.ReadFolds(t.Context(), rows.Source(), dataset.Options{Target: c.Target, Weight: c.Weight, By: c.ValidationBy, OrderBy: c.OrderBy, Seed: c.Seed}, folds)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := func(s table.Source) *table.Table {
		defer s.Close()
		whole, err := table.ReadAll(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return whole
	}
	return all(f.Training(t.Context(), k)), all(f.Test(t.Context(), k))
}

// Each fold is what Train makes of its training rows and Evaluate measures on its test rows. The error of the mean is
// computed here from the model's own mean; that of a line is near the noise.
func TestCrossValidateTrainsAndEvaluates(t *testing.T) {
	rows := folded(t, 240)
	for _, c := range []Config{
		{Drop: []string{"unit", "day", "weight"}},
		{Drop: []string{"day"}, ValidationBy: "unit", Weight: "weight", Seed: 3},
		{Drop: []string{"unit", "weight", "day"}, OrderBy: "day", ValidationFraction: 0.2},
	} {
		const folds = 3
		c.Target = "y"
		c.Change = func(s *Settings) { tiny(s); s.Bags = 2 } // which CrossValidate leaves out
		got, err := CrossValidate(t.Context(), rows.Source(), c, folds)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Folds) != folds || got.Task != Regression {
			t.Fatalf("%d folds of a %s", len(got.Folds), got.Task)
		}
		for k, fold := range got.Folds {
			training, test := sides(t, rows, c, folds, k)
			alone := c
			alone.Change = tiny
			m, err := Train(t.Context(), training.Source(), alone)
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Evaluate(t.Context(), test.Source())
			if err != nil {
				t.Fatal(err)
			}
			if want := finiteMetrics(*e); !reflect.DeepEqual(fold.Metrics, want) {
				t.Errorf("fold %d: %v, want %v", k, fold.Metrics, want)
			}
			if fold.TrainingRows != training.Rows() || fold.TestRows != test.Rows() {
				t.Errorf("fold %d trains on %d rows and tests %d, want %d and %d", k, fold.TrainingRows, fold.TestRows, training.Rows(), test.Rows())
			}
			squares, weights := 0.0, 0.0
			for i, y := range test.Column("y").Numbers {
				w := 1.0
				if c.Weight != "" {
					w = test.Column("weight").Numbers[i]
				}
				squares += w * (y - m.Manifest().Scale.Mean) * (y - m.Manifest().Scale.Mean)
				weights += w
			}
			if got, want := fold.Of("mean")["rmse"], math.Sqrt(squares/weights); math.Abs(got-want) > 1e-9*want {
				t.Errorf("fold %d: the mean's rmse is %g, want %g", k, got, want)
			}
			if line := fold.Of("linear")["rmse"]; line < 0.05 || line > 0.3 {
				t.Errorf("fold %d: the linear model's rmse is %g, and the noise 0.1", k, line)
			}
			if _, known := fold.Of("linear")["coverage_90"]; known || fold.Of("none") != nil {
				t.Errorf("fold %d: a baseline is said to have intervals, or there is one too many", k)
			}
			m.Close()
		}
	}
}

// Each model's metrics over the folds against two passes over the numbers.
func TestSpreadOverFolds(t *testing.T) {
	x := []float64{3, 1, 4, 1.5}
	c := &CrossValidation{}
	for i, v := range x {
		f := Fold{Metrics: map[string]float64{"rmse": v}}
		if i == 2 {
			f.Baselines = []Baseline{{"linear", map[string]float64{"r2": 0.5}}}
		}
		c.Folds = append(c.Folds, f)
	}
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += v / 4
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	if s, known := c.Spread("", "rmse"); !known || s.Folds != 4 || math.Abs(s.Mean-mean) > 1e-12 || math.Abs(s.Std-math.Sqrt(squares/3)) > 1e-12 {
		t.Errorf("%+v, want %g ± %g", s, mean, math.Sqrt(squares/3))
	}
	if s, known := c.Spread("linear", "r2"); !known || s.Folds != 1 || s.Mean != 0.5 || !math.IsNaN(s.Std) {
		t.Errorf("of one fold %+v", s)
	}
	if _, known := c.Spread("linear", "rmse"); known {
		t.Error("a metric that no fold has")
	}
}

// A class of one unit alone is in no training row of the fold that tests it, and in no test row of the others.
func TestCrossValidateRareClass(t *testing.T) {
	rows := folded(t, 120)
	kind := make([]string, 120)
	for i := range kind {
		if kind[i] = []string{"a", "b"}[i%2]; i < 4 {
			kind[i] = "rare"
		}
	}
	rows.Columns = append(rows.Columns, table.CategoryColumn("kind", kind, nil))
	got, err := CrossValidate(t.Context(), rows.Source(), Config{Target: "kind", Drop: []string{"day", "weight"}, ValidationBy: "unit", Change: tiny}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got.Task != Multiclass || len(got.Folds) != 3 {
		t.Errorf("%d folds of a %s", len(got.Folds), got.Task)
	}
	for k, fold := range got.Folds {
		for _, model := range []string{"", "mean", "linear", "additive"} {
			if loss, known := fold.Of(model)["log_loss"]; !known || loss < 0.1 {
				t.Errorf("fold %d, model %q: log loss %g", k, model, loss)
			}
		}
	}
}

func TestCrossValidateSaysItOnce(t *testing.T) {
	rows := folded(t, 90)
	rows.Column("y").Observed[7] = false
	rows.Columns = append(rows.Columns, table.NumberColumn("same", make([]float64, 90), nil))
	notes, folds, done := map[string]int{}, map[int]bool{}, 0.0
	c := Config{Target: "y", ValidationBy: "unit", Change: func(s *Settings) { tiny(s); s.Bags = 2 }, Progress: func(p Progress) {
		notes[p.Note]++
		if p.Stage == "doubt" {
			t.Error("bags are trained")
		}
		if p.Fold > 0 {
			folds[p.Fold] = true
			if p.Folds != 2 || p.Done < 0 || p.Done > 1 {
				t.Errorf("%+v", p)
			}
			done = max(done, p.Done)
		}
	}}
	if _, err := CrossValidate(t.Context(), rows.Source(), c, 2); err != nil {
		t.Fatal(err)
	}
	delete(notes, "")
	for note, times := range notes {
		if times != 1 {
			t.Errorf("said %d times: %s", times, note)
		}
	}
	if notes["1 rows are left out: their target is missing"] != 1 {
		t.Errorf("not said: %v", notes)
	}
	if !folds[1] || !folds[2] || len(folds) != 2 || done < 0.9 {
		t.Errorf("folds %v, done %g", folds, done)
	}
}

// An interruption leaves the folds that are done.
func TestCrossValidateEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := Config{Target: "y", Drop: []string{"unit"}, Change: tiny, Progress: func(p Progress) {
		if p.Fold == 2 && p.Stage == "fit" {
			cancel()
		}
	}}
	got, err := CrossValidate(ctx, folded(t, 90).Source(), c, 3)
	if !errors.Is(err, context.Canceled) || got == nil || len(got.Folds) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestCrossValidateMistakes(t *testing.T) {
	rows := folded(t, 60)
	for _, c := range []struct {
		want   string
		config Config
		folds  int
	}{
		{"2 or more", Config{Target: "y"}, 1},
		{"take the place", Config{Target: "y", Validation: rows.Source()}, 3},
		{"take the place", Config{Target: "y", OrderBy: "day", ValidationAfter: "0.5"}, 3},
		{"no such column to predict", Config{Target: "z"}, 3},
		{"cannot be combined", Config{Target: "y", OrderBy: "day", ValidationBy: "unit"}, 3},
		{"only 15 rows, or groups", Config{Target: "y", ValidationBy: "unit"}, 16},
		{"training needs at least 10", Config{Target: "y", OrderBy: "day"}, 20},
	} {
		c.config.Change = tiny
		if _, err := CrossValidate(t.Context(), rows.Source(), c.config, c.folds); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
