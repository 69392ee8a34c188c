package shapley_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

// The sub-game's values are those of the whole game with the absent players made
// null players: v(S) replaced by v(S ∩ present).
func TestRestrictMakesAbsentPlayersNull(t *testing.T) {
	rng := newRand(t)
	const n = 7
	for size := range n + 1 {
		game := randomTable(n, 2, rng)
		present := rng.Perm(n)[:size]
		var among uint
		for _, player := range present {
			among |= 1 << player
		}
		null := tabulate(n, game.outputs, func(s uint, c int) float64 { return game.at(s&among, c) })
		sub := shapley.Restrict(game, present)

		want, got := exact(t, null), exact(t, sub).Extend(sub)
		wantPairs, gotPairs := interactions(t, null), interactions(t, sub).Extend(sub)
		for c := range game.outputs {
			near(t, "v(∅)", got.Empty[c], want.Empty[c])
			near(t, "v(N)", got.Grand[c], want.Grand[c])
			for i := range n {
				near(t, fmt.Sprintf("φ_%d", i), got.At(c, i), want.At(c, i))
				if !slices.Contains(present, i) && got.At(c, i) != 0 {
					t.Errorf("absent player %d gets %g", i, got.At(c, i))
				}
				for j := range n {
					near(t, fmt.Sprintf("I_%d%d", i, j), gotPairs.At(c, i, j), wantPairs.At(c, i, j))
				}
			}
		}
		if evaluated := 1 << size; got.Coalitions != evaluated || gotPairs.Coalitions != evaluated {
			t.Errorf("%d and %d coalitions evaluated, want %d", got.Coalitions, gotPairs.Coalitions, evaluated)
		}
	}
}

func TestExtendKeepsStandardErrors(t *testing.T) {
	rng := newRand(t)
	present := []int{4, 0, 2}
	sub := shapley.Restrict(randomTable(5, 2, rng), present)
	values := permutation(t, sub, 3, rng)
	whole := values.Extend(sub)
	for c := range sub.Outputs() {
		for k, player := range present {
			near(t, "standard error", whole.StandardError(c, player), values.StandardError(c, k))
		}
		near(t, "standard error of an absent player", whole.StandardError(c, 1), 0)
	}
}

// A row with few observed cells of many can be enumerated.
func TestRestrictOfManyPlayers(t *testing.T) {
	factors := make(product, 200)
	for i := range factors {
		factors[i] = 1 + float64(i)/400
	}
	sub := shapley.Restrict(factors, []int{199, 3, 70})
	whole := exact(t, sub).Extend(sub)
	observed := product{factors[199], factors[3], factors[70]}
	near(t, "φ_199", whole.At(0, 199), observed.owen(0))
	near(t, "φ_3", whole.At(0, 3), observed.owen(1))
	near(t, "φ_70", whole.At(0, 70), observed.owen(2))
}
