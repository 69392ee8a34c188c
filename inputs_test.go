package psi_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
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

// body is a group of a number and a category that are no neighbours in the table.
func body() []psi.Group { return []psi.Group{{Name: "body", Columns: []string{"size", "town"}}} }

// checkGroups sees that an explanation is one of grouped players.
func checkGroups(t *testing.T, e *explain.Explanation) {
	t.Helper()
	addUp(t, e)
	if !slices.Equal(e.Players, []string{"visit", "body", "age"}) || e.Values[1] != nil || e.Values[0] == nil || e.Values[2] == nil {
		t.Fatalf("players %v with values %v", e.Players, e.Values)
	}
	for i := range e.Rows { // size has no gaps
		if !e.Observed[i*3+1] {
			t.Errorf("row %d: the group is absent", i)
		}
	}
}

// apart is the root-mean-square distance of two lists beside that of the second.
func apart(got, want []float64) float64 {
	gap, size := 0.0, 0.0
	for i, v := range want {
		gap += (got[i] - v) * (got[i] - v)
		size += v * v
	}
	return math.Sqrt(gap / size)
}

func TestGroupsDeclaredBeforeOrAfterTraining(t *testing.T) {
	rows := people(t, newRand(t, 4), 300, 3)
	before := trained(t, rows, psi.Config{Groups: body(), Change: quick})
	after := trained(t, rows, psi.Config{Change: quick})
	for name, m := range map[string]*psi.Model{"before": before, "after": after} {
		fast := explained(t, m, rows, psi.ExplainOptions{Groups: body(), Interactions: true, To: 20})
		checkGroups(t, fast)
		exact := explained(t, m, rows, psi.ExplainOptions{Groups: body(), Interactions: true, To: 20, Mode: explain.Exact})
		checkGroups(t, exact)
		if a, i := apart(fast.Mean, exact.Mean), apart(fast.Interactions, exact.Interactions); !(a < 1e-5 && i < 1e-5) {
			t.Errorf("declared %s training: attributions differ from those of all coalitions by %.1e, interactions by %.1e", name, a, i)
		}
	}

	own := explained(t, before, rows, psi.ExplainOptions{To: 20})
	again := explained(t, reopened(t, before), rows, psi.ExplainOptions{To: 20})
	checkGroups(t, own)
	if !slices.Equal(own.Mean, again.Mean) {
		t.Error("groups are not the same after saving")
	}
	audit, err := before.Audit(t.Context(), rows.Source(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(audit.Players) != 3 || audit.Players[1].Name != "body" || !(*audit.RelativeRMSE < 1e-4) || !(*audit.SubgameRelativeRMSE < 1e-4) {
		t.Errorf("audit of groups: %+v", audit)
	}

	// The value of a group is not the sum of its members' values, but its variance is.
	alone := explained(t, after, rows, psi.ExplainOptions{To: 20})
	together := explained(t, after, rows, psi.ExplainOptions{Groups: body(), To: 20})
	var sums, values []float64
	for line := range together.Prediction {
		near(t, "prediction", together.Prediction[line], alone.Prediction[line])
		near(t, "its deviation", together.PredictionStd[line], alone.PredictionStd[line])
		near(t, "deviation of a group", together.Std[line*3+1], math.Hypot(alone.Std[line*4+1], alone.Std[line*4+3]))
		sums = append(sums, alone.Mean[line*4+1]+alone.Mean[line*4+3])
		values = append(values, together.Mean[line*3+1])
	}
	if r := apart(sums, values); !(r > 1e-3) {
		t.Errorf("the value of a group is the sum of its members' to %.1e", r)
	}
	if got := explained(t, after, rows, psi.ExplainOptions{To: 20}); !slices.Equal(got.Mean, alone.Mean) {
		t.Error("explaining groups changed what the model says of columns")
	}
}

// A group is there if any of its columns is, and absent with all of them.
func TestAbsentGroups(t *testing.T) {
	rows := people(t, newRand(t, 5), 100, 2)
	m := trained(t, rows, psi.Config{Groups: body(), Change: moment})
	for _, c := range []struct {
		unknown []string
		there   bool
	}{{[]string{"town"}, true}, {[]string{"town", "size"}, false}} {
		e := explained(t, m, rows, psi.ExplainOptions{Unknown: c.unknown, To: 10})
		for i := range e.Rows {
			a := e.Attribution(i, 0, 1)
			if a.Observed != c.there || (a.Mean != 0) != c.there || (a.Std != 0) != c.there {
				t.Errorf("without %v: %+v", c.unknown, a)
			}
		}
	}
}

func TestLearnedHeadKnowsItsOwnGroupsOnly(t *testing.T) {
	rows := people(t, newRand(t, 6), 100, 2)
	m := trained(t, rows, psi.Config{Head: "learned", Groups: body(), Change: moment})
	own := explained(t, m, rows, psi.ExplainOptions{To: 5})
	checkGroups(t, own)
	if named := explained(t, m, rows, psi.ExplainOptions{Groups: body(), To: 5}); !slices.Equal(named.Mean, own.Mean) {
		t.Error("the model's own groups give other numbers by name")
	}
	other := []psi.Group{{Name: "who", Columns: []string{"age", "town"}}}
	if _, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Groups: other}); err == nil || !strings.Contains(err.Error(), "ExplainOptions.Mode=exact") {
		t.Errorf("other groups in mode fast: %v", err)
	}
	e := explained(t, m, rows, psi.ExplainOptions{Groups: other, Mode: explain.Exact, To: 5})
	addUp(t, e)
	if !slices.Equal(e.Players, []string{"visit", "who", "size"}) || !e.Exact {
		t.Errorf("players %v, exact %v", e.Players, e.Exact)
	}
}

func TestGroupsThatMakeNoSense(t *testing.T) {
	rows := people(t, newRand(t, 7), 60, 2)
	m := trained(t, rows, psi.Config{Change: moment})
	for name, groups := range map[string][]psi.Group{
		"a column in two":       {{"a", []string{"age"}}, {"b", []string{"age", "size"}}},
		"a column twice":        {{"a", []string{"age", "age"}}},
		"no such column":        {{"a", []string{"aeg"}}},
		"the target":            {{"a", []string{"age", "y"}}},
		"no column":             {{"a", nil}},
		"no name":               {{"", []string{"age"}}},
		"the name of a column":  {{"age", []string{"size", "town"}}},
		"two of the same name":  {{"a", []string{"age"}}, {"a", []string{"size"}}},
		"a column that is none": {{"a", []string{"age", ""}}},
	} {
		if _, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Groups: groups}); err == nil {
			t.Errorf("%s: explained", name)
		}
		if _, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Backend: "go", Groups: groups, Change: moment}); err == nil {
			t.Errorf("%s: trained", name)
		}
	}
}
