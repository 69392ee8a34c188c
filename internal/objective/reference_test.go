package objective_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

var estimators = []objective.Estimator{objective.LeastSquares, objective.TwoDraws, objective.Stopped, objective.Absolute}

// reference is DSHAP of one row and output, element by element. It reads frozen in
// place of f wherever the gradient is stopped.
func (b *batch) reference(e objective.Estimator, f, frozen []float64, row, output int) float64 {
	of := func(f []float64, copyAt int) []float64 { return b.attributions(f, row, copyAt, output) }
	gain := func(f []float64, with, without int) float64 {
		return floats.Sum(of(f, with)) - floats.Sum(of(f, without))
	}
	allocation := func(whole, part int) float64 {
		n := max(1, floats.Sum(b.maskOf(row, whole)))
		total, frozenTotal := floats.Sum(of(f, whole)), floats.Sum(of(frozen, whole))
		gap := floats.Sum(of(frozen, part))
		for d, present := range b.maskOf(row, part) {
			if present == 1 {
				gap -= of(f, whole)[d] - total/n + frozenTotal/n
			}
		}
		return gap * gap
	}
	own := floats.Dot(of(f, objective.Observed), b.pick[row*b.players:][:b.players])
	switch e {
	case objective.LeastSquares:
		full := allocation(objective.Observed, objective.Masked) + allocation(objective.Observed, objective.Complement)
		return full/2 + allocation(objective.Masked, objective.Within)/2
	case objective.Stopped:
		t := gain(frozen, objective.WithD1, objective.WithoutD1) - own
		return t * t
	}
	t1 := gain(f, objective.WithD1, objective.WithoutD1) - own
	t2 := gain(f, objective.WithD2, objective.WithoutD2) - own
	if e == objective.Absolute {
		return math.Abs(t1 * t2)
	}
	return t1 * t2
}

// randomBatch has rows with all players present, with some absent, and with none, and
// attributions that are zero where a player is absent.
func randomBatch(rng *rand.Rand, e objective.Estimator) *batch {
	b := &batch{copies: e.Copies(), outputs: 2, players: 5}
	part := func(s coalition) coalition { return s & coalition(rng.Uint32()) }
	copyOf := func(s coalition) evaluated {
		f := make([]float64, b.outputs*b.players)
		for i := range f {
			if s.has(i % b.players) {
				f[i] = rng.NormFloat64()
			}
		}
		return evaluated{s, f}
	}
	for _, whole := range []coalition{everyone(5), everyone(5), 0b10110, 0b00101, 0b01000, 0} {
		pick := whole & -whole // the first player
		copies := []evaluated{copyOf(whole)}
		if e == objective.LeastSquares {
			masked := part(whole)
			copies = append(copies, copyOf(masked), copyOf(whole&^masked), copyOf(part(masked)))
		} else {
			copies = append(copies, copyOf(part(whole)))
			for len(copies) < e.Copies() {
				before := part(whole &^ pick)
				copies = append(copies, copyOf(before|pick), copyOf(before))
			}
		}
		b.add(rng.Float64()+0.5, pick, copies...)
	}
	return b
}

func TestValuesAndSlopesAgainstTheReference(t *testing.T) {
	const step = 1e-3 // the losses are quadratic: central differences are exact up to rounding
	rng := seeded(t, 8)
	for _, e := range estimators {
		t.Run(string(e), func(t *testing.T) {
			b := randomBatch(rng, e)
			loss := func(f []float64) float64 {
				sum := 0.0
				for row, w := range b.weight {
					for c := range b.outputs {
						sum += w * b.reference(e, f, b.f, row, c)
					}
				}
				return sum
			}
			slope := make([]float64, len(b.f))
			moved := append([]float64(nil), b.f...)
			for i, at := range b.f {
				moved[i] = at + step
				above := loss(moved)
				moved[i] = at - step
				slope[i] = (above - loss(moved)) / (2 * step)
				moved[i] = at
			}
			onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
				value, gradient := estimate(t, on, e, b)
				for i, got := range value {
					want := b.reference(e, b.f, b.f, i/b.outputs, i%b.outputs)
					near(t, "value", got, want, 1e-12)
				}
				for i, got := range gradient {
					near(t, "slope", got, slope[i], 1e-9)
				}
			})
		})
	}
}
