package psi_test

import (
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// without is rows with the cells of some columns taken out.
func without(rows *table.Table, columns ...string) *table.Table {
	out := &table.Table{}
	for _, c := range rows.Columns {
		if slices.Contains(columns, c.Name) {
			gone := *c
			gone.Observed = make([]bool, rows.Rows())
			if c.Kind == table.Category {
				gone.Codes = slices.Repeat([]int32{-1}, rows.Rows())
			}
			c = &gone
		}
		out.Columns = append(out.Columns, c)
	}
	return out
}

// What a model says of rows with columns unknown is what all coalitions of the other columns say: predictions,
// attributions and interactions are those of the restricted game.
func TestUnknownIsTheRestrictedGame(t *testing.T) {
	rows := gappy(t, 300)
	m := trained(t, rows, psi.Config{})
	for _, unknown := range [][]string{{"x2"}, {"colour"}, {"x1", "x3"}, {"colour", "x1", "x2"}, {"colour", "x1", "x2", "x3"}} {
		said := explained(t, m, rows, psi.ExplainOptions{Unknown: unknown, Interactions: true, To: 40})
		enumerated := explained(t, m, without(rows, unknown...), psi.ExplainOptions{Mode: explain.Exact, Interactions: true, To: 40})
		for _, c := range []struct {
			what      string
			got, want []float64
		}{{"predictions", said.Prediction, enumerated.Prediction}, {"attributions", said.Mean, enumerated.Mean}, {"interactions", said.Interactions, enumerated.Interactions}} {
			worst := 0.0
			for i := range c.want {
				worst = math.Max(worst, math.Abs(c.got[i]-c.want[i]))
			}
			t.Logf("%v unknown: %s at most %.1e apart", unknown, c.what, worst)
			if len(c.got) != len(c.want) || !(worst < 1e-5) {
				t.Errorf("%v unknown: %s differ from the restricted game's by %g", unknown, c.what, worst)
			}
		}
		if !slices.Equal(said.Observed, enumerated.Observed) {
			t.Errorf("%v unknown: other cells are observed", unknown)
		}
	}
}
