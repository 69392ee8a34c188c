package encode_test

import (
	"math"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
)

func TestTargetIsStandardised(t *testing.T) {
	y := []float64{2, 4, 4, 4, 5, 5, 7, 9}
	target := encode.FitTarget(y)
	if target.Mean != 5 || target.Std != 2 {
		t.Fatalf("mean %g and standard deviation %g, want 5 and 2", target.Mean, target.Std)
	}
	got := target.Encode([]float64{5, 9, 0})
	if want := []float32{0, 2, -2.5}; !slices.Equal(got, want) {
		t.Errorf("encoded %v, want %v", got, want)
	}
}

func TestConstantTargetHasAScale(t *testing.T) {
	for _, constant := range []float64{4, 0.1} {
		target := encode.FitTarget(slices.Repeat([]float64{constant}, 10))
		if math.Abs(target.Mean-constant) > 1e-15 || target.Std != 1 {
			t.Errorf("always %g: mean %g and standard deviation %g, want %g and 1", constant, target.Mean, target.Std, constant)
		}
	}
}
