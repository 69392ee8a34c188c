package proof

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/internal/benchset"
	"github.com/psi-shapley/psi/internal/objective"
	"github.com/psi-shapley/psi/internal/synth"
)

// synthetic is a synthetic set of 8,000 rows with the last 1,600 held out and a tenth
// of the rest for validation.
func synthetic(t testing.TB, name string) (problem, *synth.Sample) {
	t.Helper()
	return syntheticFold(t, name, folds-1)
}

const folds = 5

// syntheticFold is a synthetic set whose test rows are one of five folds.
func syntheticFold(t testing.TB, name string, fold int) (problem, *synth.Sample) {
	t.Helper()
	const rows, held = 8000, 8000 / folds
	s, err := synth.Generate(name, rows, 1)
	check(t, err)
	all, err := s.Table()
	check(t, err)
	p := problem{table: all, target: "y"}
	for i := range rows {
		switch {
		case i/held == fold:
			p.test = append(p.test, i)
		case i%10 == 7:
			p.validate = append(p.validate, i)
		default:
			p.training = append(p.training, i)
		}
	}
	return p, s
}

// truthError is the error of the attributions against the true ones, relative to the
// root mean square of those.
func truthError(e explained, s *synth.Sample, rows []int) float64 {
	var gap, size float64
	for d := range e.phi {
		truth := at(s.Mean[d], rows)
		gap += math.Pow(rmse(e.phi[d], truth), 2)
		size += math.Pow(rmse(truth, make([]float64, len(truth))), 2)
	}
	return math.Sqrt(gap / size)
}

// bar is what a head must reach on one set. A zero bar is none.
type bar struct{ rmse, fidelity, truth float64 }

func testSynthetic(t *testing.T, head string, bars []bar) {
	slow(t)
	for i, bar := range bars {
		name := fmt.Sprintf("synth%d", i+1)
		t.Run(name, func(t *testing.T) {
			p, s := synthetic(t, name)
			m := fit(t, p, head, nil)
			e := m.explain(t, p.tested())
			got := rmse(e.prediction, e.y)
			excess := rmse(e.prediction, at(s.Expected, p.test))
			fidelity, truth := m.fidelity(t, 100), truthError(e, s, p.test)
			t.Logf("%s %s: RMSE %.4f (bar %.3f), excess over the oracle %.4f, fidelity error %.1e, error against the true attributions %.4f, σ_0 %.3f, %d nodes, %.0f s wall, %.0f s CPU",
				name, head, got, bar.rmse, excess, fidelity, truth, e.noise, m.nodes(), m.wall.Seconds(), m.cpu.Seconds())
			if got > bar.rmse {
				t.Errorf("RMSE %.4f is over %.3f", got, bar.rmse)
			}
			if fidelity > bar.fidelity {
				t.Errorf("fidelity error %.4f is over %g", fidelity, bar.fidelity)
			}
			if bar.truth > 0 && truth > bar.truth {
				t.Errorf("error against the true attributions %.4f is over %.2f", truth, bar.truth)
			}
			if m.wall.Minutes() > 3 {
				t.Errorf("trained for %s, more than 3 minutes", m.wall)
			}
		})
	}
}

func TestSyntheticExact(t *testing.T) {
	testSynthetic(t, "exact", []bar{
		{.58, 1e-5, .05}, {.010, 1e-5, .05}, {.16, 1e-5, .05}, {.45, 1e-5, 0}, {.39, 1e-5, .05},
	})
}

func TestSyntheticLearned(t *testing.T) {
	testSynthetic(t, "learned", []bar{
		{.590, .06, .05}, {.008, .06, .05}, {.20, .06, .05}, {.65, .15, 0}, {.42, .06, .05},
	})
}

// The paper's estimator punishes interactions; the unbiased ones do not.
func TestEstimatorsOnInteractions(t *testing.T) {
	slow(t)
	p, _ := synthetic(t, "synth3")
	off := map[objective.Estimator]float64{}
	for _, e := range []objective.Estimator{objective.Absolute, objective.TwoDraws, objective.LeastSquares} {
		m := fit(t, p, "learned", func(s *psi.Settings) {
			s.Estimator, s.Beta, s.PolishSteps, s.SpreadSteps = string(e), 1, 0, 0
		})
		x := m.explain(t, p.tested())
		off[e] = rmse(x.prediction, x.y)
		t.Logf("synth3, learned head, β′ = 1, %s: RMSE %.3f, fidelity error %.3f", e, off[e], m.fidelity(t, 100))
	}
	if off[objective.Absolute] < 1.5*off[objective.LeastSquares] {
		t.Errorf("abs reaches RMSE %.3f, ls %.3f: the paper's bias is gone?", off[objective.Absolute], off[objective.LeastSquares])
	}
}

// σ_d against the true spread of the latent draws.
func TestSigmaAgainstTruth(t *testing.T) {
	slow(t)
	var far, one, two [2]float64 // means over the folds
	for fold := range folds {
		p, s := syntheticFold(t, "synth1", fold)
		m := fit(t, p, "exact", func(s *psi.Settings) { s.Bags = 0 })
		e := m.explain(t, p.tested())
		for d := range 3 {
			truth := at(s.Std[d], p.test)
			off := rmse(e.sigma[d], truth)
			t.Logf("fold %d, σ_%d: mean %.3f, RMSE %.3f, correlation %.3f", fold, d+1, mean(e.sigma[d]), off, correlation(e.sigma[d], truth))
			if d == 2 {
				if off > .05 {
					t.Errorf("fold %d: σ_3 is %.3f where there is no noise, more than .05", fold, off)
				}
				continue
			}
			if correlation(e.sigma[d], truth) < .9 || fold == folds-1 && off > .06 {
				t.Errorf("fold %d, σ_%d: correlation under .9, or RMSE of the last fold over .06", fold, d+1)
			}
			var draw, phi, sigma []float64
			for k, i := range p.test {
				if s.Std[d][i] >= .1 {
					draw, phi, sigma = append(draw, s.Draw[d][i]), append(phi, e.phi[d][k]), append(sigma, e.sigma[d][k])
				}
			}
			within, twice := coverage(draw, phi, sigma, 1), coverage(draw, phi, sigma, 2)
			t.Logf("fold %d, φ_%d: ±1σ covers %.3f, ±2σ %.3f of %d draws; the mean is off by %.3f", fold, d+1, within, twice, len(draw), rmse(e.phi[d], at(s.Mean[d], p.test)))
			far[d] += off / folds
			one[d] += within / folds
			two[d] += twice / folds
		}
	}
	for d := range 2 {
		t.Logf("φ_%d: σ is off by %.3f, ±1σ covers %.3f, ±2σ %.3f, the means over folds", d+1, far[d], one[d], two[d])
		if math.Abs(one[d]-.683) > .04 || math.Abs(two[d]-.954) > .04 {
			t.Errorf("φ_%d: ±1σ covers %.3f, ±2σ %.3f: more than 4 points from .683 and .954", d+1, one[d], two[d])
		}
	}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func correlation(a, b []float64) float64 {
	ma, mb := mean(a), mean(b)
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	return ab / math.Sqrt(aa*bb)
}

// What peers reach on the same fold, for the log.
var peers = map[string]string{
	"california": "LightGBM .4541",
	"bike":       "LightGBM 39.81",
}

func TestRealTables(t *testing.T) {
	slow(t)
	kinds := []struct {
		name   string
		head   string
		change func(s *psi.Settings)
	}{
		{"default", "exact", nil},
		{"tensor-train", "exact", func(s *psi.Settings) { s.Form, s.Channels, s.Rank = "tensor-train", 16, 4 }},
		{"learned", "learned", nil},
	}
	for _, name := range []string{"california", "bike"} {
		p, err := realTable(name)
		if errors.Is(err, benchset.ErrAbsent) {
			t.Skip(err)
		}
		check(t, err)
		for _, k := range kinds {
			t.Run(name+"/"+k.name, func(t *testing.T) {
				m := fit(t, p, k.head, k.change)
				e := m.explain(t, p.tested())
				t.Logf("%s fold 0, %s: RMSE %.4f (%s), fidelity error %.1e, 90 %% intervals cover %.3f, %d nodes, %.0f s wall, %.0f s CPU",
					name, k.name, rmse(e.prediction, e.y), peers[name], m.fidelity(t, 20), coverage(e.y, e.prediction, e.std, z90), m.nodes(), m.wall.Seconds(), m.cpu.Seconds())
			})
		}
	}
}
