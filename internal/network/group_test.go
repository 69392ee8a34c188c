package network_test

import (
	"math"
	"testing"

	"github.com/psi-shapley/psi/internal/engine"
	"github.com/psi-shapley/psi/internal/form/formtest"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/shapley"
)

// A group of columns that is one player has the Shapley value of the game in which they
// come and go together, whether declared before training or after: the weights are the same.
func TestGroupsArePlayers(t *testing.T) {
	for _, k := range []kind{product, pairs} {
		t.Run(k.name, func(t *testing.T) { groupsArePlayers(t, k) })
	}
}

func groupsArePlayers(t *testing.T, k kind) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		rng := newRand(t)
		config := k.small(7, 2)
		if k.pairs { // of two groups, of one, of a group and a column
			config.Pairs = [][]int{{0, 5, 4, 1, 2, 6, 3, 7}, {0, 4, 2, 3, 5, 1, 6, 7}}
		}
		s := newSubject(t, b, config, rng)
		rows := formtest.Rows(rng, config.Inputs, 5, 0.3)
		weights := formtest.Weights(rng, s.Config)
		s.put(t, weights)
		alone := explain(t, s.evaluator(t, s.exactNodes()), rows)

		config.Inputs.Groups = [][]int{{3}, {0, 4, 2}, {5, 1, 6}}
		g := newSubject(t, b, config, rng)
		g.put(t, weights)
		e := g.evaluator(t, g.exactNodes())
		got := explain(t, e, rows)
		pairs := interactions(t, e, rows)
		players := len(config.Inputs.Groups)
		for i := range rows.Rows {
			game := e.RowGame(rows, i)
			restricted := shapley.Restrict(game, game.Present())
			values, err := shapley.Exact(t.Context(), restricted)
			if err != nil {
				t.Fatal(err)
			}
			indices, err := shapley.Interactions(t.Context(), restricted)
			if err != nil {
				t.Fatal(err)
			}
			per := 2 * players
			atMost(t, "distance from the group's Shapley values", relativeError(got.Attributions[i*per:(i+1)*per], values.Extend(restricted).Phi), 1e-5)
			// Enumerated interactions are differences of values, which are rounded: small ones are known to 1e-6 of the values.
			want := indices.Extend(restricted).I
			rounding := 0.0
			if size := norm(want); size > 0 {
				rounding = 1e-6 * norm(got.Value[i*2:i*2+2]) / size
			}
			atMost(t, "distance from the group's interactions", relativeError(pairs[i*per*players:(i+1)*per*players], want), 1e-5+rounding)
			for k := range 2 {
				near(t, "value", float64(got.Value[i*2+k]), float64(alone.Value[i*2+k]))
				for player, columns := range config.Inputs.Groups {
					variance := 0.0
					for _, j := range columns {
						sigma := float64(alone.Std[(i*2+k)*7+j])
						variance += sigma * sigma
					}
					near(t, "σ of a group", float64(got.Std[(i*2+k)*players+player]), math.Sqrt(variance))
				}
			}
		}
	})
}

// The learned head's attribution of a group is that of its members together.
func TestLearnedGroupsAreSums(t *testing.T) {
	onEachBackend(t, func(t *testing.T, b *engine.Backend) {
		rng := newRand(t)
		config := learned.small(5, 1)
		s := newSubject(t, b, config, rng)
		rows := formtest.Rows(rng, config.Inputs, 4, 0.2)
		weights := formtest.Weights(rng, s.Config)
		s.put(t, weights)
		alone := explain(t, s.evaluator(t, 1), rows)
		config.Inputs.Groups = [][]int{{0, 1}, {2}, {4, 3}}
		g := newSubject(t, b, config, rng)
		g.put(t, weights)
		got := explain(t, g.evaluator(t, 1), rows)
		for i := range rows.Rows {
			for player, columns := range config.Inputs.Groups {
				sum := 0.0
				for _, j := range columns {
					sum += float64(alone.Attributions[i*5+j])
				}
				near(t, "attribution of a group", float64(got.Attributions[i*3+player]), sum)
			}
		}
	})
}

// Scores of classes add up to 0 for every coalition, and so do a player's attributions.
func TestScoresOfClassesAreCentred(t *testing.T) {
	onEachKind(t, func(t *testing.T, b *engine.Backend, k kind) {
		rng := newRand(t)
		config := k.small(5, 3)
		config.Classes = true
		s := newSubject(t, b, config, rng)
		s.put(t, formtest.Weights(rng, s.Config))
		rows := formtest.Rows(rng, config.Inputs, 4, 0.2)
		x := explain(t, s.evaluator(t, s.exactNodes()), rows)
		for i := range rows.Rows {
			sum := 0.0
			for c := range 3 {
				sum += float64(x.Value[i*3+c])
			}
			near(t, "sum of scores", sum, 0)
			for d := range 5 {
				sum := 0.0
				for c := range 3 {
					sum += float64(x.Attributions[(i*3+c)*5+d])
				}
				near(t, "sum of attributions", sum, 0)
			}
		}
	})
}

func TestBadGroupsAreRefused(t *testing.T) {
	for name, groups := range map[string][][]int{
		"a column in none": {{0}, {1}}, "a column in two": {{0, 1}, {1, 2}}, "an empty group": {{0, 1, 2}, {}}, "no such column": {{0, 1, 3}},
	} {
		c := product.small(3, 1)
		c.Inputs.Groups = groups
		if _, err := network.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func norm[T float32 | float64](list []T) float64 {
	square := 0.0
	for _, x := range list {
		square += float64(x) * float64(x)
	}
	return math.Sqrt(square)
}
