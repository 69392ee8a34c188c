package shapley_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

func TestPermutationWithinStandardErrors(t *testing.T) {
	rng := fixedRand(t, 1)
	for range 20 {
		game := randomTable(8, 2, rng)
		want, got := exact(t, game), permutation(t, game, 200, rng)
		for c := range game.outputs {
			for i := range game.n {
				standardError := got.StandardError(c, i)
				if miss := math.Abs(got.At(c, i) - want.At(c, i)); miss > 4*standardError {
					t.Errorf("φ_%d off by %.3g, %.1f standard errors", i, miss, miss/standardError)
				}
			}
		}
	}
}

// About 95 % of a normal variable is within two standard deviations.
func TestPermutationStandardErrorsCover(t *testing.T) {
	rng := fixedRand(t, 2)
	covered, total := 0, 0
	for range 500 {
		game := randomTable(6, 1, rng)
		want, got := exact(t, game), permutation(t, game, 100, rng)
		for i := range game.n {
			total++
			if math.Abs(got.At(0, i)-want.At(0, i)) <= 2*got.StandardError(0, i) {
				covered++
			}
		}
	}
	coverage := float64(covered) / float64(total)
	t.Logf("%.4f of %d values within 2 standard errors", coverage, total)
	if coverage < 0.935 || coverage > 0.97 {
		t.Errorf("coverage %.4f, want about 0.954", coverage)
	}
}

func TestPermutationStandardErrorShrinksAsRoot(t *testing.T) {
	rng := fixedRand(t, 3)
	game := randomTable(10, 1, rng)
	few, many := permutation(t, game, 250, rng), permutation(t, game, 16*250, rng)
	for i := range game.n {
		ratio := few.StandardError(0, i) / many.StandardError(0, i)
		if math.Abs(ratio-4) > 0.6 {
			t.Errorf("player %d: 16 times the pairs divide the standard error by %.2f, want about 4", i, ratio)
		}
	}
}

// A pair of orders puts i before j once and after j once, so that two pairs are
// exact, without error, unless three players interact.
func TestPermutationPairsAreExactOnPairwiseGames(t *testing.T) {
	rng := newRand(t)
	const n = 40
	main, joint := make([]float64, n), make([]float64, n*n)
	for i := range n {
		main[i] = rng.NormFloat64()
		for j := range i {
			joint[i*n+j] = rng.NormFloat64() / n
		}
	}
	game := shapley.GameFunc{N: n, V: func(members []int) float64 {
		v := 3.0
		for k, i := range members {
			v += main[i]
			for _, j := range members[:k] {
				v += joint[i*n+j]
			}
		}
		return v
	}}
	values := permutation(t, game, 2, rng)
	for i := range n {
		phi := main[i]
		for j := range n {
			phi += (joint[i*n+j] + joint[j*n+i]) / 2
		}
		near(t, fmt.Sprintf("φ_%d", i), values.At(0, i), phi)
		near(t, fmt.Sprintf("standard error of φ_%d", i), values.StandardError(0, i), 0)
	}
}

func TestPermutationManyPlayers(t *testing.T) {
	const n, pairs = 1000, 5
	factors := make(product, n)
	for i := range factors {
		factors[i] = 1 + 1./n
	}
	values := permutation(t, factors, pairs, fixedRand(t, 4))
	phi := factors.owen(0) // all players are alike
	sum, squaredMiss, squaredError := 0.0, 0.0, 0.0
	for i := range n {
		sum += values.At(0, i)
		squaredMiss += math.Pow(values.At(0, i)-phi, 2)
		squaredError += math.Pow(values.StandardError(0, i), 2)
	}
	near(t, "Σφ", sum, math.Pow(1+1./n, n)-1)
	if ratio := math.Sqrt(squaredMiss / squaredError); math.Abs(ratio-1) > 0.1 {
		t.Errorf("root mean square miss is %.3f of the standard error, want about 1", ratio)
	}
	if want := 2 + 2*pairs*(n-1); values.Coalitions != want {
		t.Errorf("%d coalitions evaluated, want %d", values.Coalitions, want)
	}
}

// One seed means one estimate.
func TestPermutationIsReproducible(t *testing.T) {
	game := randomTable(7, 1, newRand(t))
	estimate := func() *shapley.Values { return permutation(t, game, 10, rand.New(rand.NewPCG(5, 6))) }
	a, b := estimate(), estimate()
	for i := range a.Phi {
		if a.Phi[i] != b.Phi[i] || a.StandardErrors[i] != b.StandardErrors[i] {
			t.Errorf("player %d: %v ± %v, then %v ± %v", i, a.Phi[i], a.StandardErrors[i], b.Phi[i], b.StandardErrors[i])
		}
	}
}

func TestPermutationSmallGames(t *testing.T) {
	for n := range 3 {
		values := permutation(t, additive(1, []float64{2, 3}[:n]...), 2, fixedRand(t, 7))
		for i := range n {
			near(t, fmt.Sprintf("φ_%d of %d", i, n), values.At(0, i), float64(2+i))
		}
	}
}

func TestPermutationNeedsTwoPairs(t *testing.T) {
	for _, pairs := range []int{-1, 0, 1} {
		if _, err := shapley.Permutation(t.Context(), additive(0, 1), pairs, fixedRand(t, 8)); err == nil {
			t.Errorf("%d pairs: no error", pairs)
		}
	}
}
