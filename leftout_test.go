package psi_test

import (
	"fmt"
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
