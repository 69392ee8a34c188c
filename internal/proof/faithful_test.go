package proof

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/synth"
	"github.com/psi-shapley/psi/table"
)

// numeric are the sets whose target is a number.
var numeric = []string{"synth1", "synth3", "med", "california", "bike", "pksn", "casp", "gas"}

// rowsOf is a set's table and target.
func rowsOf(t *testing.T, set string) (*table.Table, string) {
	t.Helper()
	if s, err := synth.Generate(set, 8000, 1); err == nil {
		tab, err := s.Table()
		check(t, err)
		return tab, "y"
	}
	s, err := benchset.Load(set)
	if err != nil {
		t.Skip(err)
	}
	return s.Table, s.Target
}

// trainedOn trains a model in a time and saves it.
func trainedOn(t *testing.T, rows *table.Table, target, head string, budget time.Duration) string {
	t.Helper()
	m, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: target, Head: head, TimeBudget: budget})
	check(t, err)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "m.psi")
	check(t, m.Save(path))
	return path
}

// Attributions add up to the prediction: on every row of every set, on every backend.
func TestResidualsOfEveryRow(t *testing.T) {
	slow(t)
	for _, set := range numeric {
		t.Run(set, func(t *testing.T) {
			rows, target := rowsOf(t, set)
			std := spread(rows.Column(target).Numbers)
			path := trainedOn(t, rows, target, "exact", 20*time.Second)
			for _, backend := range engine.Names() {
				m, err := psi.OpenOptions{Backend: psi.Backend(backend)}.Open(path)
				if err != nil {
					t.Logf("without %s: %v", backend, err)
					continue
				}
				worst, n := 0.0, 0
				for e, err := range m.Explanations(t.Context(), rows.Source(), psi.ExplainOptions{}) {
					check(t, err)
					for _, r := range e.Residual {
						worst = max(worst, math.Abs(r)/std)
						n++
					}
				}
				m.Close()
				t.Logf("%s: largest residual of %d rows: %.1e of the target's standard deviation", backend, n, worst)
				if !(worst <= 1e-4) {
					t.Errorf("%s: residual %.1e is over 1e-4", backend, worst)
				}
			}
		})
	}
}

func spread(x []float64) float64 { return rmse(x, slices.Repeat([]float64{mean(x)}, len(x))) }

// On a model of 12 columns the fast mode and the enumeration of all coalitions agree.
func TestFastIsExactOnTwelveColumns(t *testing.T) {
	slow(t)
	rows, target := rowsOf(t, "bike")
	m, err := psi.Open(trainedOn(t, rows, target, "exact", time.Minute))
	check(t, err)
	defer m.Close()
	fast, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{To: 100})
	check(t, err)
	exact, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{To: 100, Mode: explain.Exact})
	check(t, err)
	relative := relativeError(fast.Mean, exact.Mean)
	t.Logf("%d columns, %d rows: relative RMSE %.1e", len(fast.Players), fast.Rows, relative)
	if relative > 1e-4 {
		t.Errorf("fast and exact differ by %.1e", relative)
	}
}

// Rows with 30 % of their cells blanked are predicted without imputation, and their
// attributions are those of the game among the cells that are left.
func TestBlankedRows(t *testing.T) {
	slow(t)
	for _, set := range []string{"california", "bike"} {
		for _, head := range []string{"exact", "learned"} {
			t.Run(set+"/"+head, func(t *testing.T) {
				rows, target := rowsOf(t, set)
				m, err := psi.Open(trainedOn(t, rows, target, head, 2*time.Minute))
				check(t, err)
				defer m.Close()
				const seed = 4
				t.Logf("seed %d", seed)
				blanked := blankCells(rows, target, 0.3, seed)
				whole, err := m.Audit(t.Context(), rows.Source(), 60)
				check(t, err)
				gaps, err := m.Audit(t.Context(), blanked.Source(), 60)
				check(t, err)
				wantAbsentSilent(t, m, blanked)
				before, after := *whole.RelativeRMSE, *gaps.RelativeRMSE
				t.Logf("relative error of whole rows %.2e, of blanked ones %.2e", before, after)
				if bar := map[string]float64{"exact": 1e-4, "learned": 1.5 * before}[head]; after > bar {
					t.Errorf("relative error of blanked rows %.2e is over %.2e", after, bar)
				}
			})
		}
	}
}

// blankCells hides each cell but the target's with a probability.
func blankCells(rows *table.Table, target string, share float64, seed uint64) *table.Table {
	rng := rand.New(rand.NewPCG(seed, 0))
	all := make([]int, rows.Rows())
	for i := range all {
		all[i] = i
	}
	blanked := rows.Select(all)
	for _, c := range blanked.Columns {
		for i := range c.Observed {
			if c.Name == target || rng.Float64() >= share {
				continue
			}
			c.Observed[i] = false
			if c.Kind == table.Category {
				c.Codes[i] = -1
			} else {
				c.Numbers[i] = 0
			}
		}
	}
	return blanked
}

// wantAbsentSilent sees that absent players have no attribution and predictions are
// numbers.
func wantAbsentSilent(t *testing.T, m *psi.Model, rows *table.Table) {
	t.Helper()
	e, err := m.Explain(t.Context(), rows.Source(), psi.ExplainOptions{To: 2000})
	check(t, err)
	absent := 0
	for i, seen := range e.Observed {
		if !seen {
			if absent++; e.Mean[i] != 0 || e.Std[i] != 0 {
				t.Fatalf("an absent player has %g ± %g", e.Mean[i], e.Std[i])
			}
		}
	}
	for i, p := range e.Prediction {
		if math.IsNaN(p) || !(e.PredictionStd[i] > 0) {
			t.Fatalf("row %d is predicted as %g ± %g", i, p, e.PredictionStd[i])
		}
	}
	t.Logf("%d of %d cells are absent", absent, len(e.Observed))
}
