package proof

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
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

// The interactions of models of synth3 and synth5 are those of their own game, by enumeration, and near the true ones: a
// difference of four values is off by twice as much as a value, if these are off independently. Half of what synth5's
// pairs do is |sin(2 x_2 x_3)|, which 6,400 rows hardly show.
func TestInteractionsOfSynthetic(t *testing.T) {
	slow(t)
	for name, bar := range map[string]float64{"synth3": .08, "synth5": .45} {
		t.Run(name, func(t *testing.T) {
			p, s := synthetic(t, name)
			m := fit(t, p, "exact", nil)
			const rows = 400
			ask := func(o psi.ExplainOptions) *explain.Explanation {
				o.Interactions = true
				e, err := m.Explain(t.Context(), p.tested().Source(), o)
				check(t, err)
				return e
			}
			fast := ask(psi.ExplainOptions{To: rows})
			enumerated := ask(psi.ExplainOptions{To: rows, Mode: explain.Exact})
			own := relativeError(fast.Interactions, enumerated.Interactions)
			var got, want []float64
			for row := range rows {
				for k, pair := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
					got = append(got, fast.Interactions[(row*3+pair[0])*3+pair[1]])
					want = append(want, s.Pair[k][p.test[row]])
				}
			}
			truth := relativeError(got, want)
			off, excess := rmse(got, want), rmse(fast.Prediction, at(s.Expected, p.test[:rows]))
			t.Logf("%s: interactions against enumeration %.1e, against the truth %.3f (RMSE %.4f of RMS %.4f), correlation %.4f; the prediction is off by %.4f",
				name, own, truth, off, rmse(want, make([]float64, len(want))), correlation(got, want), excess)
			if !(off < 2*excess) {
				t.Errorf("interactions are off by %.4f, more than twice the %.4f of predictions", off, excess)
			}
			if !(own < 1e-5) {
				t.Errorf("interactions are %.1e from those by enumeration", own)
			}
			if !(truth < bar) {
				t.Errorf("interactions are %.3f from the true ones, more than %.2f", truth, bar)
			}
			// Main effects and pairs add up to the prediction.
			for row := range rows {
				sum := fast.Base[row]
				for _, x := range fast.Effects(row, 0) {
					sum += x.Value
				}
				if math.Abs(sum-fast.Prediction[row]) > 1e-4*spread(at(s.Expected, p.test)) {
					t.Fatalf("row %d: effects add up to %g, the prediction is %g", row, sum, fast.Prediction[row])
				}
			}
		})
	}
}

// The table of docs/adr/0027-importance-in-loss.md: columns that matter are found, a copy as well as its original, and of
// columns that do not matter at most one in 20 is. 200 labels of two classes say less: some columns of logit are missed.
func TestImportanceInLoss(t *testing.T) {
	slow(t)
	for _, c := range []struct {
		set, matter string
		mayMiss     int // of the columns that matter, over all seeds
	}{{"null", "x1 x2 x3", 0}, {"copy", "x1 x2 x3 x2_copy", 0}, {"logit", "x1 x2 x3", 7}} {
		t.Run(c.set, func(t *testing.T) {
			matter := strings.Fields(c.matter)
			missed, noise, wrong := 0, 0, 0
			for seed := uint64(1); seed <= 5; seed++ {
				s, err := synth.Generate(c.set, 2000, seed)
				check(t, err)
				rows, err := s.Table()
				check(t, err)
				m, err := psi.Train(t.Context(), rows.Source(), psi.Config{Target: "y", Seed: seed})
				check(t, err)
				for _, x := range m.StoredAudit().LossImportance {
					t.Logf("%s, seed %d: %-7s %8.4f ± %.4f, p %.2g, found %v", c.set, seed, x.Player, *x.Mean, *x.StandardError, *x.P, x.Found)
					matters := slices.Contains(matter, x.Player)
					if !matters {
						noise++
					}
					if matters && !x.Found {
						missed++
					}
					if !matters && x.Found {
						wrong++
					}
				}
				m.Close()
			}
			t.Logf("%s: %d of %d columns that matter are missed, %d of %d others are found", c.set, missed, 5*len(matter), wrong, noise)
			if missed > c.mayMiss || 20*wrong > noise {
				t.Errorf("%s: %d columns that matter are missed, %d of %d others are found", c.set, missed, wrong, noise)
			}
		})
	}
}
