package shapley_test

import (
	"context"
	"errors"
	"fmt"
	"math"
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
