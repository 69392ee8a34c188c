package shapley_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/psi-shapley/psi/shapley"
)

func TestExactClosedForms(t *testing.T) {
	third, sixth := 1.0/3, 1.0/6
	for _, test := range []struct {
		name string
		game shapley.Game
		phi  []float64
	}{
		{"no players", additive(5), nil},
		{"one player", additive(5, -2), []float64{-2}},
		{"additive", additive(5, 1, -2, 0, 0.5), []float64{1, -2, 0, 0.5}},
		{"glove 1:2", glove(1, 2), []float64{2 * third, sixth, sixth}},
		{"glove 2:2", glove(2, 2), []float64{0.5, 0.5, 0.5, 0.5}},
		// Each length of runway is paid for by those who need it.
		{"airport", airport(1, 2, 4, 7), []float64{1. / 4, 1./4 + 1./3, 1./4 + 1./3 + 2./2, 1./4 + 1./3 + 2./2 + 3}},
		{"unanimity", unanimity(5, 0, 2, 3), []float64{third, 0, third, third, 0}},
		{"dictator", unanimity(3, 1), []float64{0, 1, 0}},
		{"majority", voting(3, 1, 1, 1, 1, 1), []float64{0.2, 0.2, 0.2, 0.2, 0.2}},
		{"shareholders", voting(51, 50, 49, 1), []float64{2 * third, sixth, sixth}},
	} {
		t.Run(test.name, func(t *testing.T) {
			values := exact(t, test.game)
			if len(values.Phi) != len(test.phi) {
				t.Fatalf("%d values, want %d", len(values.Phi), len(test.phi))
			}
			for i, want := range test.phi {
				near(t, fmt.Sprintf("φ_%d", i), values.At(0, i), want)
				near(t, "standard error", values.StandardError(0, i), 0)
			}
			if want := 1 << test.game.Players(); values.Coalitions != want {
				t.Errorf("%d coalitions evaluated, want %d", values.Coalitions, want)
			}
		})
	}
}

func TestExactProductGameIsOwenIntegral(t *testing.T) {
	rng := newRand(t)
	for _, n := range []int{1, 2, 5, 12, shapley.MaxExact} {
		factors := make(product, n)
		for i := range factors {
			factors[i] = 0.5 + rng.Float64()
		}
		values := exact(t, factors)
		for i := range factors {
			near(t, fmt.Sprintf("φ_%d of %d", i, n), values.At(0, i), factors.owen(i))
		}
	}
}

// The definition itself: the mean marginal contribution over all n! orders.
func TestExactIsMeanOverAllOrders(t *testing.T) {
	game := randomTable(6, 3, newRand(t))
	sum := make([]float64, game.outputs*game.n)
	orders := 0
	var join func(s uint)
	join = func(s uint) {
		if s == 1<<game.n-1 {
			orders++
		}
		for i := range game.n {
			if s>>i&1 == 0 {
				before := orders
				join(s | 1<<i)
				for c := range game.outputs {
					sum[c*game.n+i] += float64(orders-before) * (game.at(s|1<<i, c) - game.at(s, c))
				}
			}
		}
	}
	join(0)
	values := exact(t, game)
	for c := range game.outputs {
		for i := range game.n {
			near(t, "φ", values.At(c, i), sum[c*game.n+i]/float64(orders))
		}
	}
}

// A large v(∅) must not drown the differences that φ is made of.
func TestExactIsStableUnderOffset(t *testing.T) {
	game := randomTable(12, 1, newRand(t))
	const offset = 1 << 20
	shifted := tabulate(game.n, 1, func(s uint, c int) float64 { return game.at(s, c) + offset })
	want, got := exact(t, game), exact(t, shifted)
	rounding := math.Nextafter(offset, math.Inf(1)) - offset
	for i, phi := range want.Phi {
		if difference := math.Abs(got.Phi[i] - phi); difference > rounding {
			t.Errorf("φ_%d moves by %g, values are rounded to %g", i, difference, rounding)
		}
	}
}

func TestTooManyPlayersTellsTheCost(t *testing.T) {
	for n, cost := range map[int]string{17: "2^17 coalitions, about 10^5", 1000: "2^1000 coalitions, about 10^301"} {
		game := shapley.GameFunc{N: n, V: func([]int) float64 {
			t.Error("game was played")
			return 0
		}}
		_, exactErr := shapley.Exact(t.Context(), game)
		_, interactionsErr := shapley.Interactions(t.Context(), game)
		for _, err := range []error{exactErr, interactionsErr} {
			if !errors.Is(err, shapley.ErrTooManyPlayers) || !strings.Contains(err.Error(), cost) {
				t.Errorf("%d players: error %v, want one with %q", n, err, cost)
			}
		}
	}
}

// batches records the sizes of the batches a game is asked for.
type batches struct {
	shapley.Game
	sizes []int
}

func (g *batches) Values(ctx context.Context, s *shapley.Coalitions) ([]float64, error) {
	g.sizes = append(g.sizes, s.Len())
	return g.Game.Values(ctx, s)
}

func TestBatchesAreBounded(t *testing.T) {
	const bound = 1 << 12
	for name, evaluate := range map[string]func(game shapley.Game) int{
		"Exact":        func(game shapley.Game) int { return exact(t, game).Coalitions },
		"Interactions": func(game shapley.Game) int { return interactions(t, game).Coalitions },
		"Permutation":  func(game shapley.Game) int { return permutation(t, game, 1000, newRand(t)).Coalitions },
	} {
		game := &batches{Game: make(product, 14)}
		count := evaluate(game)
		sum := 0
		for _, size := range game.sizes {
			sum += size
			if size > bound {
				t.Errorf("%s: batch of %d coalitions", name, size)
			}
		}
		if sum != count {
			t.Errorf("%s: reports %d coalitions, evaluated %d", name, count, sum)
		}
	}
}

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

// The game is nearly free, so that the times are those of the solvers.

func BenchmarkExact(b *testing.B) {
	for _, n := range []int{12, 16} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := shapley.Exact(b.Context(), make(product, n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkInteractions(b *testing.B) {
	for b.Loop() {
		if _, err := shapley.Interactions(b.Context(), make(product, 12)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPermutation(b *testing.B) {
	rng := fixedRand(b, 1)
	for b.Loop() {
		if _, err := shapley.Permutation(b.Context(), make(product, 1000), 2, rng); err != nil {
			b.Fatal(err)
		}
	}
}
