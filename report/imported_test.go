package report

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/trees/treestest"
	"github.com/psi-shapley/psi/table"
)

// xgboost returns trees that XGBoost trained, and their rows. The target y is near the prediction.
func xgboost(t *testing.T, name string) (*treestest.File, *table.Table) {
	t.Helper()
	f, err := treestest.Find("..", "xgboost", name)
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float64, len(f.Rows))
	for i := range y {
		y[i] = f.Raw[i][0] + .3*math.Sin(float64(7*i))
	}
	rows, err := table.New(append(f.Table().Columns, table.NumberColumn("y", y, nil))...)
	if err != nil {
		t.Fatal(err)
	}
	return f, rows
}

// imported imports the case, with rows or without.
func imported(t *testing.T, c *treestest.File, rows *table.Table) *psi.Model {
	t.Helper()
	read, err := psi.ReadTrees([]byte(c.Model), "")
	if err != nil {
		t.Fatal(err)
	}
	o := psi.ImportOptions{Target: "y"}
	if rows != nil {
		o.Rows = rows.Source()
	}
	m, err := read.Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// without returns the rows without a column.
func without(rows *table.Table, name string) *table.Table {
	t := &table.Table{}
	for _, c := range rows.Columns {
		if c.Name != name {
			t.Columns = append(t.Columns, c)
		}
	}
	return t
}

// words returns all sentences of a report that depend on the model.
func words(r *Report) string {
	all := append(append([]string{r.Trust.Verdict, r.Calibration.Verdict}, r.Verdict...), append(r.Trust.Words, r.Calibration.Words...)...)
	for _, w := range r.Warnings {
		all = append(all, w.Words)
	}
	return strings.Join(all, "\n")
}

// A report of imported trees claims no interval and no training.
func TestReportOfImportedTrees(t *testing.T) {
	c, rows := xgboost(t, "number")
	for name, x := range map[string]struct {
		model *psi.Model
		rows  *table.Table
		says  []string
	}{
		"with rows":             {imported(t, c, rows), rows, []string{"that it was imported with", "psi fitted the intervals on", "Exact: "}},
		"with rows, no targets": {imported(t, c, rows), without(rows, "y"), []string{"on the rows that it was imported with", "prediction intervals contained"}},
		"no rows":               {imported(t, c, nil), rows, []string{"on the rows of t.csv", "The uncertainty of its predictions is not known", "imported without rows"}},
		"no rows, no targets":   {imported(t, c, nil), without(rows, "y"), []string{"its accuracy is not known", "Measure it before you rely on it"}},
	} {
		r, err := Gather(t.Context(), x.model, x.rows.Source(), Options{Name: "t.csv", Model: "m.psi"})
		if err != nil {
			t.Fatal(name, err)
		}
		if r.Interval != explain.NoInterval || r.Bags != 0 || len(r.Rows.Std)+len(r.Rows.ModelStd)+len(r.Rows.HiddenStd) > 0 {
			t.Errorf("%s: interval %q, %d bags, %d deviations", name, r.Interval, r.Bags, len(r.Rows.Std))
		}
		if known := x.model.Manifest().Imported.Rows > 0; known != (len(r.Rows.PredictionStd) > 0) {
			t.Errorf("%s: %d deviations of predictions", name, len(r.Rows.PredictionStd))
		}
		if r.Model.Imported == nil || r.Model.Imported.Trees == 0 || r.Game.Name != psi.PathDependentGame || !r.Game.Own || len(r.Performance.Baselines) > 0 {
			t.Errorf("%s: %+v, game %+v", name, r.Model.Imported, r.Game)
		}
		if r.Pairs.Absent != "" {
			t.Errorf("%s: no interactions: %s", name, r.Pairs.Absent)
		}
		text := words(r)
		for _, part := range x.says {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the report does not say %q:\n%s", name, part, text)
			}
		}
		for _, column := range r.Columns {
			if column.Outside > 0 { // the rows of the import, or thresholds, which are no range
				t.Errorf("%s: %d cells of %s are outside of their range", name, column.Outside, column.Name)
			}
		}
		for _, claim := range []string{"held out", "training range", "was trained,", "NaN"} {
			if strings.Contains(text, claim) {
				t.Errorf("%s: the report says %q:\n%s", name, claim, text)
			}
		}
		if err := Write(&bytes.Buffer{}, r); err != nil {
			t.Error(name, err)
		}
	}
}

// The comparison has the attributions of the other game for the rows that it names.
func TestGamesAreCompared(t *testing.T) {
	c, rows := xgboost(t, "number")
	m := imported(t, c, rows)
	reference := rows.Select([]int{0, 3, 5})
	for name, o := range map[string]Options{"own": {}, "interventional": {Game: psi.InterventionalGame, Reference: reference}} {
		o.Name, o.Model, o.Seed = "t.csv", "m.psi", 5
		r, err := Gather(t.Context(), m, rows.Source(), o)
		if err != nil {
			t.Fatal(name, err)
		}
		g, players := r.Games, len(r.Players)
		if g == nil || len(g.Rows) == 0 || len(g.Rows) > maxCompared || len(g.Mean) != len(g.Rows)*players || r.Game.Own == g.Other.Own {
			t.Fatalf("%s: %+v, the report's game is %+v", name, g, r.Game)
		}
		if want := map[bool]int{true: 0, false: min(maxDrawnReferences, rows.Rows())}[g.Other.Own]; g.Other.References != want {
			t.Errorf("%s: %d reference rows, want %d", name, g.Other.References, want)
		}
		for i, at := range g.Rows {
			sum := g.Base[0]
			for d := range players {
				sum += g.Mean[i*players+d]
			}
			if want := r.Rows.Prediction[at]; math.Abs(sum-want) > 1e-5*max(1, math.Abs(want)) {
				t.Errorf("%s: row %d: base and attributions add up to %g, not to %g", name, r.Rows.Numbers[at], sum, want)
			}
		}
		if !g.Other.Own {
			continue
		}
		e, err := m.Explain(t.Context(), rows.Select([]int{r.Rows.Numbers[g.Rows[1]]}).Source(), psi.ExplainOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for d, want := range e.Mean {
			if got := g.Mean[players+d]; got != want {
				t.Errorf("%s has %g in the model's own game, not %g", e.Players[d], got, want)
			}
		}
		if r.Trust.Level != "unchecked" || r.Trust.Audit != nil {
			t.Errorf("the audit of the model's own game is told of another: %+v", r.Trust)
		}
	}
	if _, err := Gather(context.Background(), m, rows.Source(), Options{Game: psi.InterventionalGame}); err == nil {
		t.Error("a game without reference rows is no error")
	}
}

// Many reference rows leave room for fewer rows.
func TestReferenceRowsAreLimited(t *testing.T) {
	_, rows := xgboost(t, "number")
	many := rows.Select(make([]int, 1000))
	if o := (Options{Reference: many}).settle(1, 5); o.Explained != 200 || o.Carried != 200 || o.Paired != 20 {
		t.Errorf("%d explained, %d shown, %d with pairs", o.Explained, o.Carried, o.Paired)
	}
	if o := (Options{Reference: rows.Select([]int{0})}).settle(1, 5); o.Explained != 5000 || o.Carried != 1000 || o.Paired != 300 {
		t.Errorf("%d explained, %d shown, %d with pairs", o.Explained, o.Carried, o.Paired)
	}
}
