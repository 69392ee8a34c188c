package psi

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// Each row twice, with its unit, has the standard errors of each row once.
func TestAuditByUnits(t *testing.T) {
	const seed, n = 6, 120
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func(times int) (twice, once *table.Table) {
		x, y, unit, first := make([]float64, n), make([]float64, n), make([]string, n), []int(nil)
		for i := range n {
			unit[i] = string(rune('A' + i/times))
			if i%times > 0 {
				x[i], y[i] = x[i-1], y[i-1]
				continue
			}
			first = append(first, i)
			x[i] = rng.NormFloat64()
			y[i] = 3*x[i] + rng.NormFloat64()
		}
		all, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil), table.CategoryColumn("unit", unit, nil))
		if err != nil {
			t.Fatal(err)
		}
		alone := all.Select(first)
		alone.Columns = alone.Columns[:2]
		return all, alone
	}
	rows, _ := draw(1)
	m, err := Train(t.Context(), rows.Source(), Config{Target: "y", ValidationBy: "unit", Change: tiny})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if by := m.Manifest().Provenance.ValidationBy(); by != "unit" {
		t.Errorf("validation rows are said to be chosen by %q", by)
	}
	if by := (Provenance{Validation: "a fraction of 0.1"}).ValidationBy(); by != "" {
		t.Errorf("validation rows are said to be chosen by %q", by)
	}
	twice, once := draw(2)
	var got [2]LossImportance
	for i, rows := range []*table.Table{twice, once} {
		a, err := m.Audit(t.Context(), rows.Source(), 5)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = a.LossImportance[0]
	}
	if got[0].Rows != n || got[0].Units != n/2 || got[1].Rows != n/2 || got[1].Units != 0 {
		t.Errorf("%+v", got)
	}
	for what, numbers := range map[string][2]*float64{"mean": {got[0].Mean, got[1].Mean}, "standard error": {got[0].StandardError, got[1].StandardError}, "p": {got[0].P, got[1].P}} {
		if a, b := *numbers[0], *numbers[1]; math.Abs(a-b) > 1e-6*math.Abs(b) {
			t.Errorf("%s %g, want %g", what, a, b)
		}
	}
}
