package shapley_test

import (
	"fmt"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

func TestInteractionsClosedForms(t *testing.T) {
	zero := func(int, int) float64 { return 0 }
	for _, test := range []struct {
		name  string
		game  shapley.Game
		index func(i, j int) float64
	}{
		{"no players", additive(5), zero},
		{"one player", additive(5, 1), zero},
		{"additive", additive(5, 1, -2, 0, 0.5), zero},
		// Each player more is as welcome just before the majority as it is
		// superfluous just after.
		{"majority", voting(3, 1, 1, 1, 1, 1), zero},
		{"either is enough", voting(1, 1, 1), func(int, int) float64 { return -1 }},
		{"unanimity", unanimity(6, 0, 1, 2, 3), func(i, j int) float64 {
			if i < 4 && j < 4 {
				return 1. / 3 // 1/(|T|−1)
			}
			return 0
		}},
		{"glove 1:2", glove(1, 2), func(i, j int) float64 {
			if i == 0 || j == 0 {
				return 0.5
			}
			return -0.5
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkIndices(t, interactions(t, test.game), test.index)
		})
	}
}

// checkIndices compares the indices of the first output with index(i, j), i < j.
func checkIndices(t *testing.T, indices *shapley.InteractionIndices, index func(i, j int) float64) {
	t.Helper()
	for i := range indices.Players {
		near(t, fmt.Sprintf("I_%d%d", i, i), indices.At(0, i, i), 0)
		for j := range i {
			near(t, fmt.Sprintf("I_%d%d", j, i), indices.At(0, j, i), index(j, i))
			near(t, fmt.Sprintf("I_%d%d", i, j), indices.At(0, i, j), index(j, i))
		}
	}
}

func TestInteractionsProductGameIsOwenIntegral(t *testing.T) {
	rng := newRand(t)
	for _, n := range []int{2, 3, 12} {
		factors := make(product, n)
		for i := range factors {
			factors[i] = 0.5 + rng.Float64()
		}
		checkIndices(t, interactions(t, factors), func(i, j int) float64 { return factors.owen(i, j) })
	}
}

// I_ij is what j's presence adds to the Shapley value of i among the others.
func TestInteractionsAreDifferencesOfValues(t *testing.T) {
	rng := newRand(t)
	for n := 2; n < 9; n++ {
		game := randomTable(n, 2, rng)
		indices := interactions(t, game)
		for j := range n {
			// insert makes room for player j in a coalition of the others.
			insert := func(s uint) uint { return s>>j<<(j+1) | s&(1<<j-1) }
			without := exact(t, tabulate(n-1, 2, func(s uint, c int) float64 { return game.at(insert(s), c) }))
			with := exact(t, tabulate(n-1, 2, func(s uint, c int) float64 { return game.at(insert(s)|1<<j, c) }))
			for c := range game.outputs {
				for k := range n - 1 {
					i := k
					if k >= j {
						i++
					}
					near(t, fmt.Sprintf("I_%d%d", i, j), indices.At(c, i, j), with.At(c, k)-without.At(c, k))
				}
			}
		}
	}
}
