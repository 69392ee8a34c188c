package explain

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestAttributions(t *testing.T) {
	rng := newRand(t)
	e := randomExplanation(rng, shape{rows: 20, outputs: 3, players: 7, sampled: true, doubt: true})
	for row := range e.Rows {
		for output := range e.Outputs {
			for d, a := range e.Attributions(row, output) {
				at := (row*3+output)*7 + d
				text := ""
				if e.Values[d] != nil {
					text = e.Values[d].Text(row)
				}
				if a.Player != e.Players[d] || a.Value != text || a.Observed != e.Observed[row*7+d] ||
					a.Mean != e.Mean[at] || a.Std != e.Std[at] || a.StandardError != e.StandardError[at] || a.ModelStd != e.ModelStd[at] {
					t.Fatalf("row %d, output %d, player %d: %+v", row, output, d, a)
				}
				if reach := (a.Upper - a.Lower) / 2; math.Abs(reach-2.7765*a.ModelStd) > 1e-4*reach || math.Abs((a.Upper+a.Lower)/2-a.Mean) > 1e-12*(1+reach) {
					t.Errorf("interval [%v, %v] of %v ∓ 2.7765·%v", a.Lower, a.Upper, a.Mean, a.ModelStd)
				}
				if a.Observed && math.Abs(a.PPositive-fourDegrees(a.Mean/a.ModelStd)) > 1e-7 {
					t.Errorf("P(φ > 0) = %v at %v ± %v", a.PPositive, a.Mean, a.ModelStd)
				}
				if one := e.Attribution(row, output, d); one.PTop != a.PTop || one.Mean != a.Mean {
					t.Errorf("Attribution %+v is not that of Attributions, %+v", one, a)
				}
			}
		}
	}
}

// fourDegrees is Student's distribution with four degrees of freedom, as five bags have, in closed form. It has .95 within ∓ 2.7764, and
// as much as ∓ 1.96 has of a normal distribution within ∓ 2.7765.
func fourDegrees(t float64) float64 {
	s := t / math.Sqrt(1+t*t/4)
	return .5 + 3./8*s*(1-s*s/12)
}

// Where doubt is not known, intervals are by spread, of a normal distribution.
func TestIntervalsBySpread(t *testing.T) {
	e := randomExplanation(newRand(t), shape{rows: 20, outputs: 1, players: 7})
	for row := range e.Rows {
		for _, a := range e.Attributions(row, 0) {
			if a.Lower != a.Mean-1.96*a.Std || a.Upper != a.Mean+1.96*a.Std {
				t.Errorf("interval [%v, %v] of %v ∓ 1.96·%v", a.Lower, a.Upper, a.Mean, a.Std)
			}
			if a.Observed && math.Abs(a.PPositive-distuv.Normal{Mu: a.Mean, Sigma: a.Std}.Survival(0)) > 1e-12 {
				t.Errorf("P(N(%v, %v²) > 0) = %v", a.Mean, a.Std, a.PPositive)
			}
		}
	}
}

func TestAttributionOfWhatIsNotObserved(t *testing.T) {
	e := onePrediction([]float64{1, 0, 3}, []float64{1, 0, 0}, 2)
	e.Observed[1] = false
	a := e.Attribution(0, 0, 1)
	if a.Observed || a.Mean != 0 || a.Std != 0 || a.Lower != 0 || a.Upper != 0 || a.PTop != 0 || !math.IsNaN(a.PPositive) || !math.IsNaN(a.StandardError) || !math.IsNaN(a.ModelStd) {
		t.Errorf("%+v", a)
	}
	if p := e.Attribution(0, 0, 0).PTop; p != 1 {
		t.Errorf("one of two observed players is among the two largest with probability %v", p)
	}
}

func TestUpperIsTheNormalDistribution(t *testing.T) {
	for z := -12.0; z <= 12; z += 0.01 {
		tail, density := upper(z)
		want := math.Erfc(z/math.Sqrt2) / 2
		tolerance := 1e-15
		if math.Abs(z) > 7 {
			tolerance = 2e-12
		}
		if math.Abs(tail-want) > tolerance {
			t.Fatalf("1 − Φ(%g) = %v, want %v", z, tail, want)
		}
		if want := distuv.UnitNormal.Prob(z); math.Abs(density-want) > 1e-11 {
			t.Fatalf("density at %g = %v, want %v", z, density, want)
		}
	}
}

func TestPositive(t *testing.T) {
	for _, std := range []float64{1e-300, 1e-9, 1, 1e200} {
		for _, z := range []float64{-30, -3, -0.5, 0, 0.5, 3, 30} {
			got, want := Positive(z*std, std), distuv.UnitNormal.CDF(z)
			if math.Abs(got-want) > 1e-12*want {
				t.Errorf("P(N(%g, %g²) > 0) = %v, want %v", z*std, std, got, want)
			}
		}
	}
	for mean, want := range map[float64]float64{2: 1, -1e-300: 0, 0: 0.5} {
		if got := Positive(mean, 0); got != want {
			t.Errorf("P(%g > 0) = %v, want %v", mean, got, want)
		}
	}
	if got := Positive(math.NaN(), 0); !math.IsNaN(got) {
		t.Errorf("P(NaN > 0) = %v, want NaN", got)
	}
}

// Both are held against draws of the two attributions.
func TestOrderOfTwoAgainstDraws(t *testing.T) {
	const draws = 400_000
	rng := fixedRand(t, 7)
	for _, pair := range [][4]float64{ // means and deviations
		{1, .5, .8, .3}, {-2, 1, 1.5, 1}, {0, 1, 0, .2}, {3, 0, 2.9, .4}, {.1, .1, -.1, .1},
	} {
		e := onePrediction([]float64{pair[0], pair[2]}, []float64{pair[1], pair[3]}, 1)
		greater, larger := 0, 0
		for range draws {
			x, y := pair[0]+pair[1]*rng.NormFloat64(), pair[2]+pair[3]*rng.NormFloat64()
			if x > y {
				greater++
			}
			if math.Abs(x) > math.Abs(y) {
				larger++
			}
		}
		for what, p := range map[string][2]float64{
			"φ_a > φ_b":     {e.PGreater(0, 0, 0, 1), float64(greater) / draws},
			"|φ_a| > |φ_b|": {e.PLarger(0, 0, 0, 1), float64(larger) / draws},
		} {
			if math.Abs(p[0]-p[1]) > 4*math.Sqrt(.25/draws) {
				t.Errorf("N(%g, %g²), N(%g, %g²): P(%s) = %.4f, of draws %.4f", pair[0], pair[1], pair[2], pair[3], what, p[0], p[1])
			}
		}
		if sum := e.PGreater(0, 0, 0, 1) + e.PGreater(0, 0, 1, 0); math.Abs(sum-1) > 1e-12 {
			t.Errorf("one of two is greater with probability %v", sum)
		}
		if sum := e.PLarger(0, 0, 0, 1) + e.PLarger(0, 0, 1, 0); math.Abs(sum-1) > 1e-6 {
			t.Errorf("one of two is larger with probability %v", sum)
		}
	}
}

func TestOrderWithoutDoubt(t *testing.T) {
	e := onePrediction([]float64{2, -3, 0}, []float64{0, 0, 0}, 1)
	e.Observed[2] = false
	for _, c := range []struct {
		a, b            int
		greater, larger float64
	}{{0, 1, 1, 0}, {1, 0, 0, 1}, {1, 2, 0, 1}, {2, 1, 1, 0}} {
		if g, l := e.PGreater(0, 0, c.a, c.b), e.PLarger(0, 0, c.a, c.b); g != c.greater || l != c.larger {
			t.Errorf("players %d and %d: greater %v, larger %v", c.a, c.b, g, l)
		}
	}
}

// Main effects and interactions add up to what the attributions add up to, whatever these are.
func TestEffectsAddUp(t *testing.T) {
	rng := newRand(t)
	for range 20 {
		e := randomExplanation(rng, shape{rows: 2, outputs: 2, players: 1 + rng.IntN(8), interactions: true})
		for row := range e.Rows {
			for output := range e.Outputs {
				var got, want, size float64
				for _, x := range e.Effects(row, output) {
					got, size = got+x.Value, size+math.Abs(x.Value)
					if !e.observed(row)[x.A] || x.B >= 0 && !e.observed(row)[x.B] {
						t.Errorf("%+v is of a player that is not there", x)
					}
				}
				for _, phi := range e.means(row, output) {
					want += phi
				}
				if math.Abs(got-want) > 1e-12*math.Max(1, size) {
					t.Errorf("effects add up to %g, attributions to %g", got, want)
				}
			}
		}
	}
}

// The effects of y = 2a + 3b + 4ab at a = b = 1, absent columns being 0: φ_a = 2 + 4/2, φ_b = 3 + 4/2, I_ab = 4.
func TestEffectsOfAProduct(t *testing.T) {
	e := onePrediction([]float64{4, 5}, []float64{0, 0}, 1)
	e.Interactions = []float64{0, 4, 4, 0}
	want := []Effect{{0, -1, 2}, {1, -1, 3}, {0, 1, 4}}
	got := e.Effects(0, 0)
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("effect %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}
