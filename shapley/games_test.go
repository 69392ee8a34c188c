package shapley_test

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random games; 0 draws one")

// newRand returns a generator whose seed is drawn anew in each run, for tests
// that must pass whatever it is.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	return fixedRand(t, seed)
}

// fixedRand returns a generator with a fixed seed, for statistical tests, which
// fail for some seeds by their nature.
func fixedRand(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func exact(t *testing.T, game shapley.Game) *shapley.Values {
	t.Helper()
	values, err := shapley.Exact(t.Context(), game)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func interactions(t *testing.T, game shapley.Game) *shapley.InteractionIndices {
	t.Helper()
	indices, err := shapley.Interactions(t.Context(), game)
	if err != nil {
		t.Fatal(err)
	}
	return indices
}

func permutation(t *testing.T, game shapley.Game, pairs int, rng *rand.Rand) *shapley.Values {
	t.Helper()
	values, err := shapley.Permutation(t.Context(), game, pairs, rng)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// near fails the test unless got is want up to rounding of sums of values near 1.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

// table is a game given by its values, [coalition][output], where coalition S is
// the number Σ_{i∈S} 2^i.
type table struct {
	n, outputs int
	v          []float64
}

// tabulate returns the game v(S, output) of n players.
func tabulate(n, outputs int, v func(s uint, output int) float64) table {
	g := table{n: n, outputs: outputs}
	for s := range uint(1) << n {
		for c := range outputs {
			g.v = append(g.v, v(s, c))
		}
	}
	return g
}

// randomTable returns a game whose values, v(∅) among them, are independent
// standard normal.
func randomTable(n, outputs int, rng *rand.Rand) table {
	return tabulate(n, outputs, func(uint, int) float64 { return rng.NormFloat64() })
}

func (g table) at(s uint, output int) float64 { return g.v[int(s)*g.outputs+output] }

func (g table) Players() int { return g.n }

func (g table) Outputs() int { return g.outputs }

func (g table) Values(_ context.Context, s *shapley.Coalitions) ([]float64, error) {
	v := make([]float64, 0, s.Len()*g.outputs)
	for i := range s.Len() {
		var coalition uint
		for player := range s.Members(i) {
			coalition |= 1 << player
		}
		for c := range g.outputs {
			v = append(v, g.at(coalition, c))
		}
	}
	return v, nil
}

// additive is the game v(S) = base + Σ_{i∈S} worth_i.
func additive(base float64, worth ...float64) shapley.Game {
	return shapley.GameFunc{N: len(worth), V: func(members []int) float64 {
		v := base
		for _, i := range members {
			v += worth[i]
		}
		return v
	}}
}

// glove is the market in which a pair of gloves is worth 1: the first left
// players own a left glove each, the others a right one.
func glove(left, right int) shapley.Game {
	return shapley.GameFunc{N: left + right, V: func(members []int) float64 {
		lefts := 0
		for _, i := range members {
			if i < left {
				lefts++
			}
		}
		return float64(min(lefts, len(members)-lefts))
	}}
}

// airport is the game of a runway that must be as long as its most demanding
// user needs: v(S) = max_{i∈S} cost_i.
func airport(cost ...float64) shapley.Game {
	return shapley.GameFunc{N: len(cost), V: func(members []int) float64 {
		v := 0.0
		for _, i := range members {
			v = max(v, cost[i])
		}
		return v
	}}
}

// unanimity is the game of n players that is won by those who have all of the
// carrier on their side.
func unanimity(n int, carrier ...int) shapley.Game {
	return shapley.GameFunc{N: n, V: func(members []int) float64 {
		for _, i := range carrier {
			if !slices.Contains(members, i) {
				return 0
			}
		}
		return 1
	}}
}

// voting is the game won by coalitions whose votes reach the quota.
func voting(quota int, votes ...int) shapley.Game {
	return shapley.GameFunc{N: len(votes), V: func(members []int) float64 {
		sum := 0
		for _, i := range members {
			sum += votes[i]
		}
		if sum >= quota {
			return 1
		}
		return 0
	}}
}

// product is the game v(S) = Π_{i∈S} factor_i, with v(∅) = 1.
type product []float64

func (factor product) Players() int { return len(factor) }

func (factor product) Outputs() int { return 1 }

func (factor product) Values(_ context.Context, s *shapley.Coalitions) ([]float64, error) {
	v := make([]float64, s.Len())
	for i := range v {
		v[i] = 1
		for player := range s.Members(i) {
			v[i] *= factor[player]
		}
	}
	return v, nil
}

// owen integrates the partial derivative of the multilinear extension of a
// product game, by the members of group, along the diagonal (Owen, 1972):
//
//	∫₀¹ Π_{i∈group} (a_i−1) · Π_{j∉group} (1 + t (a_j−1)) dt
//
// For one player it is the Shapley value, for two the interaction index.
func (factor product) owen(group ...int) float64 {
	slope := 1.0
	polynomial := []float64{1} // in t, lowest power first
	for j, a := range factor {
		if slices.Contains(group, j) {
			slope *= a - 1
			continue
		}
		polynomial = append(polynomial, 0)
		for k := len(polynomial) - 1; k > 0; k-- {
			polynomial[k] += (a - 1) * polynomial[k-1]
		}
	}
	integral := 0.0
	for k, coefficient := range polynomial {
		integral += coefficient / float64(k+1)
	}
	return slope * integral
}
