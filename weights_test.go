package psi_test

import (
	"bytes"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// weighted is a table with a column of weights.
func weighted(t testing.TB, rows *table.Table, weights []float64) *table.Table {
	t.Helper()
	all, err := table.New(append(slices.Clone(rows.Columns), table.NumberColumn("count", weights, nil))...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Weights are no input, and metrics of a model that was trained with them count by them.
func TestWeightsAreNoInput(t *testing.T) {
	rng := newRand(t, 8)
	rows := people(t, rng, 200, 2)
	weights := make([]float64, 200)
	for i := range weights {
		weights[i] = float64(rng.IntN(4))
	}
	rows = weighted(t, rows, weights)
	m := trained(t, rows, psi.Config{Weight: "count", Change: quick})
	if slices.Contains(m.Columns(), "count") || m.Manifest().Weight != "count" {
		t.Fatalf("columns %v, weight %q", m.Columns(), m.Manifest().Weight)
	}
	if keep := m.ReadOptions().Keep; !keep("count") || keep("other") {
		t.Error("the weights are not read")
	}
	if e := explained(t, m, rows, psi.ExplainOptions{To: 3}); slices.Contains(e.Players, "count") {
		t.Errorf("players %v", e.Players)
	}
	p := predicted(t, m, rows)
	for _, c := range []struct {
		of      *table.Table
		weights []float64
	}{{rows, weights}, {&table.Table{Columns: rows.Columns[:5]}, slices.Repeat([]float64{1}, 200)}} {
		loss, total := 0.0, 0.0
		for i, w := range c.weights {
			chance := p.Probability[i]
			if rows.Column("y").Text(i) != p.Classes[1] {
				chance = 1 - chance
			}
			loss -= w * math.Log(chance)
			total += w
		}
		e, err := m.Evaluate(t.Context(), c.of.Source())
		if err != nil {
			t.Fatal(err)
		}
		near(t, "log loss", metric(t, e, "log_loss"), loss/total)
	}
}

// Rows of weight 0 leave all as it is without them but what is said of the cells read: their
// digest, and how many labels a column has. They have labels and a class that no other row
// has. The rows that validate must be given: otherwise they are chosen by the numbers of rows.
func TestRowsOfNoWeightChangeNothing(t *testing.T) {
	rng := newRand(t, 9)
	rows, held := people(t, rng, 200, 2), weighted(t, people(t, rng, 60, 2), slices.Repeat([]float64{1}, 60))
	var places []int
	var weights []float64
	for i := range 200 {
		places, weights = append(places, i), append(weights, 1+float64(i%3))
		if i%4 == 0 {
			places, weights = append(places, i), append(weights, 0)
		}
	}
	more := rows.Select(places)
	var town, y []string
	for i, w := range weights {
		if w == 0 {
			town, y = append(town, "Ely"), append(y, "vip")
		} else {
			town, y = append(town, more.Column("town").Text(i)), append(y, more.Column("y").Text(i))
		}
	}
	more.Columns[1] = table.CategoryColumn("town", town, more.Column("town").Observed)
	more.Columns[4] = table.CategoryColumn("y", y, nil)
	with := trained(t, weighted(t, more, weights), psi.Config{Weight: "count", Validation: held.Source(), Change: quick})
	kept := slices.DeleteFunc(slices.Clone(weights), func(w float64) bool { return w == 0 })
	without := trained(t, weighted(t, rows, kept), psi.Config{Weight: "count", Validation: held.Source(), Change: quick})

	a, b := with.Manifest(), without.Manifest()
	if a.Provenance.Data == b.Provenance.Data {
		t.Error("the data have the same digest")
	}
	a.Provenance.Data, a.Columns = b.Provenance.Data, b.Columns
	if !reflect.DeepEqual(a, b) {
		t.Errorf("with rows of weight 0:\n%+v\nwithout:\n%+v", a, b)
	}
	if !bytes.Equal(with.History(), without.History()) || !reflect.DeepEqual(with.StoredAudit(), without.StoredAudit()) {
		t.Error("history or audit differ")
	}
	first, second := explained(t, with, rows, psi.ExplainOptions{}), explained(t, without, rows, psi.ExplainOptions{})
	if !slices.Equal(first.Mean, second.Mean) || !slices.Equal(first.Std, second.Std) || !slices.Equal(first.PredictionStd, second.PredictionStd) {
		t.Error("explanations differ")
	}
}

// A row of weight 2 is a row that is there twice: φ_0 and the scale are the same.
func TestWeightTwoIsTwice(t *testing.T) {
	rng := newRand(t, 10)
	for _, target := range []string{"y", "size"} {
		rows, held := people(t, rng, 60, 3), people(t, rng, 20, 3)
		var places []int
		var weights []float64
		for i := range 60 {
			weights = append(weights, 1+float64(i%2))
			for range 1 + i%2 {
				places = append(places, i)
			}
		}
		ones := func(n int) []float64 { return slices.Repeat([]float64{1}, n) }
		train := func(rows *table.Table, w []float64) psi.Manifest {
			m, err := psi.Train(t.Context(), weighted(t, rows, w).Source(), psi.Config{
				Target: target, Backend: "go", Weight: "count", Validation: weighted(t, held, ones(20)).Source(), Change: moment,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			return m.Manifest()
		}
		once, twice := train(rows, weights).Scale, train(rows.Select(places), ones(len(places))).Scale
		plain := train(rows, ones(60)).Scale
		same := math.Abs(once.Mean-twice.Mean) < 1e-12 && math.Abs(once.Std-twice.Std) < 1e-12
		moved := once.Mean != plain.Mean
		for c := range once.Base {
			same = same && math.Abs(once.Base[c]-twice.Base[c]) < 1e-12
			moved = moved || once.Base[c] != plain.Base[c]
		}
		if !same || !moved {
			t.Errorf("%s: weighed %+v, repeated %+v, neither %+v", target, once, twice, plain)
		}
	}
}

// A training of classes, weights and groups may be stopped at any step.
func TestInterruptedTrainingOfClasses(t *testing.T) {
	rng := newRand(t, 11)
	weights := make([]float64, 200)
	for i := range weights {
		weights[i] = rng.Float64()
	}
	rows := weighted(t, people(t, rng, 200, 3), weights)
	config := psi.Config{
		Target: "y", Backend: "go", Weight: "count", Groups: body(), MissingAsLevel: []string{"age", "town"}, Change: quick, SaveEvery: 1,
	}
	_, want := saved(t, trained(t, rows, config))
	for _, stop := range []int{1, 15, 35} {
		c := config
		c.Checkpoint = filepath.Join(t.TempDir(), "m.checkpoint")
		stopAfter(t, rows, c, stop)
		c.Resume = true
		if _, got := saved(t, trained(t, rows, c)); !bytes.Equal(got, want) {
			t.Errorf("stopped after %d steps and resumed: other bytes", stop)
		}
		c.Groups = nil
		if _, err := psi.Train(t.Context(), rows.Source(), c); err == nil {
			t.Error("a training with other groups went on from the checkpoint")
		}
	}
}
