package psi_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// twins is y = 3a + b + noise, where copy is a with little noise, and idle has no effect.
func twins(t *testing.T, n int) *table.Table {
	rng := newRand(t, 11)
	columns := map[string][]float64{}
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		for name, v := range map[string]float64{"a": a, "b": b, "copy": a + .05*rng.NormFloat64(), "idle": rng.NormFloat64(), "y": 3*a + b + .3*rng.NormFloat64()} {
			columns[name] = append(columns[name], v)
		}
	}
	var all []*table.Column
	for _, name := range []string{"a", "b", "copy", "idle", "y"} {
		all = append(all, table.NumberColumn(name, columns[name], nil))
	}
	rows, err := table.New(all...)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// mean reduction that is expected of each column, given which are unknown.
func asked(t *testing.T, m *psi.Model, rows *table.Table, o psi.Ask) map[string]float64 {
	t.Helper()
	sum, n := map[string]float64{}, 0.0
	for list, err := range m.Questions(t.Context(), rows.Source(), o) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		for i, q := range list {
			sum[q.Column] += q.Reduction
			if i > 0 && q.Reduction > list[i-1].Reduction {
				t.Errorf("row %d: %+v is not in order", q.Row, list)
			}
			if q.Variance <= 0 || q.Share() < 0 || q.Share() > 1 {
				t.Errorf("%+v", q)
			}
		}
	}
	for name := range sum {
		sum[name] /= n
	}
	return sum
}

func TestQuestionsAreWorthWhatTheyReduce(t *testing.T) {
	if testing.Short() {
		t.Skip("what was learned does not hang on goroutines")
	}
	rows := twins(t, 1200)
	m := trained(t, rows, psi.Config{Target: "y", ReferenceRows: 256, Change: func(s *psi.Settings) {
		few(s)
		s.Channels, s.Rate, s.Batch, s.Steps, s.RefitSteps, s.SpreadSteps = 64, 1e-2, 64, 1000, 10, 50
	}})
	// Knowing b takes 1 from Var(y), whatever else is known; a takes 9, and its copy nearly as much, each alone.
	both := asked(t, m, rows, psi.Ask{Unknown: []string{"a", "b", "copy"}, To: 20})
	t.Logf("a, b and copy unknown: %v", both)
	if math.Abs(both["b"]-1) > .35 || math.Abs(both["a"]-9) > 2 || math.Abs(both["copy"]-9) > 2 {
		t.Errorf("b is worth %.2f, a %.2f and its copy %.2f", both["b"], both["a"], both["copy"])
	}
	// With the copy, a is hardly worth anything: cells are those of rows alike.
	one := asked(t, m, rows, psi.Ask{Unknown: []string{"a", "idle"}, To: 20})
	t.Logf("a and idle unknown: %v", one)
	if one["a"] > .5 || one["idle"] > .05 {
		t.Errorf("a is worth %.2f and idle %.2f beside the copy of a", one["a"], one["idle"])
	}
	// A table in place of the rows that the model keeps, and the model from its file.
	again := asked(t, reopened(t, m), rows, psi.Ask{Unknown: []string{"a", "b", "copy"}, To: 20})
	if again["a"] != both["a"] {
		t.Errorf("a is worth %v after saving, %v before", again["a"], both["a"])
	}
	order := make([]int, rows.Rows())
	for i := range order {
		order[i] = i
	}
	a := rows.Column("a").Numbers
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(a[x], a[y]) }) // its first rows are all alike
	other := asked(t, m, rows, psi.Ask{Reference: rows.Select(order).Source(), Unknown: []string{"a", "b", "copy"}, To: 20})
	if math.Abs(other["b"]-1) > .35 || other["a"] < 2*other["b"] {
		t.Errorf("b is worth %.2f and a %.2f by another reference", other["b"], other["a"])
	}
}

func TestQuestionsNeedReferenceRows(t *testing.T) {
	rows := people(t, newRand(t, 4), 300, 3)
	m := trained(t, rows, psi.Config{Change: quick})
	if m.ReferenceRows() != 0 {
		t.Errorf("%d rows are kept unasked", m.ReferenceRows())
	}
	for _, err := range m.Questions(t.Context(), rows.Source(), psi.Ask{}) {
		if err == nil || !strings.Contains(err.Error(), "keeps no rows") {
			t.Errorf("want an error, got %v", err)
		}
	}
	kept := trained(t, rows, psi.Config{Change: quick, ReferenceRows: 50})
	if kept.ReferenceRows() != 50 || reopened(t, kept).ReferenceRows() != 50 {
		t.Errorf("%d rows are kept", kept.ReferenceRows())
	}
	found := 0
	for list, err := range kept.Questions(t.Context(), rows.Source(), psi.Ask{Unknown: []string{"town"}}) {
		if err != nil {
			t.Fatal(err)
		}
		found++
		if list[0].Variance <= 0 {
			t.Errorf("%+v", list)
		}
	}
	if found != rows.Rows() {
		t.Errorf("questions for %d of %d rows", found, rows.Rows())
	}
}
