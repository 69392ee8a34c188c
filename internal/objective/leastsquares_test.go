package objective_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

// distribution is a way to draw coalitions of the members of whole.
type distribution func(whole coalition) []draw

// coalitions holds a row for every S that may be drawn from the players of the game,
// with attributions f of the row as observed. Nothing is within S.
func coalitions(g game, from distribution, f []float64) *batch {
	b := &batch{copies: objective.LeastSquares.Copies(), outputs: 1, players: g.players}
	whole := everyone(g.players)
	for _, s := range from(whole) {
		b.add(s.probability, 0, []evaluated{
			objective.Observed:   {whole, f},
			objective.Masked:     g.evaluate(s.coalition),
			objective.Complement: g.evaluate(whole &^ s.coalition),
			objective.Within:     g.evaluate(0),
		}...)
	}
	return b
}

// minimiser finds the attributions of least expected LeastSquares whose sum is v(N).
// Among those the loss is as steep in all directions, for players are drawn alike: its
// second derivative is 2 P(i∈S, j∉S), and one step from anywhere leads to the bottom.
func minimiser(t *testing.T, on *engine.Backend, g game, from distribution) []float64 {
	t.Helper()
	f := g.shared(everyone(g.players))
	b := coalitions(g, from, f)
	_, gradient := estimate(t, on, objective.LeastSquares, b)
	steepness := 0.0
	for _, s := range from(everyone(g.players)) {
		if s.has(0) && !s.has(1) {
			steepness += 2 * s.probability
		}
	}
	floats.AddScaled(f, -1/steepness, b.meanSlope(gradient, objective.Observed, 0))
	return f
}

// solve finds the same by the normal equations of
//
//	min_f E[½ (v(S) − Σ_{d∈S} f_d)² + ½ (v(N∖S) − Σ_{d∉S} f_d)²],   Σ_d f_d = v(N).
func solve(t *testing.T, g game, from distribution) []float64 {
	t.Helper()
	n := g.players
	whole := everyone(n)
	equations, right := mat.NewDense(n+1, n+1, nil), mat.NewVecDense(n+1, nil)
	for d := range n {
		equations.Set(d, n, 1) // the multiplier of the sum
		equations.Set(n, d, 1)
	}
	right.SetVec(n, g.value(whole, 0))
	for _, drawn := range from(whole) {
		for _, s := range []coalition{drawn.coalition, whole &^ drawn.coalition} {
			for i := range n {
				if !s.has(i) {
					continue
				}
				right.SetVec(i, right.AtVec(i)+drawn.probability*g.value(s, 0))
				for j := range n {
					if s.has(j) {
						equations.Set(i, j, equations.At(i, j)+drawn.probability)
					}
				}
			}
		}
	}
	var f mat.VecDense
	if err := f.SolveVec(equations, right); err != nil {
		t.Fatal(err)
	}
	return f.RawVector().Data[:n]
}

func TestLeastSquaresGivesShapleyValuesUnderTheKernelOnly(t *testing.T) {
	g := randomGame(6, 1, seeded(t, 6))
	phi := g.shapley(t, everyone(6))
	onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
		for _, c := range []struct {
			name          string
			from          distribution
			atLeast, most float64 // distance from φ
		}{
			{"kernel", kernel, 0, 1e-8},
			{"permutation", permutation, 0.02, 1},
		} {
			byGraph, byHand := minimiser(t, on, g, c.from), solve(t, g, c.from)
			near(t, "distance of the minimisers by graph and by hand", furthest(byGraph, byHand), 0, 1e-8)
			off := furthest(byGraph, phi)
			t.Logf("%s: |f − φ| ≤ %.2g by graph, %.2g by hand", c.name, off, furthest(byHand, phi))
			if off < c.atLeast || off > c.most {
				t.Errorf("%s: the minimiser is %g from φ, want %g to %g", c.name, off, c.atLeast, c.most)
			}
		}
	})
}

// The masked copy has a game of its own, among the members of S: its attributions are
// drawn to the Shapley values of that one.
func TestLeastSquaresIsContentWithShapleyValues(t *testing.T) {
	const players = 5
	g := randomGame(players, 1, seeded(t, 7))
	whole := everyone(players)
	onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
		b := &batch{copies: objective.LeastSquares.Copies(), outputs: 1, players: players}
		var masked []coalition // of each row
		for _, s := range kernel(whole) {
			if s.size() < 2 {
				continue // nothing to divide
			}
			for _, within := range kernel(s.coalition) {
				b.add(s.probability*within.probability, 0, []evaluated{
					objective.Observed:   {whole, g.shapley(t, whole)},
					objective.Masked:     {s.coalition, g.shapley(t, s.coalition)},
					objective.Complement: g.evaluate(whole &^ s.coalition),
					objective.Within:     g.evaluate(within.coalition),
				}...)
				masked = append(masked, s.coalition)
			}
		}
		_, gradient := estimate(t, on, objective.LeastSquares, b)

		slopes := map[coalition][]float64{} // by the attributions of the masked copy
		steepest := 0.0                     // of a single row
		for row, s := range masked {
			if slopes[s] == nil {
				slopes[s] = make([]float64, players)
			}
			for d, present := range b.maskOf(row, objective.Masked) {
				slope := present * b.attributions(gradient, row, objective.Masked, 0)[d]
				slopes[s][d] += slope
				steepest = max(steepest, slope)
			}
		}
		for s, slope := range slopes {
			if pull := furthest(slope, make([]float64, players)); pull > 1e-12 {
				t.Errorf("in the game among %05b, Shapley values have slopes up to %g", s, pull)
			}
		}
		if steepest < 1e-3 {
			t.Errorf("no row has a slope above %g: nothing was tested", steepest)
		}
	})
}

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
