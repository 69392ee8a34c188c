package eval

import (
	"math"
	"math/rand/v2"
	"testing"
)

// newRand returns a generator and prints its seed.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// near fails unless got is want up to rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-10*max(1, math.Abs(want))) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

// mean is that of term over n rows.
func mean(n int, term func(i int) float64) float64 {
	sum := 0.0
	for i := range n {
		sum += term(i)
	}
	return sum / float64(n)
}
