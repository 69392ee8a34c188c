package psi_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/trees/treestest"
	"github.com/psi-shapley/psi/table"
)

// treeFile is a model that a library trained.
type treeFile struct{ treestest.File }

func treeFiles(t testing.TB) (list []treeFile) {
	t.Helper()
	files, err := treestest.Read(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		list = append(list, treeFile{f})
	}
	return list
}

func treeFileOf(t testing.TB, format, name string) treeFile {
	t.Helper()
	f, err := treestest.Find(".", format, name)
	if err != nil {
		t.Fatal(err)
	}
	return treeFile{*f}
}

// table returns the rows, with further columns if given.
func (f *treeFile) table(t testing.TB, more ...*table.Column) *table.Table {
	t.Helper()
	features := f.Table().Columns
	for _, c := range features {
		if f.Format == "lightgbm" && len(more) == 0 {
			c.Name = strings.ReplaceAll(c.Name, " ", "_") // as it is in the file
		}
	}
	rows, err := table.New(append(slices.Clone(more), features...)...)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// slope is the factor from the library's outputs to log odds: LightGBM's sigmoid.
func (f *treeFile) slope(t testing.TB) float64 {
	t.Helper()
	_, after, found := strings.Cut(f.Model, "objective=binary sigmoid:")
	if !found {
		return 1
	}
	slope, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return slope
}

func (f *treeFile) imported(t testing.TB, o psi.ImportOptions) *psi.Model {
	t.Helper()
	trees, err := psi.ReadTrees([]byte(f.Model), "")
	if err != nil {
		t.Fatal(err)
	}
	if trees.Format() != f.Format {
		t.Errorf("the format is %q, not %q", trees.Format(), f.Format)
	}
	o.Target = "y"
	if o.Rows == nil { // an import leaves the trees as they are
		if _, err := trees.Import(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	m, err := trees.Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// Predictions and attributions of imported trees are those of the library, also after saving and opening.
func TestImport(t *testing.T) {
	for _, f := range treeFiles(t) {
		t.Run(f.Format+"/"+f.Name, func(t *testing.T) {
			m := f.imported(t, psi.ImportOptions{})
			path, _ := saved(t, m)
			opened, err := psi.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			for _, m := range []*psi.Model{m, opened} {
				e, err := m.Explain(t.Context(), f.table(t).Source(), psi.ExplainOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if e.Head != "trees" || e.Game != psi.PathDependentGame || !e.Exact || e.Std != nil || e.ModelStd != nil || e.PredictionStd != nil {
					t.Errorf("head %q, game %q, exact %t, std %v", e.Head, e.Game, e.Exact, e.Std)
				}
				outputs, players, slope := len(e.Outputs), len(e.Players), f.slope(t)
				var off, gap, size float64
				for i := range f.Rows {
					for o := range outputs {
						line := i*outputs + o
						off = max(off, math.Abs(e.Prediction[line]-slope*f.Raw[i][o])/max(1, math.Abs(f.Raw[i][o])))
						for d, want := range f.Contributions[i][o][:players] {
							gap += square(e.Mean[line*players+d] - slope*want)
							size += want * want
						}
						off = max(off, math.Abs(e.Base[line]-slope*f.Contributions[i][o][players]))
					}
				}
				if relative := math.Sqrt(gap / size); off > 1e-5 || relative > 1e-5 {
					t.Errorf("predictions are off by %.1e, attributions by %.1e of their size", off, relative)
				}
			}
		})
	}
}

// The audit of an imported model compares its attributions with enumerated coalitions.
func TestImportedAudit(t *testing.T) {
	for _, name := range []string{"number with labels", "three classes"} {
		f := treeFileOf(t, "xgboost", name)
		m := f.imported(t, psi.ImportOptions{})
		a, err := m.Audit(t.Context(), f.table(t).Source(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if !(*a.RelativeRMSE < 1e-6) || !(*a.SubgameRelativeRMSE < 1e-6) || !(*a.EfficiencyMax < 1e-5) {
			t.Errorf("%s: off by %g, of sub-games by %g, sums by %g", name, *a.RelativeRMSE, *a.SubgameRelativeRMSE, *a.EfficiencyMax)
		}
	}
}

// Rows with targets give metrics, ranges and names of classes; predictions stay.
func TestImportWithRows(t *testing.T) {
	f := treeFileOf(t, "lightgbm", "number")
	y := make([]float64, len(f.Rows))
	for i := range y {
		y[i] = f.Raw[i][0] + math.Sin(float64(7*i))
	}
	rows := f.table(t, table.NumberColumn("y", y, nil))
	m := f.imported(t, psi.ImportOptions{Rows: rows.Source()})
	manifest := m.Manifest()
	if got, want := manifest.Metrics["rmse"], math.Sqrt(.5); math.Abs(got-want) > .1 {
		t.Errorf("rmse %g, not about %g", got, want)
	}
	if manifest.Imported.Rows != len(f.Rows) || m.StoredAudit() == nil {
		t.Errorf("%d rows, audit %v", manifest.Imported.Rows, m.StoredAudit())
	}
	p, err := m.Predict(t.Context(), rows.Source())
	if err != nil {
		t.Fatal(err)
	}
	inside := 0
	for i, v := range p.Mean {
		if math.Abs(v-f.Raw[i][0]) > 1e-6 {
			t.Errorf("row %d is predicted as %g, not %g", i, v, f.Raw[i][0])
		}
		if p.Lower[i] <= y[i] && y[i] <= p.Upper[i] {
			inside++
		}
	}
	if share := float64(inside) / float64(len(y)); share < .85 {
		t.Errorf("ranges contain %g of the rows", share)
	}

	f = treeFileOf(t, "xgboost", "two classes")
	labels := make([]string, len(f.Rows))
	for i := range labels {
		labels[i] = []string{"no", "yes"}[i%2]
	}
	m = f.imported(t, psi.ImportOptions{Rows: f.table(t, table.CategoryColumn("y", labels, nil)).Source()})
	manifest = m.Manifest()
	if !slices.Equal(manifest.Classes(), []string{"no", "yes"}) || manifest.Metrics["log_loss"] == 0 {
		t.Errorf("classes %q, metrics %v", manifest.Classes(), manifest.Metrics)
	}
}

// A missing cell is a value; only Unknown makes a column absent.
func TestImportedMissingCells(t *testing.T) {
	f := treeFileOf(t, "lightgbm", "dart")
	m := f.imported(t, psi.ImportOptions{})
	column := -1
	for _, row := range f.Rows {
		if at := slices.Index(row, any(nil)); at >= 0 {
			column = at
		}
	}
	if column < 0 {
		t.Fatal("no cell is missing")
	}
	rows := f.table(t)
	missing := slices.Index(rows.Columns[column].Observed, false)
	e, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := missing*len(e.Players) + column
	if !e.Observed[at] || e.Mean[at] == 0 {
		t.Errorf("a missing cell has the attribution %g (observed: %t)", e.Mean[at], e.Observed[at])
	}
	if e, err = m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Unknown: f.Columns[column : column+1]}); err != nil {
		t.Fatal(err)
	}
	if e.Observed[at] || e.Mean[at] != 0 {
		t.Errorf("an absent column has the attribution %g (observed: %t)", e.Mean[at], e.Observed[at])
	}
}

func TestImportRefuses(t *testing.T) {
	f := treeFileOf(t, "xgboost", "number")
	wrong := func(o psi.ImportOptions, says string) {
		t.Helper()
		trees, err := psi.ReadTrees([]byte(f.Model), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = trees.Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v does not say %q", o, err, says)
		}
	}
	wrong(psi.ImportOptions{}, "no target")
	wrong(psi.ImportOptions{Target: "a"}, "one of the trees' columns")
	wrong(psi.ImportOptions{Target: "y", Absent: "no"}, "choose cover or missing-branch")
	wrong(psi.ImportOptions{Target: "y", Absent: psi.AbsentByMissing}, "learned from missing values")
	full := f.table(t)
	for _, c := range full.Columns {
		for i := range c.Observed {
			c.Observed[i] = true
		}
	}
	wrong(psi.ImportOptions{Target: "y", Absent: psi.AbsentByMissing, Rows: full.Source()}, "no missing cell")
	part, err := table.New(full.Columns[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	wrong(psi.ImportOptions{Target: "y", Rows: part.Source()}, "lack this column")
	if _, err := psi.ReadTrees([]byte("no trees"), ""); err == nil || !errors.As(err, new(*psi.Error)) {
		t.Errorf("text is read as trees: %v", err)
	}
}

// checkGame compares attributions with enumerated coalitions, and base and interventional means with what they are.
func checkGames(t *testing.T, m *psi.Model, rows *table.Table) {
	t.Helper()
	explained := func(o psi.ExplainOptions) *explain.Explanation {
		t.Helper()
		o.NoDoubt = true
		e, err := m.Explain(t.Context(), rows.Source(), o)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	near := func(what string, got, want []float64, scale float64) {
		t.Helper()
		worst := 0.0
		for i := range want {
			worst = max(worst, math.Abs(got[i]-want[i]))
		}
		if len(got) != len(want) || !(worst <= 1e-5*scale) {
			t.Errorf("%s is off by %.1e of %g", what, worst, scale)
		}
	}
	own := explained(psi.ExplainOptions{})
	scale := 1.0
	for _, v := range own.Prediction {
		scale = max(scale, math.Abs(v))
	}
	references := rows.Select([]int{1, 4, 5})
	sum := make([]float64, len(own.Mean))
	for i := range references.Rows() {
		one := references.Select([]int{i})
		o := psi.ExplainOptions{Game: psi.BaselineGame, Reference: one, Interactions: true}
		fast := explained(o)
		if fast.Game != psi.BaselineGame || !fast.Exact {
			t.Errorf("game %q, exact %t", fast.Game, fast.Exact)
		}
		o.Mode = explain.Exact
		exact := explained(o)
		near("an attribution", fast.Mean, exact.Mean, scale)
		near("an interaction", fast.Interactions, exact.Interactions, scale)
		near("a residual", fast.Residual, make([]float64, len(fast.Residual)), scale)
		near("a prediction", fast.Prediction, own.Prediction, scale)
		for k := range sum {
			sum[k] += fast.Mean[k] / float64(references.Rows())
		}
	}
	mean := explained(psi.ExplainOptions{Game: psi.InterventionalGame, Reference: references})
	near("a mean over references", mean.Mean, sum, scale)

	for _, wrong := range []psi.ExplainOptions{
		{Game: psi.BaselineGame},
		{Game: psi.BaselineGame, Reference: references},
		{Reference: references},
		{Game: "chess", Reference: references},
		{Game: psi.InterventionalGame, Reference: references.Select(nil)},
	} {
		if _, err := m.Explain(t.Context(), rows.Source(), wrong); !errors.As(err, new(*psi.Error)) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	var document bytes.Buffer
	w := explain.NewJSONWriter(&document)
	if err := errors.Join(w.Write(mean), w.Close()); err != nil || !strings.Contains(document.String(), `"game":"interventional"`) {
		t.Errorf("the document does not name the game: %v", err)
	}
}

func TestGamesOfTrees(t *testing.T) {
	for _, name := range []string{"number with labels", "three classes"} {
		f := treeFileOf(t, "xgboost", name)
		checkGames(t, f.imported(t, psi.ImportOptions{}), f.table(t).Select([]int{0, 1, 2, 3, 4, 5, 6}))
	}
}

func TestGamesOfNetworks(t *testing.T) {
	rows := gappy(t, 300)
	m := trained(t, rows, psi.Config{Target: "y", Change: few})
	checkGames(t, m, rows.Select([]int{0, 1, 2, 3, 4, 5, 6}))
}
