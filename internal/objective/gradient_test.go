package objective_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/objective"
)

// largestSlope is the largest slope by any attribution of a copy.
func (b *batch) largestSlope(gradient []float64, copyAt int) float64 {
	most := 0.0
	for row := range b.rows {
		for c := range b.outputs {
			for _, slope := range b.attributions(gradient, row, copyAt, c) {
				most = max(most, math.Abs(slope))
			}
		}
	}
	return most
}

// An estimator teaches some copies; the others are what it teaches them.
func TestWhichCopiesAreTaught(t *testing.T) {
	rng := seeded(t, 9)
	for _, c := range []struct {
		estimator objective.Estimator
		taught    []int
	}{
		{objective.LeastSquares, []int{objective.Observed, objective.Masked}},
		{objective.Stopped, []int{objective.Observed}},
		{objective.TwoDraws, []int{objective.Observed, objective.WithD1, objective.WithoutD1, objective.WithD2, objective.WithoutD2}},
		{objective.Absolute, []int{objective.Observed, objective.WithD1, objective.WithoutD1, objective.WithD2, objective.WithoutD2}},
	} {
		t.Run(string(c.estimator), func(t *testing.T) {
			b := randomBatch(rng, c.estimator)
			onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
				_, gradient := estimate(t, on, c.estimator, b)
				for at := range b.copies {
					slope, taught := b.largestSlope(gradient, at), slices.Contains(c.taught, at)
					if (slope != 0) != taught {
						t.Errorf("copy %d has slopes up to %g, but that it is taught should be %v", at, slope, taught)
					}
				}
			})
		})
	}
}

// Moving all attributions of a row alike moves the prediction: of that LeastSquares
// knows nothing. It moves the allocation.
func TestLeastSquaresDoesNotMoveThePrediction(t *testing.T) {
	b := randomBatch(seeded(t, 10), objective.LeastSquares)
	onEveryBackend(t, func(t *testing.T, on *engine.Backend) {
		_, gradient := estimate(t, on, objective.LeastSquares, b)
		for _, at := range []int{objective.Observed, objective.Masked} {
			steepest := 0.0 // for one player at the cost of the others
			for row := range b.rows {
				for c := range b.outputs {
					slope := b.attributions(gradient, row, at, c)
					together := floats.Dot(slope, b.maskOf(row, at))
					near(t, "slope by all players of a row", together, 0, 1e-12)
					steepest = max(steepest, floats.Max(slope))
				}
			}
			if steepest < 0.1 {
				t.Errorf("copy %d: the allocation has slopes up to %g only", at, steepest)
			}
		}
	})
}
