package shapley_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

// A solver computes the Shapley values of a game; an axiom is a check that it
// passes on a random game.
type (
	solver func(t *testing.T, game shapley.Game) *shapley.Values
	axiom  func(t *testing.T, solve solver, game table, rng *rand.Rand)
)

// efficiency: Σ_i φ_i = v(N) − v(∅).
func efficiency(t *testing.T, solve solver, game table, _ *rand.Rand) {
	t.Helper()
	values := solve(t, game)
	all := uint(1)<<game.n - 1
	for c := range game.outputs {
		sum := 0.0
		for _, phi := range values.Of(c) {
			sum += phi
		}
		near(t, "v(∅)", values.Empty[c], game.at(0, c))
		near(t, "v(N)", values.Grand[c], game.at(all, c))
		near(t, "Σφ", sum, game.at(all, c)-game.at(0, c))
	}
}

// symmetry: two players who contribute the same to every coalition get the same.
func symmetry(t *testing.T, solve solver, game table, rng *rand.Rand) {
	t.Helper()
	pair := rng.Perm(game.n)[:2]
	i, j := pair[0], pair[1]
	swap := func(s uint) uint {
		if s>>i&1 != s>>j&1 {
			s ^= 1<<i | 1<<j
		}
		return s
	}
	values := solve(t, tabulate(game.n, game.outputs, func(s uint, c int) float64 {
		return game.at(s, c) + game.at(swap(s), c)
	}))
	for c := range game.outputs {
		near(t, fmt.Sprintf("φ_%d of players alike", i), values.At(c, i), values.At(c, j))
	}
}

// dummy: a player who adds the same to every coalition gets just that.
func dummy(t *testing.T, solve solver, game table, rng *rand.Rand) {
	t.Helper()
	d, worth := rng.IntN(game.n), rng.NormFloat64()
	values := solve(t, tabulate(game.n, game.outputs, func(s uint, c int) float64 {
		return game.at(s&^(1<<d), c) + worth*float64(s>>d&1)
	}))
	for c := range game.outputs {
		near(t, fmt.Sprintf("φ_%d of a dummy", d), values.At(c, d), worth)
	}
}

// linearity: φ(a·v + b·w) = a·φ(v) + b·φ(w).
func linearity(t *testing.T, solve solver, game table, rng *rand.Rand) {
	t.Helper()
	other := randomTable(game.n, game.outputs, rng)
	a, b := rng.NormFloat64(), rng.NormFloat64()
	mix := solve(t, tabulate(game.n, game.outputs, func(s uint, c int) float64 {
		return a*game.at(s, c) + b*other.at(s, c)
	}))
	v, w := solve(t, game), solve(t, other)
	for k := range mix.Phi {
		near(t, "φ(av+bw)", mix.Phi[k], a*v.Phi[k]+b*w.Phi[k])
	}
}

// checkAxioms runs axioms on random games of 2 to 9 players and 1 to 3 outputs.
func checkAxioms(t *testing.T, solve solver, axioms map[string]axiom) {
	t.Helper()
	for name, check := range axioms {
		t.Run(name, func(t *testing.T) {
			rng := newRand(t)
			for n := 2; n < 10; n++ {
				check(t, solve, randomTable(n, 1+rng.IntN(3), rng), rng)
			}
		})
	}
}

func TestExactAxioms(t *testing.T) {
	checkAxioms(t, exact, map[string]axiom{
		"efficiency": efficiency, "symmetry": symmetry, "dummy": dummy, "linearity": linearity,
	})
}

// Symmetry holds for the estimate only in expectation; the other axioms hold for
// every order, linearity if both games are played in the same orders.
func TestPermutationAxioms(t *testing.T) {
	solve := func(t *testing.T, game shapley.Game) *shapley.Values {
		return permutation(t, game, 5, rand.New(rand.NewPCG(1, 0)))
	}
	checkAxioms(t, solve, map[string]axiom{
		"efficiency": efficiency, "dummy": dummy, "linearity": linearity,
	})
}
