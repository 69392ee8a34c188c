package proof

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/eval"
	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/internal/synth"
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

// The tables of docs/adr/0028-gaps.md. On the set gaps the variance of y given the cells that a row has is .09 + the number of missing
// cells. What the model says of it is held to the error that it makes on 5,000 fresh rows of each number, over five draws.
func TestRangesOfRowsWithGaps(t *testing.T) {
	slow(t)
	const draws, rows, fresh, most = 5, 8000, 5000, 5
	asked := withGaps(t, fresh, most)
	var ratio, held [most + 1]float64
	for seed := range uint64(draws) {
		s, err := synth.Generate("gaps", rows, seed+1)
		check(t, err)
		learned, err := s.Table()
		check(t, err)
		m, err := psi.Train(t.Context(), learned.Source(), psi.Config{Target: "y", Change: withoutBags})
		check(t, err)
		for k, rows := range asked {
			p, err := m.Predict(t.Context(), rows.Source())
			check(t, err)
			y := rows.Column("y").Numbers
			said, made, covers := rmse(p.Std, make([]float64, len(p.Std))), rmse(y, p.Mean), coverage(y, p.Mean, p.RangeStd, z90)
			t.Logf("draw %d, %d missing: floor %.3f, error %.3f, said %.3f (%.2f of it), ranges cover %.3f", seed+1, k, math.Sqrt(.09+float64(k)), made, said, said/made, covers)
			ratio[k] += said / made / draws
			held[k] += covers / draws
		}
		m.Close()
	}
	for k := range asked {
		t.Logf("mean of the draws, %d missing: said %.3f of the error, ranges cover %.3f", k, ratio[k], held[k])
		if ratio[k] < .85 || ratio[k] > 1.15 {
			t.Errorf("%d missing: deviations are %.2f of the error, not within 15 %%", k, ratio[k])
		}
		least := .87
		if k == 0 { // 3 % of the rows: too few to learn how much more the mean errs on new ones
			least = .84
		}
		if held[k] < least || held[k] > .93 {
			t.Errorf("%d missing: ranges of 90 %% cover %.3f", k, held[k])
		}
	}
}

func withoutBags(s *psi.Settings) { s.Bags = 0 }

// withGaps are rows of the set gaps with 0, 1, … missing cells, equally many of each.
func withGaps(t *testing.T, each, most int) []*table.Table {
	t.Helper()
	s, err := synth.Generate("gaps", 40*each, 1000)
	check(t, err)
	all, err := s.Table()
	check(t, err)
	rows := make([][]int, most+1)
	for i := range all.Rows() {
		missing := 0
		for _, column := range s.X {
			missing += int(truly(math.IsNaN(column[i])))
		}
		if len(rows[missing]) < each {
			rows[missing] = append(rows[missing], i)
		}
	}
	tables := make([]*table.Table, len(rows))
	for k, list := range rows {
		if len(list) != each {
			t.Fatalf("%d rows lack %d cells", len(list), k)
		}
		tables[k] = all.Select(list)
	}
	return tables
}

// Ranges of held out rows that keep a share of their cells, five times at random.
func TestRangesOfBlankedRows(t *testing.T) {
	slow(t)
	const masks = 5
	for _, set := range []string{"pksn", "casp"} {
		t.Run(set, func(t *testing.T) {
			p, err := realTable(set)
			if errors.Is(err, benchset.ErrAbsent) {
				t.Skip(err)
			}
			check(t, err)
			m := fit(t, p, "exact", withoutBags)
			rows := p.tested()
			y := rows.Column(p.target).Numbers
			t.Logf("%s: calibration %+v", set, m.Manifest().Calibration)
			for _, kept := range []float64{.25, .5, .75, 1} {
				var held, by, made, said float64
				for seed := range uint64(masks) {
					p, err := m.Predict(t.Context(), blankCells(rows, p.target, 1-kept, seed).Source())
					check(t, err)
					held += coverage(y, p.Mean, p.RangeStd, z90) / masks
					by += coverage(y, p.Mean, p.Std, z90) / masks
					made += rmse(y, p.Mean) / masks
					said += rmse(p.Std, make([]float64, len(y))) / masks
				}
				t.Logf("%s: %3.0f %% of the cells: ranges cover %.3f, 1.645 deviations %.3f; error %.4g, said %.4g", set, 100*kept, held, by, made, said)
				if held < .87 || held > .93 {
					t.Errorf("%s: ranges of rows with %.0f %% of their cells cover %.3f", set, 100*kept, held)
				}
			}
		})
	}
}
