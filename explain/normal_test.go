package explain

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

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
