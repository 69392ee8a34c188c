package psi_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// remarked has 300 rows: y says whether a remark is there, beside a number that counts the rows, a constant and a name
// of each row.
func remarked(t *testing.T) *table.Table {
	t.Helper()
	const n = 300
	id, k, x, y := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	name, remark, there := make([]string, n), make([]string, n), make([]bool, n)
	rng := newRand(t, 12)
	for i := range n {
		id[i], k[i], x[i] = float64(i), 5, rng.NormFloat64()
		name[i], remark[i], there[i] = fmt.Sprint("n", i), fmt.Sprint("remark ", i), rng.IntN(2) == 0
		y[i] = 0.1 * rng.NormFloat64()
		if there[i] {
			y[i]++
		}
	}
	rows, err := table.New(
		table.NumberColumn("id", id, nil), table.NumberColumn("k", k, nil), table.CategoryColumn("name", name, nil),
		table.CategoryColumn("remark", remark, there), table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil),
	)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Training warns of columns that seem to identify rows and uses them, unless it is told to leave them out. It never uses
// those that nothing can be learned from, unless they are to be kept.
func TestLeftOut(t *testing.T) {
	rows := remarked(t)
	const (
		null     = `column "k": every cell is the same; column "name": no label is in three rows or more. Not used as features: `
		suspects = `column "id": it counts the rows; column "remark": every text is different. Used as features, though `
	)
	for _, test := range []struct {
		config  psi.Config
		columns []string
		places  []int // of columns that are left out
		said    []string
	}{
		{psi.Config{}, []string{"id", "remark", "x"}, []int{1, 2}, []string{null, suspects}},
		{psi.Config{LeaveOutIdentifiers: true}, []string{"x"}, []int{0, 1, 2, 3}, []string{
			`column "k": every cell is the same. Not used as a feature: `,
			`column "id": it counts the rows; column "name": every text is different; column "remark": every text is different. Not used as features: `,
		}},
		{psi.Config{Keep: []string{"k", "id", "remark"}}, []string{"id", "k", "remark", "x"}, []int{2}, []string{`column "name": no label is in three rows or more. Not`}},
		{psi.Config{Drop: []string{"x", "remark"}, LeaveOutIdentifiers: true}, []string{"id"}, []int{1, 2}, []string{
			`column "k": every cell is the same. Not`, `column "name": every text is different. Not`, `column "id": it counts the rows. Used`,
		}},
		{psi.Config{Drop: []string{"x", "remark", "id"}, LeaveOutIdentifiers: true}, []string{"k", "name"}, nil, []string{"k; name. Nothing can be learned from any column"}},
	} {
		var said []string
		test.config.Progress = func(p psi.Progress) {
			if p.Warning {
				said = append(said, p.Note)
			} else if strings.Contains(p.Note, `"`) {
				t.Errorf("a column is told of twice: %s", p.Note)
			}
		}
		m := reopened(t, trained(t, rows, test.config))
		if !slices.Equal(m.Columns(), test.columns) {
			t.Errorf("columns %v, want %v", m.Columns(), test.columns)
		}
		var places []int
		for _, l := range m.Manifest().LeftOut {
			places = append(places, l.Place)
		}
		if !slices.Equal(places, test.places) {
			t.Errorf("left out at %v, want %v", places, test.places)
		}
		if len(said) != len(test.said) || !slices.EqualFunc(said, test.said, strings.HasPrefix) {
			t.Errorf("said %q, want %q", said, test.said)
		}
	}
	if _, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Keep: []string{"ID"}}); err == nil || !strings.Contains(err.Error(), "no such column") {
		t.Errorf("a column that is not there is kept: %v", err)
	}
	if _, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Keep: []string{"id"}, Drop: []string{"id"}}); err == nil || !strings.Contains(err.Error(), "both dropped and kept") {
		t.Errorf("a column is kept and dropped: %v", err)
	}
}

// Labels that are all different still say whether a cell is there.
func TestRareLabelsSayWhetherTheyAreThere(t *testing.T) {
	rows := remarked(t)
	m := trained(t, rows, psi.Config{Drop: []string{"id"}, Change: quick})
	e := explained(t, m, rows, psi.ExplainOptions{})
	d, there, sum := slices.Index(e.Players, "remark"), 0, 0.0
	for i := range e.Rows {
		if e.Observed[i*len(e.Players)+d] {
			sum += e.Mean[i*len(e.Players)+d]
			there++
		}
	}
	if mean := sum / float64(there); !(mean > 0.2) { // 0.5 of a perfect model
		t.Errorf("a remark adds %.2f", mean)
	}
}

// Rows that are there several times are warned of, unless a column keeps them together or chance explains them.
func TestRowsThatRepeat(t *testing.T) {
	const different = 100
	rng := rand.New(rand.NewPCG(1, 0))
	repeated := func(times int, number func() float64) *table.Table {
		var x, y, who []float64
		for i := range different {
			a, b := number(), number()
			for range times {
				x, y, who = append(x, a), append(y, b), append(who, float64(i/2))
			}
		}
		rows, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil), table.NumberColumn("who", who, nil))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	few := func() float64 { return float64(rng.IntN(5)) }
	for _, c := range []struct {
		what   string
		rows   *table.Table
		config psi.Config
		want   []string
	}{
		{"twice", repeated(2, rng.NormFloat64), psi.Config{}, []string{"200 of 200 rows appear more than once", "both train and validate", "Config.ValidationBy"}},
		{"with rows to validate", repeated(2, rng.NormFloat64), psi.Config{Validation: repeated(1, rng.NormFloat64).Source()}, []string{"200 of 200 rows", "doubt looks too small"}},
		{"kept together", repeated(2, rng.NormFloat64), psi.Config{ValidationBy: "who"}, nil},
		{"once", repeated(1, rng.NormFloat64), psi.Config{}, nil},
		{"by chance", repeated(2, few), psi.Config{}, nil},
	} {
		var notes []string
		c.config.Progress = func(p psi.Progress) {
			if p.Warning && strings.Contains(p.Note, "rows") {
				notes = append(notes, p.Note)
			}
		}
		if c.config.ValidationBy == "" {
			c.config.Drop = []string{"who"}
		}
		c.config.Change = quick
		trained(t, c.rows, c.config)
		if (len(notes) == 1) != (c.want != nil) || len(notes) > 1 {
			t.Errorf("%s: warned %q", c.what, notes)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(notes[0], part) {
				t.Errorf("%s: %q is not in %q", c.what, part, notes[0])
			}
		}
	}
}

// A recipe goes by the rows that differ: a table five times over is not a larger one.
func TestCopiesAreNoMoreRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	recipe := func(times int) psi.Settings {
		var x, y, who []float64
		for i := range 700 {
			a := rng.NormFloat64()
			for range times {
				x, y, who = append(x, a), append(y, a*a), append(who, float64(i))
			}
		}
		rows, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil), table.NumberColumn("who", who, nil))
		if err != nil {
			t.Fatal(err)
		}
		var settings psi.Settings
		trained(t, rows, psi.Config{ValidationBy: "who", Change: func(s *psi.Settings) { settings = *s; quick(s) }})
		return settings
	}
	if once, often := recipe(1), recipe(5); once != often {
		t.Errorf("%+v, and with copies %+v", once, often)
	}
}

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
