package proof

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/internal/synth"
	"github.com/psi-shapley/psi/table"
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

// Noise that varies with no column belongs to σ_0: the likelihood sees only the sum of
// variances, so this is a convention, and training must keep it.
func TestConstantNoiseBelongsToNoColumn(t *testing.T) {
	slow(t)
	const rows, seed = 8000, 7
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	x := make([][]float64, 3)
	y := make([]float64, rows)
	for i := range rows {
		for d := range x {
			x[d] = append(x[d], rng.NormFloat64())
		}
		y[i] = x[0][i] + rng.NormFloat64()
	}
	var columns []*table.Column
	for d, name := range []string{"x1", "x2", "x3"} {
		columns = append(columns, table.NumberColumn(name, x[d], nil))
	}
	all, err := table.New(append(columns, table.NumberColumn("y", y, nil))...)
	check(t, err)
	p := problem{table: all, target: "y"}
	for i := range rows {
		switch {
		case i >= 6400:
			p.test = append(p.test, i)
		case i%10 == 7:
			p.validate = append(p.validate, i)
		default:
			p.training = append(p.training, i)
		}
	}
	m := fit(t, p, "exact", nil)
	e := m.explain(t, p.tested())
	t.Logf("y = x1 + N(0, 1): σ_0 %.3f, mean σ_d %.3f %.3f %.3f", e.noise, mean(e.sigma[0]), mean(e.sigma[1]), mean(e.sigma[2]))
	if s := e.noise; s < .9 || s > 1.1 {
		t.Errorf("σ_0 is %.3f, not about 1", s)
	}
	for d := range 3 {
		if s := mean(e.sigma[d]); s > .1 {
			t.Errorf("σ_%d is %.3f, more than .1", d+1, s)
		}
	}
}

func TestNoiseOfSynth3(t *testing.T) {
	slow(t)
	p, _ := synthetic(t, "synth3")
	m := fit(t, p, "exact", nil)
	e := m.explain(t, p.tested())
	t.Logf("synth3: σ_0 %.3f (the noise is .1), mean σ_d %.3f %.3f %.3f", e.noise, mean(e.sigma[0]), mean(e.sigma[1]), mean(e.sigma[2]))
	if s := e.noise; s < .05 || s > .15 {
		t.Errorf("σ_0 is %.3f, not about .1", s)
	}
}

// The spread due to hidden cells is h: intervals of partly observed rows must hold.
func TestIntervalsOfPartlyObservedRows(t *testing.T) {
	slow(t)
	const seed = 11
	t.Logf("seed %d", seed)
	synth1, _ := synthetic(t, "synth1")
	problems := map[string]problem{"synth1": synth1}
	if p, err := realTable("california"); err == nil {
		problems["california"] = p
	} else {
		t.Log(err)
	}
	for name, p := range problems {
		m := fit(t, p, "exact", nil)
		e, gaps := m.explain(t, p.tested()), m.explain(t, blankCells(p.tested(), p.target, .3, seed))
		full, part := coverage(e.y, e.prediction, e.std, z90), coverage(gaps.y, gaps.prediction, gaps.std, z90)
		t.Logf("%s: 90 %% intervals cover %.3f of whole rows, %.3f with 30 %% of cells blanked", name, full, part)
		if part < .87 || part > .93 {
			t.Errorf("%s: with gaps 90 %% intervals cover %.3f, not 87–93 %%", name, part)
		}
	}
}

// realTable is fold 0 of a real data set.
func realTable(name string) (problem, error) {
	s, err := benchset.Load(name)
	if err != nil {
		return problem{}, err
	}
	p := problem{table: s.Table, target: s.Target}
	p.training, p.validate, p.test = s.Fold(0)
	return p, nil
}

// What is expected of asking for a missing cell is what asking for it brings: the squared error goes down by as much, on
// average over rows of california that lack half of their cells.
func TestQuestionsBringWhatIsExpected(t *testing.T) {
	slow(t)
	p, err := realTable("california")
	if errors.Is(err, benchset.ErrAbsent) {
		t.Skip(err)
	}
	check(t, err)
	m := fit(t, p, "exact", nil)
	whole := p.table.Select(p.test)
	const seed = 1
	t.Logf("seed %d", seed)
	blanked := blankCells(whole, p.target, .5, seed)
	predicted := func(rows *table.Table) []float64 {
		x, err := m.Predict(t.Context(), rows.Source())
		check(t, err)
		return x.Mean
	}
	var asked []psi.Question
	for list, err := range m.Questions(t.Context(), blanked.Source(), psi.Ask{Reference: p.table.Select(p.training).Source()}) {
		check(t, err)
		asked = append(asked, list...)
	}
	at := make([]int, len(asked))
	for i, q := range asked {
		at[i] = q.Row
	}
	told := blanked.Select(at)
	for i, q := range asked {
		c := told.Column(q.Column)
		c.Numbers[i], c.Observed[i] = whole.Column(q.Column).Numbers[q.Row], true
	}
	before, after, y := predicted(blanked.Select(at)), predicted(told), whole.Select(at).Column(p.target).Numbers
	type pair struct{ expected, seen, n float64 }
	sum, by := pair{}, map[string]*pair{}
	for i, q := range asked {
		if by[q.Column] == nil {
			by[q.Column] = &pair{}
		}
		gain := (y[i]-before[i])*(y[i]-before[i]) - (y[i]-after[i])*(y[i]-after[i])
		for _, s := range []*pair{&sum, by[q.Column]} {
			s.expected, s.seen, s.n = s.expected+q.Reduction, s.seen+gain, s.n+1
		}
	}
	var expected, seen []float64
	for _, name := range m.Columns() {
		s := by[name]
		t.Logf("%-20s expected %.3f, seen %.3f", name, s.expected/s.n, s.seen/s.n)
		expected, seen = append(expected, s.expected/s.n), append(seen, s.seen/s.n)
	}
	t.Logf("all: expected %.3f, seen %.3f; correlation over columns %.2f", sum.expected/sum.n, sum.seen/sum.n, correlation(expected, seen))
	if ratio := sum.expected / sum.seen; ratio < .7 || ratio > 1.3 {
		t.Errorf("what is expected is %.2f of what is seen", ratio)
	}
	if r := correlation(expected, seen); r < .7 {
		t.Errorf("the columns' worth correlates by %.2f with what they bring", r)
	}
}
