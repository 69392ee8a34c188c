package network_test

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
)

// The derivative of a multilinear game of n players along the diagonal is a
// polynomial of degree n−1: ExactNodes(n) nodes integrate it, one node less does not.
func TestExactNodesIntegrateDegreeNMinusOne(t *testing.T) {
	worst := func(nodes, degree int) float64 {
		x, omega := form.GaussLegendre(nodes)
		most := 0.0
		for k := range degree + 1 {
			sum := 0.0
			for q := range x {
				sum += omega[q] * math.Pow(x[q], float64(k))
			}
			most = max(most, math.Abs(sum-1/float64(k+1)))
		}
		return most
	}
	for n := 1; n <= 20; n++ {
		nodes := form.ExactNodes(n)
		if e := worst(nodes, n-1); e > 1e-14 {
			t.Errorf("%d players: %d nodes err by %.1e at degree ≤ %d", n, nodes, e, n-1)
		}
		if nodes == 1 {
			continue
		}
		if e := worst(nodes-1, n-1); e < 1e-13 {
			t.Errorf("%d players: %d nodes would do: they err by %.1e at degree ≤ %d", n, nodes-1, e, n-1)
		}
	}
}

// With too few nodes the attributions do not add up to the value, and the residual
// tells by how much. It shrinks with every node, down to rounding, and stays there.
func TestResidualShrinksWithNodes(t *testing.T) {
	const (
		players = 8
		floor   = 3e-6 // of rounding, relative to the values
	)
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		for _, k := range exactKinds {
			t.Run(k.name, func(t *testing.T) {
				rng := newRand(t)
				s := newSubject(t, b, k.small(players, 2), rng)
				rows := formtest.Rows(rng, s.Inputs, 24, 0.1)
				enough := s.exactNodes()
				last := math.Inf(1)
				for _, nodes := range []int{1, 2, 3, enough, 2 * enough, 20} {
					x := explain(t, s.evaluator(t, nodes), rows)
					residual := relativeError(sums(x.Attributions, players), x.Value)
					if stated := x.Residual(); math.Abs(stated-residual) > 1e-3*residual {
						t.Errorf("%d nodes: Residual says %v, it is %v", nodes, stated, residual)
					}
					t.Logf("%2d nodes: Σφ misses v by %.1e", nodes, residual)
					switch {
					case nodes >= enough:
						atMost(t, "residual of enough nodes", residual, floor)
					case residual > last/2 && residual > floor:
						t.Errorf("%d nodes: residual %.1e, before %.1e", nodes, residual, last)
					case nodes == 1 && residual < 1e-3:
						t.Errorf("1 node: residual %.1e; the players of this game hardly interact", residual)
					}
					last = residual
				}
			})
		}
	})
}

// FewestNodes is enough for the rows it is shown, one less is not, and it is never more
// than what is exact for any game.
func TestFewestNodes(t *testing.T) {
	const goal = 1e-6
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		for _, k := range exactKinds {
			t.Run(k.name, func(t *testing.T) {
				rng := newRand(t)
				s := newSubject(t, b, k.small(12, 1), rng)
				rows := formtest.Rows(rng, s.Inputs, 30, 0.1)
				nodes, err := s.FewestNodes(t.Context(), rows, func(nodes int) (form.Evaluator, error) {
					return s.NewEvaluator(b, s.Params, weightsCopy, engine.Live, nodes), nil
				})
				if err != nil {
					t.Fatal(err)
				}
				residual := func(nodes int) float64 {
					return explain(t, s.fullEvaluator(t, engine.Live, nodes), rows).Residual()
				}
				enough, tooFew := residual(nodes), residual(nodes-1)
				t.Logf("%d nodes: residual %.1e; with one less %.1e", nodes, enough, tooFew)
				if enough > goal || tooFew <= goal || nodes > s.exactNodes() {
					t.Errorf("%d nodes: residual %.1e; with one less %.1e; the goal is %.0e", nodes, enough, tooFew, goal)
				}
			})
		}
	})
}

// sums adds up runs of n elements.
func sums(x []float32, n int) []float64 {
	out := make([]float64, len(x)/n)
	for i, v := range x {
		out[i/n] += float64(v)
	}
	return out
}
