package proof

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/table"
)

// The table of docs/adr/0025-calibration.md: how well the probabilities of held out rows are calibrated if only a share of
// their cells is known. A row of which nothing is known has the base rate.
func TestCalibrationByShareOfCells(t *testing.T) {
	slow(t)
	for _, set := range []string{"fico", "spam", "wdbc", "german", "adult"} {
		t.Run(set, func(t *testing.T) {
			p, err := realTable(set)
			if errors.Is(err, benchset.ErrAbsent) {
				t.Skip(err)
			}
			check(t, err)
			m := fit(t, p, "exact", nil)
			rate := positives(m, p.table.Select(p.training))
			nothing := predictions(t, m, blankCells(p.table.Select(p.test[:1]), p.target, 1, 0))[0]
			t.Logf("%s: calibration %+v, base rate %.6f, of nothing known %.6f", set, m.Manifest().Calibration, rate, nothing)
			for _, kept := range []float64{0.25, 0.5, 0.75, 1} {
				ece, chance, loss := calibrationAt(t, m, kept)
				t.Logf("%s: %3.0f %% of the cells: ece %.4f, by chance %.4f, log loss %.4f", set, 100*kept, ece, chance, loss)
			}
			if math.Abs(nothing-rate) > 1e-6 {
				t.Errorf("a row of which nothing is known has probability %v, the base rate is %v", nothing, rate)
			}
		})
	}
}

// calibrationAt is the calibration error and the log loss of held out rows that keep a share of their cells, five times at
// random, and the mean calibration error of labels that are drawn by the predicted probabilities: what chance alone gives.
func calibrationAt(t *testing.T, m *model, kept float64) (ece, chance, loss float64) {
	t.Helper()
	const masks, draws = 5, 40
	rows := m.tested()
	label := positive(m, rows)
	var truth eval.Binary
	drawn := make([]eval.Binary, draws)
	for seed := range uint64(masks) {
		for i, p := range predictions(t, m, blankCells(rows, m.target, 1-kept, seed)) {
			truth.Add(label(i), p, 1)
			for k := range drawn {
				u := rand.New(rand.NewPCG(uint64(k), uint64(i))).Float64() // a row has the same luck whatever it keeps
				drawn[k].Add(u < p, p, 1)
			}
		}
	}
	for k := range drawn {
		chance += drawn[k].ECE() / draws
	}
	return truth.ECE(), chance, truth.LogLoss()
}

func predictions(t *testing.T, m *model, rows *table.Table) []float64 {
	t.Helper()
	var all []float64
	for p, err := range m.Predictions(t.Context(), rows.Source()) {
		check(t, err)
		all = append(all, p.Probability...)
	}
	return all
}

// positive says of each row whether it is of the positive class.
func positive(m *model, rows *table.Table) func(row int) bool {
	manifest := m.Manifest()
	class, column := manifest.Classes()[1], rows.Column(m.target)
	return func(row int) bool { return column.Text(row) == class }
}

// positives is the share of the positive class.
func positives(m *model, rows *table.Table) float64 {
	label, n := positive(m, rows), 0.0
	for i := range rows.Rows() {
		if label(i) {
			n++
		}
	}
	return n / float64(rows.Rows())
}
