package psi_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// wide are rows of seven columns that act together, with gaps in two of them.
func wide(t testing.TB, n int) *table.Table {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 0))
	x := make([][]float64, 7)
	y := make([]float64, n)
	there := make([][]bool, 7)
	for i := range n {
		for d := range x {
			x[d] = append(x[d], rng.NormFloat64())
			there[d] = append(there[d], d > 1 || rng.IntN(10) > 0)
		}
		y[i] = x[0][i]*x[1][i] + x[2][i]*math.Abs(x[3][i]) + math.Sin(2*x[4][i])*x[5][i] + x[6][i] + x[0][i]*x[2][i]*x[6][i]
	}
	var columns []*table.Column
	for d := range x {
		columns = append(columns, table.NumberColumn(fmt.Sprintf("x%d", d), x[d], there[d]))
	}
	rows, err := table.New(append(columns, table.NumberColumn("y", y, nil))...)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func learned(t testing.TB, rows *table.Table) *psi.Model {
	t.Helper()
	return trained(t, rows, psi.Config{Head: "learned", Change: func(s *psi.Settings) {
		few(s)
		s.Steps = 100
	}})
}

// Refined attributions and interactions are near the exact ones, as near as they say, and add up.
func TestRefinedIsAsNearAsItSays(t *testing.T) {
	if testing.Short() {
		t.Skip("what was learned does not hang on goroutines")
	}
	rows := wide(t, 300)
	m := learned(t, rows)
	if m.StoredAudit().Prior == nil {
		t.Fatal("the audit of the training tells nothing for mode refined")
	}
	fast := explained(t, m, rows, psi.ExplainOptions{To: 60})
	exact := explained(t, m, rows, psi.ExplainOptions{Mode: explain.Exact, Interactions: true, To: 60})
	got := explained(t, m, rows, psi.ExplainOptions{Mode: explain.Refined, Interactions: true, To: 60})
	if got.Mode != explain.Refined || got.Exact || got.ModelStd != nil {
		t.Errorf("mode %s, exact %v", got.Mode, got.Exact)
	}
	var before, after, size, within, count float64
	for i, want := range exact.Mean {
		before, after = before+math.Pow(fast.Mean[i]-want, 2), after+math.Pow(got.Mean[i]-want, 2)
		size += want * want
		if want == 0 {
			continue
		}
		if count++; math.Abs(got.Mean[i]-want) <= 1.645*got.StandardError[i] {
			within++
		}
	}
	t.Logf("relative error %.3f, by mode fast %.3f; %.3f within 1.645 standard errors", math.Sqrt(after/size), math.Sqrt(before/size), within/count)
	if after > before/9 || within/count < 0.8 {
		t.Errorf("relative error %g, by mode fast %g; %g within 1.645 standard errors", math.Sqrt(after/size), math.Sqrt(before/size), within/count)
	}
	within, count = 0, 0
	for i, want := range exact.Interactions {
		if want == 0 {
			continue
		}
		if count++; math.Abs(got.Interactions[i]-want) <= 1.645*got.InteractionError[i] {
			within++
		}
	}
	if t.Logf("interactions: %.3f within 1.645 standard errors", within/count); within/count < 0.8 {
		t.Errorf("%g of the interactions within 1.645 standard errors", within/count)
	}
	for i, rest := range got.Residual {
		if math.Abs(rest) > 1e-4 {
			t.Fatalf("row %d: %g is not attributed", i, rest)
		}
		if got.Evaluations[i] > 28 || got.Evaluations[i] < 15 {
			t.Fatalf("row %d: %d evaluations", i, got.Evaluations[i])
		}
	}
}

// A row's numbers are its own, and those of the model's file.
func TestRefinedRowsStandAlone(t *testing.T) {
	rows := wide(t, 300)
	m := learned(t, rows)
	path, _ := saved(t, m)
	again, err := psi.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	all := explained(t, m, rows, psi.ExplainOptions{Mode: explain.Refined, Tolerance: 0.05})
	some := explained(t, again, rows, psi.ExplainOptions{Mode: explain.Refined, Tolerance: 0.05, From: 150, To: 153})
	d := len(all.Players)
	if !slices.Equal(some.Mean, all.Mean[150*d:153*d]) || !slices.Equal(some.StandardError, all.StandardError[150*d:153*d]) {
		t.Errorf("alone %v, among others %v", some.Mean, all.Mean[150*d:153*d])
	}
	if slices.Max(all.StandardError) > 0.05 {
		t.Errorf("a standard error of %g, above the tolerance", slices.Max(all.StandardError))
	}
	if slices.Min(all.Evaluations) == slices.Max(all.Evaluations) {
		t.Error("all rows took as many evaluations: none was done before the others")
	}
	rough := explained(t, m, rows, psi.ExplainOptions{Mode: explain.Refined, Tolerance: 0.3})
	if slices.Max(rough.Evaluations) >= slices.Max(all.Evaluations) {
		t.Errorf("%d evaluations for six times the tolerance of %d", slices.Max(rough.Evaluations), slices.Max(all.Evaluations))
	}
}

// The exact head has nothing to refine, and the answer says that it is exact.
func TestRefinedOfTheExactHeadIsExact(t *testing.T) {
	rows := wide(t, 200)
	m := trained(t, rows, psi.Config{})
	if m.StoredAudit().Prior != nil {
		t.Error("the audit of an exact head has what mode refined starts from")
	}
	e := explained(t, m, rows, psi.ExplainOptions{Mode: explain.Refined, Budget: 20})
	if !e.Exact || e.Mode != explain.Fast || e.StandardError != nil || e.Evaluations != nil {
		t.Errorf("mode %s, exact %v", e.Mode, e.Exact)
	}
}

func TestRefinedRefuses(t *testing.T) {
	rows := wide(t, 200)
	m := learned(t, rows)
	for want, o := range map[string]psi.ExplainOptions{
		"tolerance": {Tolerance: -1},
		"budget":    {Budget: -1},
		"players":   {Groups: []psi.Group{{Name: "a", Columns: []string{"x1", "x2"}}}},
	} {
		o.Mode = explain.Refined
		if _, err := m.Explain(t.Context(), rows.Source(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	m.StoredAudit().Prior = nil
	if _, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{Mode: explain.Refined}); err == nil || !strings.Contains(err.Error(), "train it again") {
		t.Errorf("without what it starts from: got %v", err)
	}
}
