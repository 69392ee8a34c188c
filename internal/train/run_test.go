package train_test

import (
	"context"
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/objective"
	"github.com/psi-shapley/psi/internal/synth"
	"github.com/psi-shapley/psi/internal/train"
)

// small is a problem that trains in a moment: synth3 with a few gaps.
type small struct {
	encoder          *encode.Encoder
	data, validation train.Data
}

func newSmall(t testing.TB) small {
	t.Helper()
	s, err := synth.Generate("synth3", 600, 1)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.Table()
	if err != nil {
		t.Fatal(err)
	}
	for d, c := range all.Columns[:3] {
		for i := d; i < c.Len(); i += 17 {
			c.Observed[i] = false
		}
	}
	rows := make([]int, 600)
	for i := range rows {
		rows[i] = i
	}
	first, rest := all.Select(rows[:500]), all.Select(rows[500:])
	encoder, err := encode.Fit(first, []string{"x1", "x2", "x3"}, 12)
	if err != nil {
		t.Fatal(err)
	}
	target := encode.FitTarget(first.Column("y").Numbers)
	part := func(from, to int) train.Data {
		tab := first
		if from > 0 {
			tab = rest
		}
		b, err := encoder.Encode(tab)
		if err != nil {
			t.Fatal(err)
		}
		y, err := target.Encode(tab.Column("y"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return train.Unweighted(b, y)
	}
	return small{encoder, part(0, 500), part(500, 600)}
}

func (s small) network(head form.Head, shape form.Form) form.Config {
	return form.Config{
		Inputs:  form.Inputs{Numeric: s.encoder.Numeric(), Bins: s.encoder.Bins, Levels: s.encoder.EmbeddingRows()},
		Outputs: 1, Head: head, Form: shape, Frequencies: 4, Embedding: 8, Hidden: 1, Channels: 8, Rank: 2,
		Net: form.MENN, Width: 16, Layers: 2, SigmaWidth: 4, HiddenWidth: 8,
	}
}

func shortRecipe() train.Config {
	c := train.Default(form.Exact, form.Size{Rows: 20_000, Columns: 3})
	c.Seed, c.Batch, c.Steps, c.PolishSteps, c.RefitSteps, c.SpreadSteps = 3, 64, 40, 15, 15, 15
	c.Dropout = 0.1
	return c
}

func (s small) run(t testing.TB, b train.Backend, n form.Config, c train.Config) *train.Run {
	t.Helper()
	r, err := train.New(n, b, c, s.data, s.validation)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func onEngine(t testing.TB, name string) train.Engine {
	t.Helper()
	b, _, err := engine.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return train.Engine{Backend: b}
}

func finish(t testing.TB, r *train.Run) map[string][]float32 {
	t.Helper()
	if err := r.Train(context.Background(), train.RunOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := r.Weights()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// backends are those that train a network, by name.
func backends(t *testing.T, n form.Config) map[string]train.Backend {
	t.Helper()
	all := map[string]train.Backend{}
	if (train.Native{}).Trains(n, shortRecipe()) {
		all["native"] = train.Native{}
	}
	for _, name := range engine.Names() {
		b, _, err := engine.Open(name)
		if err != nil {
			t.Logf("without %s: %v", name, err)
			continue
		}
		all[name] = train.Engine{Backend: b}
	}
	return all
}

// onBackends runs a test of each kind of network on every backend that trains it.
func onBackends(t *testing.T, s small, test func(t *testing.T, n form.Config, b train.Backend)) {
	for _, k := range kinds {
		n := s.network(k.head, k.form)
		for name, b := range backends(t, n) {
			t.Run(k.name+"/"+name, func(t *testing.T) { test(t, n, b) })
		}
	}
}

var kinds = []struct {
	name string
	head form.Head
	form form.Form
}{
	{"product", form.Exact, form.Product},
	{"tensor-train", form.Exact, form.TensorTrain},
	{"learned", form.Learned, ""},
}

func sameBits(t *testing.T, a, b map[string][]float32) {
	t.Helper()
	for name, v := range a {
		for i := range v {
			if math.Float32bits(v[i]) != math.Float32bits(b[name][i]) {
				t.Fatalf("%s[%d] is %v in one run and %v in the other", name, i, v[i], b[name][i])
			}
		}
	}
}

func TestOneSeedGivesOneRun(t *testing.T) {
	s := newSmall(t)
	onBackends(t, s, func(t *testing.T, n form.Config, b train.Backend) {
		sameBits(t, finish(t, s.run(t, b, n, shortRecipe())), finish(t, s.run(t, b, n, shortRecipe())))
	})
}

// A run stopped at any step, saved, and continued by another run ends in the same bits.
func TestRestoredRunEndsInTheSameWeights(t *testing.T) {
	s := newSmall(t)
	ctx := context.Background()
	onBackends(t, s, func(t *testing.T, n form.Config, b train.Backend) {
		want := finish(t, s.run(t, b, n, shortRecipe()))
		r := s.run(t, b, n, shortRecipe())
		for steps := 0; !r.Done(); steps++ {
			if steps%23 == 22 {
				state, err := r.State()
				if err != nil {
					t.Fatal(err)
				}
				r = s.run(t, b, n, shortRecipe())
				if err := r.Restore(state); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.Step(ctx); err != nil {
				t.Fatal(err)
			}
		}
		sameBits(t, want, finish(t, r))
	})
}

func TestRestoreRefusesAnotherNetwork(t *testing.T) {
	s := newSmall(t)
	b := onEngine(t, "go")
	state, err := s.run(t, b, s.network(form.Exact, form.Product), shortRecipe()).State()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(t, b, s.network(form.Exact, form.TensorTrain), shortRecipe()).Restore(state); err == nil {
		t.Error("the state of a product form was restored into a tensor-train")
	}
	state.Phase = 9
	if err := s.run(t, b, s.network(form.Exact, form.Product), shortRecipe()).Restore(state); err == nil {
		t.Error("a state of a phase that does not exist was restored")
	}
}

// The backends draw the same batches, so they differ by rounding only.
func TestBackendsAgree(t *testing.T) {
	s := newSmall(t)
	recipe := shortRecipe()
	recipe.Steps, recipe.PolishSteps, recipe.SpreadSteps = 100, 0, 0
	for _, k := range kinds {
		n := s.network(k.head, k.form)
		var names []string
		var weights []map[string][]float32
		for name, b := range backends(t, n) {
			names, weights = append(names, name), append(weights, finish(t, s.run(t, b, n, recipe)))
		}
		for i := 1; i < len(names); i++ {
			gap, moved := distance(weights[0], weights[i]), distance(weights[0], n.Start(recipe.Seed))
			t.Logf("%s: %s and %s differ by %.1e of the weights after %d steps, in which they moved by %.1e",
				k.name, names[0], names[i], gap, recipe.Steps, moved)
			if gap > 1e-3 {
				t.Errorf("%s: %s and %s differ by %.1e, more than 1e-3", k.name, names[0], names[i], gap)
			}
			if moved < 1e-2 {
				t.Errorf("%s: the weights moved by %.1e only: nothing was trained", k.name, moved)
			}
		}
	}
}

// distance is the root mean square of a − b over that of a.
func distance(a, b map[string][]float32) float64 {
	var gap, size float64
	for name, v := range a {
		for i := range v {
			d := float64(v[i] - b[name][i])
			gap += d * d
			size += float64(v[i]) * float64(v[i])
		}
	}
	return math.Sqrt(gap / size)
}

func TestEstimatorsTrain(t *testing.T) {
	s := newSmall(t)
	b := onEngine(t, "auto")
	for _, e := range []objective.Estimator{objective.LeastSquares, objective.TwoDraws, objective.Stopped, objective.Absolute} {
		recipe := shortRecipe()
		recipe.Estimator, recipe.Steps, recipe.PolishSteps, recipe.SpreadSteps = e, 120, 0, 0
		r := s.run(t, b, s.network(form.Learned, ""), recipe)
		var first, last train.Progress
		if err := r.Train(context.Background(), train.RunOptions{Progress: func(p train.Progress) {
			if !math.IsNaN(p.Score) {
				if first.Step == 0 {
					first = p
				}
				last = p
			}
		}}); err != nil {
			t.Fatal(err)
		}
		if !(last.Best < 0.9*first.Score) {
			t.Errorf("%s: the validation error went from %.3f to %.3f", e, first.Score, last.Best)
		}
	}
}
