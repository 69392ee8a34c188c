package psi

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/table"
)

// lossesByHand are the losses of rows by what the model publishes, without the given columns.
func lossesByHand(t *testing.T, m *Model, rows *table.Table, unknown ...string) []float64 {
	t.Helper()
	read, err := m.Read(rows, unknown...)
	if err != nil {
		t.Fatal(err)
	}
	answers, err := m.Pass(t.Context(), Spread, read)
	if err != nil {
		t.Fatal(err)
	}
	p, target := answers[0].Prediction(), rows.Column(m.manifest.Target)
	losses := make([]float64, rows.Rows())
	for i := range losses {
		switch at := slices.Index(p.Classes, target.Text(i)); len(p.Classes) {
		case 0:
			losses[i] = math.Pow(p.Mean[i]-target.Numbers[i], 2)
		case 2:
			losses[i] = -math.Log(math.Abs(float64(1-at) - p.Probability[i]))
		default:
			losses[i] = -math.Log(p.Probability[3*i+at])
		}
	}
	return losses
}

// withGaps hides cells of a column of numbers.
func withGaps(rows *table.Table, column string, every int) {
	for i := range rows.Rows() {
		if i%every == 0 {
			rows.Column(column).Observed[i] = false
		}
	}
}

// Between nothing and the row, a column enters first or second. Its δ is what the loss falls by there, and all of them add up to
// what the whole row is worth.
func TestLossDrops(t *testing.T) {
	const tolerance = 1e-5
	for _, c := range []struct {
		target, other string
		classes       int
	}{{"number", "label", 0}, {"label", "number", 2}, {"label", "number", 3}} {
		rows := small(t, 200)
		if c.classes == 2 {
			rows = ofClasses(t, rows, 2)
		}
		withGaps(rows, "b", 5)
		m := trainSmall(t, rows, c.target, c.other, 2)
		read, err := m.Read(rows)
		if err != nil {
			t.Fatal(err)
		}
		y, err := m.truth(rows)
		if err != nil {
			t.Fatal(err)
		}
		drops, err := m.lossDrops(t.Context(), read.batch, y)
		if err != nil {
			t.Fatal(err)
		}
		nothing, onlyA, onlyB, whole := lossesByHand(t, m, rows, "a", "b"), lossesByHand(t, m, rows, "b"), lossesByHand(t, m, rows, "a"), lossesByHand(t, m, rows)
		first := 0
		for i := range rows.Rows() {
			a, b := drops[2*i], drops[2*i+1]
			near := func(got, want float64) bool {
				return math.Abs(got-want) <= tolerance*max(1, nothing[i]+onlyA[i]+onlyB[i])
			}
			if !rows.Column("b").Observed[i] {
				if !math.IsNaN(b) || !near(a, nothing[i]-whole[i]) {
					t.Fatalf("%s, row %d without b: δ %g and %g, want %g and none", c.target, i, a, b, nothing[i]-whole[i])
				}
				continue
			}
			if !near(a+b, nothing[i]-whole[i]) {
				t.Fatalf("%s, row %d: δ add up to %g, want %g", c.target, i, a+b, nothing[i]-whole[i])
			}
			before, after := near(a, nothing[i]-onlyA[i]), near(a, onlyB[i]-whole[i])
			if !before && !after {
				t.Fatalf("%s, row %d: δ of a is %g, want %g or %g", c.target, i, a, nothing[i]-onlyA[i], onlyB[i]-whole[i])
			}
			if before {
				first++
			}
		}
		if first < 50 || first > 110 {
			t.Errorf("%s: a enters first in %d of 160 rows", c.target, first)
		}
	}
}

// A group comes as a whole, with the cells that the row has.
func TestLossDropsOfAGroup(t *testing.T) {
	rows := small(t, 200)
	withGaps(rows, "b", 2)
	m, err := Train(t.Context(), rows.Source(), Config{
		Target: "number", Drop: []string{"label"}, Groups: []Group{{Name: "both", Columns: []string{"a", "b"}}}, Backend: "go", Change: tiny,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	a, err := m.Audit(t.Context(), rows.Source(), 3)
	if err != nil {
		t.Fatal(err)
	}
	nothing, whole := lossesByHand(t, m, rows, "a", "b"), lossesByHand(t, m, rows)
	want := 0.0
	for i, loss := range nothing {
		want += (loss - whole[i]) / float64(len(nothing))
	}
	if got := a.LossImportance; len(got) != 1 || got[0].Player != "both" || got[0].Rows != 200 || math.Abs(*got[0].Mean-want) > 1e-5*want {
		t.Errorf("%+v, mean %g; want %g", got, *got[0].Mean, want)
	}
}

// tiny are settings that train in a moment.
func tiny(s *Settings) {
	s.Bags, s.Channels, s.Embedding, s.Bins, s.Frequencies, s.Rate = 0, 8, 8, 8, 0, 1e-2
	s.Batch, s.Steps, s.RefitSteps, s.SpreadSteps, s.Members = 32, 60, 10, 15, 1
}

// With one column every order is the same. Each validation row is there twice, so that the standard error by units is that
// of the different rows.
func TestLossImportanceByUnits(t *testing.T) {
	const seed, n, different = 5, 200, 40
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func(n, times int) *table.Table {
		x, y, unit := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			if unit[i] = float64(i / times); i%times > 0 {
				x[i], y[i] = x[i-1], y[i-1]
				continue
			}
			x[i] = rng.NormFloat64()
			y[i] = 3*x[i] + rng.NormFloat64()
		}
		rows, err := table.New(table.NumberColumn("x", x, nil), table.NumberColumn("y", y, nil), table.NumberColumn("unit", unit, nil))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows, held := draw(n, 1), draw(2*different, 2)
	for i := range 20 {
		held.Column("x").Observed[i] = false
	}
	m, err := Train(t.Context(), rows.Source(), Config{
		Target: "y", Backend: "go", Validation: held.Source(), ValidationBy: "unit",
		Change: tiny,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	nothing, whole := lossesByHand(t, m, held, "x"), lossesByHand(t, m, held)
	mean, squares := 0.0, 0.0
	const known = different - 10
	for i := 20; i < 2*different; i += 2 {
		mean += (nothing[i] - whole[i]) / known
	}
	for i := 20; i < 2*different; i += 2 {
		squares += math.Pow(nothing[i]-whole[i]-mean, 2)
	}
	want := math.Sqrt(squares / (known - 1) / known)
	got := m.StoredAudit().LossImportance
	if len(got) != 1 || got[0].Player != "x" || got[0].Rows != 2*known || !got[0].Found {
		t.Fatalf("%+v", got)
	}
	if x := got[0]; math.Abs(*x.Mean-mean) > 1e-4*mean || math.Abs(*x.StandardError-want) > 1e-4*want {
		t.Errorf("%g ± %g, want %g ± %g", *x.Mean, *x.StandardError, mean, want)
	}
}

// What no row has is not measured, and rows without a target have no loss.
func TestLossImportanceOfNothing(t *testing.T) {
	rows := small(t, 60)
	m := trainSmall(t, rows, "number", "label", 1)
	withGaps(rows, "b", 1)
	a, err := m.Audit(t.Context(), rows.Source(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if b := a.LossImportance[1]; b.Player != "b" || b.Mean != nil || b.StandardError != nil || b.P != nil || b.Found || b.Rows != 0 {
		t.Errorf("of a column that no row has: %+v", b)
	}
	if of := a.LossImportance[0]; of.Mean == nil || of.Rows != 60 {
		t.Errorf("of the other: %+v", of)
	}
	withGaps(rows, "number", 1)
	if a, err = m.Audit(t.Context(), rows.Source(), 3); err != nil || a.LossImportance != nil {
		t.Errorf("without a target: %v, %+v", err, a.LossImportance)
	}
}

func TestLossImportanceText(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	a := &Audit{Method: "exact", LossImportance: []LossImportance{
		{Player: "no\x1bise", Mean: number(-.25), StandardError: number(.5), P: number(.69), Rows: 90},
		{Player: "x", Mean: number(12.5), StandardError: number(.75), P: number(1e-9), Found: true, Rows: 100},
		{Player: "absent"},
	}}
	var text strings.Builder
	if err := a.Text(&text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for i, want := range []string{"x 12.5 ± 0.75 p 1e-09 found", "no?ise -0.25 ± 0.5 p 0.69", "absent not measured"} {
		if got := strings.Join(strings.Fields(lines[len(lines)-3+i]), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

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
