package psi_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// readAs are some rows as a model reads them.
func readAs(t *testing.T, m *psi.Model, rows *table.Table, from, to int) *psi.Rows {
	t.Helper()
	var at []int
	for i := from; i < to; i++ {
		at = append(at, i)
	}
	r, err := m.Read(rows.Select(at))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Requests that share passes get what each would get alone, to the bit, at every depth.
func TestRequestsShareAPass(t *testing.T) {
	rows := gappy(t, 200)
	m := trained(t, rows, psi.Config{})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	requests := []*psi.Rows{readAs(t, m, rows, 0, 1), readAs(t, m, rows, 1, 72), readAs(t, m, rows, 72, 75)}
	answers, err := m.Pass(t.Context(), psi.Attributions, requests...)
	check(err)
	for i, from := range []int{0, 1, 72} {
		alone, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Z: 2, From: from, To: from + requests[i].Len()})
		check(err)
		together, err := answers[i].Explanation(psi.ExplainOptions{Z: 2})
		check(err)
		together.FirstRow = from
		if !reflect.DeepEqual(together.Mean, alone.Mean) || !reflect.DeepEqual(together.Std, alone.Std) || !reflect.DeepEqual(together.PredictionStd, alone.PredictionStd) ||
			!slices.Equal(together.Players, alone.Players) || together.Model != alone.Model || together.Z != alone.Z {
			t.Errorf("request %d gets something else than alone", i)
		}
		check(together.Validate())
		whole := answers[i].Prediction()
		for _, depth := range []psi.Depth{psi.Values, psi.Spread} {
			less, err := m.Pass(t.Context(), depth, requests[i])
			check(err)
			p := less[0].Prediction()
			if far := apart(p.Mean, whole.Mean); far > 1e-5 || math.IsNaN(far) {
				t.Errorf("request %d: predictions at depth %s are %g apart", i, depth, far)
			}
			if has := p.Std != nil; has != (depth == psi.Spread) {
				t.Errorf("request %d at depth %s: standard deviations are there: %v", i, depth, has)
			}
		}
	}
	if _, err := m.Read(rows, "nobody"); err == nil {
		t.Error("an unknown column that is none was taken")
	}
}

// A model may be used by many at once: each gets what it would get alone.
func TestConcurrentUse(t *testing.T) {
	rows := gappy(t, 100)
	m := trained(t, rows, psi.Config{})
	want := explained(t, m, rows, psi.ExplainOptions{})
	groups := []psi.Group{{Name: "both", Columns: []string{"x1", "x2"}}}
	grouped := explained(t, m, rows, psi.ExplainOptions{Groups: groups})
	directory := t.TempDir()
	var files atomic.Int64
	for name, use := range map[string]func() error{
		"explain": func() error {
			e, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{})
			if err == nil && !slices.Equal(e.Mean, want.Mean) {
				err = errors.New("other attributions")
			}
			return err
		},
		"groups": func() error {
			e, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Groups: groups})
			if err == nil && !slices.Equal(e.Mean, grouped.Mean) {
				err = errors.New("other attributions")
			}
			return err
		},
		"predict": func() error {
			p, err := m.Predict(t.Context(), rows.Source())
			if err == nil && !slices.Equal(p.Mean, want.Prediction) {
				err = errors.New("other predictions")
			}
			return err
		},
		"save": func() error { return m.Save(filepath.Join(directory, fmt.Sprintf("%d.psi", files.Add(1)))) },
		"pass": func() error {
			r, err := m.Read(rows)
			if err != nil {
				return err
			}
			a, err := m.Pass(t.Context(), psi.Attributions, r)
			if err == nil && !slices.Equal(a[0].Prediction().Mean, want.Prediction) {
				err = errors.New("other predictions")
			}
			return err
		},
	} {
		for range 3 {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for range 3 {
					if err := use(); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// The importances that a model keeps are those of its validation rows.
func TestAuditKeepsImportances(t *testing.T) {
	rows := gappy(t, 300)
	m := trained(t, rows, psi.Config{Validation: rows.Source()})
	e := explained(t, m, rows, psi.ExplainOptions{})
	kept := m.StoredAudit().Outputs[0].Importance
	for _, x := range e.Importances(0, nil) {
		near(t, e.Players[x.Player], kept[x.Player], x.Mean)
	}
}

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
