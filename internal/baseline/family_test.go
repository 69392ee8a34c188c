package baseline

import (
	"math"
	"slices"
	"testing"
)

// gradient and bend are the first and second derivative of the loss by the scores.
func TestDerivatives(t *testing.T) {
	const h = 1e-5
	for _, c := range []struct {
		classes int
		score   []float64
		y       float64
		along   []float64
	}{
		{classes: 0, score: []float64{0.7}, y: -0.4, along: []float64{1.3}},
		{classes: 2, score: []float64{0.7}, y: 0, along: []float64{1.3}},
		{classes: 2, score: []float64{-2}, y: 1, along: []float64{1.3}},
		{classes: 4, score: []float64{0.7, -1, 0.2, 0}, y: 2, along: []float64{1, -0.5, 0.3, 2}},
	} {
		f := family{c.classes}
		gradient := func(score []float64) []float64 {
			p := slices.Clone(score)
			f.respond(p)
			f.gradient(p, c.y)
			return p
		}
		moved := func(step float64, along []float64) []float64 {
			score := slices.Clone(c.score)
			for k := range score {
				score[k] += step * along[k]
			}
			return score
		}
		loss := func(score []float64) float64 {
			f.respond(score)
			return f.loss(score, c.y)
		}
		slope := 0.0
		for k, g := range gradient(c.score) {
			slope += g * c.along[k]
		}
		if want := (loss(moved(h, c.along)) - loss(moved(-h, c.along))) / (2 * h); math.Abs(slope-want) > 1e-8 {
			t.Errorf("%d classes: slope %g, expected %g", c.classes, slope, want)
		}
		p, v := slices.Clone(c.score), slices.Clone(c.along)
		f.respond(p)
		f.bend(p, v)
		above, below := gradient(moved(h, c.along)), gradient(moved(-h, c.along))
		for k := range v {
			if want := (above[k] - below[k]) / (2 * h); math.Abs(v[k]-want) > 1e-8 {
				t.Errorf("%d classes: second derivative %g of output %d, expected %g", c.classes, v[k], k, want)
			}
			unit := make([]float64, len(v))
			unit[k] = 1
			want := (gradient(moved(h, unit))[k] - gradient(moved(-h, unit))[k]) / (2 * h)
			if got := f.curvature(p[k]); math.Abs(got-want) > 1e-8 {
				t.Errorf("%d classes: curvature %g of output %d, expected %g", c.classes, got, k, want)
			}
		}
	}
}
