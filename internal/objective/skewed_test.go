package objective_test

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

// Ten players of whom all are needed: in a random order each contributes 1 if it comes
// last, one time in ten, else 0. The Shapley value is the mean, 0.1; the median is 0.
const needed = 10

// unanimity is the copy of a row in which the first n players besides player 0 are
// present, and player 0 if with is true. Coalitions of one size being worth the same,
// those of the first players stand for all.
func unanimity(n int, with bool) evaluated {
	s := everyone(n) << 1
	if with {
		s++
	}
	f := make([]float64, needed)
	if s == everyone(needed) {
		f[0] = 1
	}
	return evaluated{s, f}
}

// expectedDSHAP returns what the estimator gives player 0 on average over all draws of
// its predecessors, for each of the attributions tried.
func expectedDSHAP(t *testing.T, on *engine.Backend, e objective.Estimator, tried []float64) []float64 {
	t.Helper()
	b := &batch{copies: e.Copies(), outputs: 1, players: needed}
	const draws = needed * needed // two numbers of predecessors, each uniform on 0..9
	for _, f0 := range tried {
		f := make([]float64, needed)
		f[0] = f0
		for first := range needed {
			for second := range needed {
				copies := []evaluated{
					objective.Observed:  {everyone(needed), f},
					objective.Masked:    unanimity(0, false),
					objective.WithD1:    unanimity(first, true),
					objective.WithoutD1: unanimity(first, false),
					objective.WithD2:    unanimity(second, true),
					objective.WithoutD2: unanimity(second, false),
				}
				b.add(1.0/draws, 1, copies[:e.Copies()]...)
			}
		}
	}
	value, _ := estimate(t, on, e, b)
	mean := make([]float64, len(tried))
	for row, v := range value {
		mean[row/draws] += v / draws
	}
	return mean
}

func TestMinimiserOfSkewedContributions(t *testing.T) {
	var tried []float64
	for percent := -50; percent <= 100; percent++ {
		tried = append(tried, float64(percent)/100)
	}
	cases := []struct {
		estimator objective.Estimator
		minimiser float64
		expected  func(f float64) float64 // by hand
	}{
		{objective.TwoDraws, 0.1, func(f float64) float64 { return (0.1 - f) * (0.1 - f) }},
		{objective.Stopped, 0.1, func(f float64) float64 { return 0.1*(1-f)*(1-f) + 0.9*f*f }},
		{objective.Absolute, 0, func(f float64) float64 {
			spread := 0.1*math.Abs(1-f) + 0.9*math.Abs(f)
			return spread * spread
		}},
	}
	onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
		for _, c := range cases {
			best, least := math.NaN(), math.Inf(1)
			for i, v := range expectedDSHAP(t, on, c.estimator, tried) {
				if want := c.expected(tried[i]); math.Abs(v-want) > 1e-12 {
					t.Errorf("%s at f = %g is %.12g, want %.12g", c.estimator, tried[i], v, want)
				}
				if v < least {
					best, least = tried[i], v
				}
			}
			if best != c.minimiser {
				t.Errorf("%s is least at f = %g, want %g", c.estimator, best, c.minimiser)
			}
			t.Logf("%s: least at f = %g, where it is %.4f", c.estimator, best, least)
		}
	})
}
