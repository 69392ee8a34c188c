package proof

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

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
