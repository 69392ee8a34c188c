package network_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/shapley"
)

// The attributions and interactions of the exact head are the Shapley values and
// interaction indices of its game, of the observed cells if some are missing: the
// definition, enumerated over all coalitions, gives the same.
func TestExactHeadIsTheShapleyValue(t *testing.T) {
	cases := []struct {
		kind                   kind
		players, outputs, rows int
		order                  []int
	}{
		{product, 1, 1, 3, nil},
		{product, 3, 1, 6, nil},
		{product, 8, 1, 4, nil},
		{product, 8, 3, 4, nil},
		{product, 12, 1, 1, nil},
		{product, 14, 1, 1, nil},
		{pairs, 1, 1, 3, nil},
		{pairs, 2, 1, 6, nil},
		{pairs, 3, 1, 6, nil},
		{pairs, 8, 3, 4, nil},
		{pairs, 13, 1, 1, nil},
		{pairs, 14, 1, 1, nil},
		{tensorTrain, 1, 1, 3, nil},
		{tensorTrain, 3, 1, 6, nil},
		{tensorTrain, 8, 1, 4, nil},
		{tensorTrain, 8, 3, 4, []int{3, 0, 7, 5, 1, 6, 2, 4}},
		{tensorTrain, 12, 1, 1, nil},
		{tensorTrain, 14, 1, 1, nil},
	}
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		for _, c := range cases {
			for _, missing := range []float64{0, 0.3} {
				t.Run(fmt.Sprintf("%s/players=%d/outputs=%d/missing=%v", c.kind.name, c.players, c.outputs, missing), func(t *testing.T) {
					rng := newRand(t)
					config := c.kind.small(c.players, c.outputs)
					config.Order = c.order
					s := newSubject(t, b, config, rng)
					wantShapley(t, s, formtest.Rows(rng, s.Inputs, c.rows, missing))
				})
			}
		}
	})
}

// So they are for tables of numbers alone and of categories alone.
func TestExactHeadOnOneKindOfColumn(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		for name, in := range map[string]form.Inputs{
			"numbers":    {Numeric: 4, Bins: 3},
			"categories": {Levels: []int{2, 3, 5, 2}},
		} {
			for _, k := range exactKinds {
				t.Run(name+"/"+k.name, func(t *testing.T) {
					rng := newRand(t)
					config := k.small(4, 1)
					config.Inputs = in
					wantShapley(t, newSubject(t, b, config, rng), formtest.Rows(rng, in, 3, 0.2))
				})
			}
		}
	})
}

// wantShapley holds attributions and interactions of rows to the definitions.
func wantShapley(t *testing.T, s *subject, rows *encode.Batch) {
	t.Helper()
	const tolerance = 1e-5
	e := s.evaluator(t, s.exactNodes())
	phi, indices := enumerate(t, e, rows)
	attributions := relativeError(explain(t, e, rows).Attributions, phi)
	pairs := relativeError(interactions(t, e, rows), indices)
	t.Logf("relative error of attributions %.1e, of interactions %.1e", attributions, pairs)
	atMost(t, "relative error of attributions", attributions, tolerance)
	atMost(t, "relative error of interactions", pairs, tolerance)
}

// enumerate gives the Shapley values [rows, C, D] and interaction indices
// [rows, C, D, D] of the observed cells by their definitions.
func enumerate(t *testing.T, e *network.Evaluator, rows *encode.Batch) (phi, indices []float64) {
	t.Helper()
	for i := range rows.Rows {
		game := shapley.Restrict(e.RowGame(rows, i), observed(rows, i))
		twice := remembered{game, map[int][]float64{}}
		values, err := shapley.Exact(t.Context(), twice)
		if err != nil {
			t.Fatal(err)
		}
		pairs, err := shapley.Interactions(t.Context(), twice)
		if err != nil {
			t.Fatal(err)
		}
		phi = append(phi, values.Extend(game).Phi...)
		indices = append(indices, pairs.Extend(game).I...)
	}
	return phi, indices
}

// remembered is a game that may be enumerated again without being evaluated again.
// Batches are told apart by their first coalition.
type remembered struct {
	shapley.Game
	values map[int][]float64
}

func (g remembered) Values(ctx context.Context, s *shapley.Coalitions) ([]float64, error) {
	first := 0
	for player := range s.Members(0) {
		first |= 1 << player
	}
	if v, ok := g.values[first]; ok {
		return v, nil
	}
	v, err := g.Game.Values(ctx, s)
	g.values[first] = v
	return v, err
}

// observed lists the players that row i has.
func observed(rows *encode.Batch, i int) []int {
	var present []int
	for d, seen := range rows.Observed[i*rows.Players() : (i+1)*rows.Players()] {
		if seen == 1 {
			present = append(present, d)
		}
	}
	return present
}

// Where there are too many coalitions to enumerate, the exact head's attributions are
// held to 2,000 random orders of the players: 1,000 antithetic pairs, an order and its
// reverse. The distance is at most 3 standard errors for 99 in 100 attributions (of
// normal errors it would be for 99.7). It takes minutes; set PSI_SLOW to run it.
func TestExactHeadAgreesWithSampling(t *testing.T) {
	if os.Getenv("PSI_SLOW") == "" {
		t.Skip("slow: set PSI_SLOW to run it")
	}
	const (
		pairs  = 1000
		errors = 3    // standard errors that are allowed
		share  = 0.99 // of attributions that must be so near
		// Antithetic pairs are exact if players interact only in twos, so standard
		// errors can be as small as rounding is. They are not taken to be smaller.
		rounding = 1e-6 // of the root-mean-square attribution
	)
	backend, why, err := engine.Open("auto")
	if err != nil {
		t.Fatal(err)
	}
	t.Log(why)
	for _, c := range []struct{ players, rows int }{{57, 6}, {128, 2}} {
		for _, k := range exactKinds {
			t.Run(fmt.Sprintf("%s/players=%d", k.name, c.players), func(t *testing.T) {
				rng := fixedRand(t, 1)
				config := k.small(c.players, 1)
				config.Rank = 2
				config.Channels = max(config.Channels, 16) // with few, the errors of a row go together: 99 of 100 is then missed by chance
				s := newSubject(t, backend, config, rng)
				rows := formtest.Rows(rng, s.Inputs, c.rows, 0)
				e := s.evaluator(t, s.exactNodes())
				exact := explain(t, e, rows).Attributions
				floor := rounding * rootMeanSquare(exact)
				near, square := 0, 0.0
				var se []float64
				for i := range c.rows {
					sampled, err := shapley.Permutation(t.Context(), e.RowGame(rows, i), pairs, rng)
					if err != nil {
						t.Fatal(err)
					}
					for d := range c.players {
						se = append(se, max(sampled.StandardError(0, d), floor))
						distance := (float64(exact[i*c.players+d]) - sampled.At(0, d)) / se[len(se)-1]
						square += distance * distance / float64(len(exact))
						if math.Abs(distance) <= errors {
							near++
						}
					}
				}
				got := float64(near) / float64(len(exact))
				t.Logf("%.1f %% of %d attributions within %d standard errors, mean square %.2f", 100*got, len(exact), errors, square)
				t.Logf("standard errors are %.1e of the attributions", rootMeanSquare(se)/rootMeanSquare(exact))
				if got < share {
					t.Errorf("only %.1f %%", 100*got)
				}
			})
		}
	}
}

func rootMeanSquare[T float32 | float64](x []T) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(x)))
}

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

// MinNodes is enough for the rows it is shown, one less is not, and it is never more
// than what is exact for any game.
func TestFewestNodes(t *testing.T) {
	const goal = 1e-6
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		for _, k := range exactKinds {
			t.Run(k.name, func(t *testing.T) {
				rng := newRand(t)
				s := newSubject(t, b, k.small(12, 1), rng)
				rows := formtest.Rows(rng, s.Inputs, 30, 0.1)
				nodes, err := s.MinNodes(t.Context(), rows, func(nodes int) (form.Evaluator, error) {
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

// The value of no players is 0: exactly, not up to rounding.
func TestNobodyIsWorthNothing(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		rows := formtest.Rows(rng, s.Inputs, 5, 1)
		x := explain(t, s.evaluator(t, s.exactNodes()), rows)
		wantZeros(t, "value", x.Value)
		wantZeros(t, "attributions", x.Attributions)
		wantZeros(t, "σ", x.Std)
		const per = 3
		none := make([]float32, rows.Rows*per*rows.Players())
		wantZeros(t, "value of coalitions", coalitions(t, s.evaluator(t, 1), rows, none, per))
	})
}

// An absent player has no attribution, no σ and no interactions; a present one has a
// positive σ.
func TestAbsentPlayersGetNothing(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		const outputs = 2
		s := newSubject(t, b, k.small(7, outputs), rng)
		rows := formtest.Rows(rng, s.Inputs, 20, 0.5)
		e := s.evaluator(t, s.exactNodes())
		x := explain(t, e, rows)
		d := rows.Players()
		for i := range x.Attributions {
			present := rows.Observed[i/(outputs*d)*d+i%d] == 1
			if !present && (x.Attributions[i] != 0 || x.Std[i] != 0) {
				t.Fatalf("element %d is of an absent player: attribution %v, σ %v", i, x.Attributions[i], x.Std[i])
			}
			if present && (x.Attributions[i] == 0 || x.Std[i] <= 0) {
				t.Fatalf("element %d is of a present player: attribution %v, σ %v", i, x.Attributions[i], x.Std[i])
			}
		}
		if !slices.Contains(exactKinds, k) {
			return
		}
		for i, index := range interactions(t, e, rows) {
			row, a, c := i/(outputs*d*d), i/d%d, i%d
			present := rows.Observed[row*d+a] == 1 && rows.Observed[row*d+c] == 1
			if want := present && a != c; (index != 0) != want {
				t.Fatalf("row %d, players %d and %d: interaction %v", row, a, c, index)
			}
		}
	})
}

// Nothing depends on what a missing cell holds: not a bit changes.
func TestContentsOfMissingCellsAreNotSeen(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		e := s.evaluator(t, s.exactNodes())
		rows := formtest.Rows(rng, s.Inputs, 20, 0.5)
		before := explain(t, e, rows)
		formtest.Cells(rng, s.Inputs, rows, func(row, d int) bool { return rows.Observed[row*rows.Players()+d] == 0 })
		wantSame(t, explain(t, e, rows), before)
	})
}

// h² is the variance due to what is hidden: exactly 0 where nothing is, positive
// where anything is.
func TestHiddenVarianceNeedsSomethingHidden(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		s := newSubject(t, b, k.small(7, 2), rng)
		e := s.evaluator(t, 1)
		rows := formtest.Rows(rng, s.Inputs, 7, 0)
		wantZeros(t, "h²", explain(t, e, rows).HiddenVariance)
		hideOneEach(rows)
		for i, h := range explain(t, e, rows).HiddenVariance {
			if h <= 0 {
				t.Errorf("row %d: h² = %v with one player absent", i/2, h)
			}
		}
	})
}

// hideOneEach makes player i of row i absent.
func hideOneEach(rows *encode.Batch) {
	for i := range rows.Rows {
		rows.Observed[i*rows.Players()+i%rows.Players()] = 0
	}
}

func wantZeros(t *testing.T, what string, x []float32) {
	t.Helper()
	if i := slices.IndexFunc(x, func(v float32) bool { return v != 0 }); i >= 0 || len(x) == 0 {
		t.Errorf("%s: element %d of %d is %v, want exactly 0", what, i, len(x), x[max(i, 0):][:1])
	}
}
