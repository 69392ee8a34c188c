package proof

import (
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/table"
)

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
