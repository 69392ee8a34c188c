package psi_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/table"
)

// furnished is rows with a column of each kind, and numbers most of which are 0, of few values, and with a mean far above the median.
func furnished(t testing.TB, n int) *table.Table {
	t.Helper()
	rows := gappy(t, n)
	gains, few, squares := make([]float64, n), make([]float64, n), make([]float64, n)
	days, truths, sizes := make([]time.Time, n), make([]bool, n), make([]string, n)
	for i := range n {
		if i%5 == 0 {
			gains[i] = float64(1000 + i)
		}
		few[i] = []float64{1, 2, 8}[i%3]
		squares[i] = float64(i * i)
		days[i] = time.Unix(int64(86400*i), 0)
		truths[i] = i%4 != 0
		sizes[i] = []string{"large", "small", "small", "odd"}[i%4]
	}
	all, err := table.New(append([]*table.Column{
		table.NumberColumn("gain", gains, nil), table.NumberColumn("few", few, nil), table.NumberColumn("square", squares, nil),
		table.TimeColumn("day", days, nil), table.BooleanColumn("truth", truths, nil), table.CategoryColumn("size", sizes, nil),
	}, rows.Columns...)...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func inputNamed(t *testing.T, m *psi.Model, name string) psi.Input {
	t.Helper()
	all := m.Inputs()
	k := slices.IndexFunc(all, func(in psi.Input) bool { return in.Name == name })
	if k < 0 {
		t.Fatalf("no input %s", name)
	}
	return all[k]
}

func TestInputs(t *testing.T) {
	const n = 300
	rows := furnished(t, n)
	m := trained(t, rows, psi.Config{Groups: []psi.Group{{Name: "both", Columns: []string{"x1", "day"}}}})
	for i, in := range m.Inputs() {
		if in.Name != m.Columns()[i] {
			t.Errorf("input %d is %s, but the column %s", i, in.Name, m.Columns()[i])
		}
	}
	if day, x1 := inputNamed(t, m, "day"), inputNamed(t, m, "x1"); day.Player != x1.Player || m.Players()[day.Player] != "both" {
		t.Errorf("day is of player %d, x1 of %d of %v", day.Player, x1.Player, m.Players())
	}
	if truth := inputNamed(t, m, "truth"); truth.Kind != table.Boolean || truth.Low != 0 || truth.High != 1 || truth.Typical != 1 || !truth.Whole {
		t.Errorf("three quarters are true: %+v", truth)
	}
	if size := inputNamed(t, m, "size"); !slices.Equal(size.Labels, []string{"large", "odd", "small"}) || size.TypicalLabel != "large" || !math.IsNaN(size.Low) {
		t.Errorf("without rows the first label is typical: %+v", size)
	}
	if x := inputNamed(t, m, "x1"); x.Whole || !(x.Low <= x.Typical && x.Typical <= x.High) {
		t.Errorf("%+v", x)
	}
	if gain := inputNamed(t, m, "gain"); gain.Low != 0 || gain.High < 1200 || gain.Typical != 0 {
		t.Errorf("most gains are 0: %+v", gain)
	}
	if !inputNamed(t, m, "gain").Whole || !inputNamed(t, m, "few").Whole {
		t.Error("gains are whole numbers")
	}
	if few := inputNamed(t, m, "few"); few.Typical != 2 {
		t.Errorf("2 of 1, 2 and 8 is nearest to their mean: %+v", few)
	}
	if square := inputNamed(t, m, "square"); math.Abs(square.Typical-150*150) > 2500 {
		t.Errorf("the median of the squares is 150²: %+v", square)
	}
	if base := m.Base(); len(base) != 1 || base[0] != explained(t, m, rows, psi.ExplainOptions{To: 1}).Base[0] {
		t.Errorf("base %v", base)
	}
}

// A model that keeps rows knows their medians and commonest labels, also after it was saved.
func TestInputsOfKeptRows(t *testing.T) {
	rows := furnished(t, 300)
	m := trained(t, rows, psi.Config{ReferenceRows: 200})
	path := filepath.Join(t.TempDir(), "model.psi")
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	opened, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for _, m := range []*psi.Model{m, opened} {
		if size := inputNamed(t, m, "size"); size.TypicalLabel != "small" {
			t.Errorf("half of the rows are small: %q", size.TypicalLabel)
		}
		if square := inputNamed(t, m, "square"); math.Abs(square.Typical-150*150) > 2500 {
			t.Errorf("the median of the squares is 150², not %g", square.Typical)
		}
		if gain := inputNamed(t, m, "gain"); gain.Typical != 0 {
			t.Errorf("most gains are 0, not %g", gain.Typical)
		}
		if day := inputNamed(t, m, "day"); day.Typical < 100*86400 || day.Typical > 200*86400 {
			t.Errorf("the middle of 300 days is %g", day.Typical/86400)
		}
	}
}
