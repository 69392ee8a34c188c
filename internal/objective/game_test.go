package objective_test

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

// coalition S is the number Σ_{d∈S} 2^d.
type coalition uint

func (s coalition) size() int { return bits.OnesCount(uint(s)) }

func (s coalition) has(d int) bool { return s>>d&1 == 1 }

// subsets are all coalitions of members of s, ∅ first and s last.
func (s coalition) subsets() []coalition {
	var all []coalition
	for part := range s + 1 {
		if part&^s == 0 {
			all = append(all, part)
		}
	}
	return all
}

func everyone(players int) coalition { return 1<<players - 1 }

// game is given by its values, [coalition][output]. v(∅) = 0, as in a network.
type game struct {
	players, outputs int
	v                []float64
}

// randomGame has independent standard normal values.
func randomGame(players, outputs int, rng *rand.Rand) game {
	g := game{players, outputs, make([]float64, outputs<<players)}
	for i := outputs; i < len(g.v); i++ {
		g.v[i] = rng.NormFloat64()
	}
	return g
}

func (g game) value(s coalition, output int) float64 { return g.v[int(s)*g.outputs+output] }

func (g game) Players() int { return g.players }

func (g game) Outputs() int { return g.outputs }

func (g game) Values(_ context.Context, batch *shapley.Coalitions) ([]float64, error) {
	var v []float64
	for i := range batch.Len() {
		var s coalition
		for d := range batch.Members(i) {
			s |= 1 << d
		}
		v = append(v, g.v[int(s)*g.outputs:][:g.outputs]...)
	}
	return v, nil
}

// shapley returns the exact Shapley values [output][player] of the game among the
// members of whole.
func (g game) shapley(t *testing.T, whole coalition) []float64 {
	t.Helper()
	var present []int
	for d := range g.players {
		if whole.has(d) {
			present = append(present, d)
		}
	}
	sub := shapley.Restrict(g, present)
	values, err := shapley.Exact(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	return values.Extend(sub).Phi
}

// shared are attributions [output][player] that sum to v(S), each member's the same.
func (g game) shared(s coalition) []float64 {
	f := make([]float64, g.outputs*g.players)
	for c := range g.outputs {
		for d := range g.players {
			if s.has(d) {
				f[c*g.players+d] = g.value(s, c) / float64(s.size())
			}
		}
	}
	return f
}

// draw is a coalition with its probability.
type draw struct {
	coalition
	probability float64
}

// drawBySize gives a coalition of members of whole a probability of weight(size) up
// to a factor, shared evenly among those of its size.
func drawBySize(whole coalition, weight func(size int) float64) []draw {
	ofSize := make([]float64, whole.size()+1)
	for _, s := range whole.subsets() {
		ofSize[s.size()]++
	}
	total := 0.0
	for size := range ofSize {
		total += weight(size)
	}
	var draws []draw
	for _, s := range whole.subsets() {
		if w := weight(s.size()); w > 0 {
			draws = append(draws, draw{s, w / total / ofSize[s.size()]})
		}
	}
	return draws
}

// predecessors are the players before d in a random order of the members of whole.
func predecessors(whole coalition, d int) []draw {
	return drawBySize(whole&^(1<<d), func(int) float64 { return 1 })
}

// kernel is the Shapley kernel: sizes 0 < s < n with probability ∝ 1/(s(n−s)).
func kernel(whole coalition) []draw {
	n := whole.size()
	return drawBySize(whole, func(s int) float64 {
		if s == 0 || s == n {
			return 0
		}
		return 1 / float64(s*(n-s))
	})
}

// permutation are the players before a random one in a random order: every size
// below n alike.
func permutation(whole coalition) []draw {
	return drawBySize(whole, func(s int) float64 {
		if s == whole.size() {
			return 0
		}
		return 1
	})
}
