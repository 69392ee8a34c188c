package explain

import (
	"math"
	"testing"
)

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
