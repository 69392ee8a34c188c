package eval

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Draws of the predicted normal lie inside as often as the level says; half50 and half90 are Regression's own numbers.
func TestIntervalsOfDraws(t *testing.T) {
	const seed, n = 11, 20_000
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var v Intervals
	var r Regression
	for range n {
		mean, std := rng.NormFloat64()*3, .5+rng.Float64()
		y := mean + std*rng.NormFloat64()
		weight := float64(rng.IntN(3))
		v.Add(y, mean, std, weight)
		r.Add(y, mean, std, weight)
	}
	for _, s := range v.Shares() {
		if math.Abs(s.Share-s.Level) > .02 {
			t.Errorf("level %g holds %g", s.Level, s.Share)
		}
		if s.Level == .5 && s.Share != r.Coverage50() || s.Level == .9 && s.Share != r.Coverage90() {
			t.Errorf("level %g holds %g; Regression says %g and %g", s.Level, s.Share, r.Coverage50(), r.Coverage90())
		}
	}
}

func TestIntervalsOfNothing(t *testing.T) {
	var v Intervals
	v.Add(1, 1, 1, 0)
	if s := v.Shares(); s != nil {
		t.Errorf("a row of no weight gives %v", s)
	}
}
