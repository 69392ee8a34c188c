package proof

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/synth"
)

// Doubt is as large as attributions differ between trainings on independent tables: r = RMS(model_std) / RMS of that deviation. The
// same 200 rows are explained by models of 20 tables. x1, x2 and x3 matter, x4 and x5 are noise, whose true attribution is 0.
func TestDoubt(t *testing.T) {
	slow(t)
	const tables, rows, explainedRows = 20, 2000, 200
	for _, name := range []string{"gauss", "logit"} {
		t.Run(name, func(t *testing.T) {
			asked, err := synth.Generate(name, explainedRows, 999)
			check(t, err)
			var all []*explain.Explanation
			for seed := range uint64(tables) {
				all = append(all, explainedBy(t, name, rows, seed+1, asked))
			}
			mattering, noise := doubtOf(all, asked, []int{0, 1, 2}), doubtOf(all, asked, []int{3, 4})
			for what, d := range map[string]doubted{"columns that matter": mattering, "noise": noise} {
				t.Logf("%s, %s: r %.2f; intervals of 90 %% hold the mean over tables in %.1f %%, the truth in %.1f %%; sure at 95 %% in %.1f %%; bias %.2f of the doubt",
					name, what, d.r, 100*d.holdsMean, 100*d.holdsTruth, 100*d.sure, d.bias)
				if d.r < .8 || d.r > 1.6 {
					t.Errorf("%s: r is %.2f, not between .8 and 1.6", what, d.r)
				}
				if d.holdsMean < .85 || d.holdsMean > .97 {
					t.Errorf("%s: intervals of 90 %% hold the mean over tables in %.1f %%", what, 100*d.holdsMean)
				}
			}
		})
	}
}

// explainedBy trains on a table and explains rows of another.
func explainedBy(t *testing.T, name string, rows int, seed uint64, asked *synth.Sample) *explain.Explanation {
	t.Helper()
	s, err := synth.Generate(name, rows, seed)
	check(t, err)
	learned, err := s.Table()
	check(t, err)
	m, err := psi.Train(t.Context(), learned.Source(), psi.Config{Target: "y"})
	check(t, err)
	defer m.Close()
	other, err := asked.Table()
	check(t, err)
	e, err := m.Explain(t.Context(), other.Source(), psi.ExplainOptions{})
	check(t, err)
	return e
}

// doubted is how doubt fares over some columns, all rows and models.
type doubted struct{ r, holdsMean, holdsTruth, sure, bias float64 }

func doubtOf(all []*explain.Explanation, asked *synth.Sample, columns []int) (d doubted) {
	t := distuv.StudentsT{Sigma: 1, Nu: float64(all[0].Bags - 1)}
	ninety, sure := t.Quantile(.95), t.Quantile(.975)
	var doubt, deviation, bias, n float64
	for row := range asked.Rows {
		for _, c := range columns {
			at, truth := row*len(asked.Columns)+c, asked.Mean[c][row]
			var means []float64
			for _, e := range all {
				means = append(means, e.Mean[at])
			}
			mean, variance := stat.MeanVariance(means, nil)
			for _, e := range all {
				s := e.ModelStd[at]
				doubt, deviation, bias, n = doubt+s*s, deviation+variance, bias+(mean-truth)*(mean-truth), n+1
				d.holdsMean += truly(math.Abs(e.Mean[at]-mean) <= ninety*s)
				d.holdsTruth += truly(math.Abs(e.Mean[at]-truth) <= ninety*s)
				d.sure += truly(math.Abs(e.Mean[at]) > sure*s)
			}
		}
	}
	d.r, d.bias = math.Sqrt(doubt/deviation), math.Sqrt(bias/doubt)
	d.holdsMean, d.holdsTruth, d.sure = d.holdsMean/n, d.holdsTruth/n, d.sure/n
	return d
}

func truly(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
