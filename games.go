package psi

import (
	"fmt"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/trees"
	"github.com/psi-shapley/psi/table"
)

// Game says what a prediction is when some columns are absent. Shapley values are those of a game.
type Game = explain.Game

// Games.
const (
	ObservationalGame  = explain.Observational  // the model predicts from the cells that are left, as it was trained to
	PathDependentGame  = explain.PathDependent  // trees weigh the branches of an absent column by training rows
	MissingBranchGame  = explain.MissingBranch  // trees take the branch of missing values
	BaselineGame       = explain.Baseline       // an absent column has the value of a reference row
	InterventionalGame = explain.Interventional // the mean of baseline games over reference rows
)

// maxReferences limits the reference rows of a game: for a network, each costs about as much as a row.
const maxReferences = 1000

// Game returns the model's own game, that of explanations without ExplainOptions.Game.
func (m *Model) Game() Game {
	switch {
	case m.manifest.Imported != nil:
		return m.manifest.Imported.Game
	case m.mixed != nil:
		return m.mixed[0].Game()
	}
	return ObservationalGame
}

// Games returns the games that the model has.
func (m *Model) Games() []Game {
	if !m.hasReferenceGames() {
		return []Game{m.Game()}
	}
	return []Game{m.Game(), BaselineGame, InterventionalGame}
}

// hasReferenceGames reports whether absent columns may have the values of reference rows.
func (m *Model) hasReferenceGames() bool {
	switch {
	case m.Head() == string(form.Learned):
		return false
	case m.mixed != nil:
		return !slices.ContainsFunc(m.mixed, func(member *Model) bool { return !member.hasReferenceGames() })
	case m.ensemble != nil:
		return m.manifest.Imported.Game == PathDependentGame
	}
	return m.Backend() == Native
}

// checkGame rejects games that the model does not have, with the reason.
func (m *Model) checkGame(o ExplainOptions) error {
	if o.Game == "" || o.Game == m.Game() {
		if o.Reference != nil {
			return wrongSetting(fmt.Sprintf("the game %s has no reference rows", m.Game()), "choose ExplainOptions.Game=baseline or ExplainOptions.Game=interventional, or leave ExplainOptions.Reference out")
		}
		return nil
	}
	var reason string
	switch {
	case !slices.Contains(explain.Games(), o.Game):
		reason = "there is no such game"
	case slices.Contains(m.Games(), o.Game):
		if o.Reference == nil {
			return wrongSetting(fmt.Sprintf("the game %s needs reference rows", o.Game), "give a table in ExplainOptions.Reference")
		}
		return nil
	case o.Game == ObservationalGame:
		reason = "the trees did not learn from rows with cells hidden at random"
	case o.Game == PathDependentGame && m.ensemble != nil:
		reason = "the trees were imported without the numbers of training rows of their branches"
	case o.Game == PathDependentGame:
		reason = "it is a game of trees, and the model is a network"
	case o.Game == MissingBranchGame:
		reason = "it belongs to trees that were imported so"
	default:
		reason = "only the native backend computes it, for trees with the numbers of training rows and for the product form of the exact head"
	}
	names := make([]string, 0, len(m.Games()))
	for _, g := range m.Games() {
		names = append(names, string(g))
	}
	return wrongSetting(fmt.Sprintf("the model does not have the game %q: %s", o.Game, reason), "choose one of "+listNames(names))
}

// references encodes the reference rows of a game; nil if it has none.
func (m *Model) references(o ExplainOptions) (*encode.Batch, error) {
	if o.Reference == nil {
		return nil, nil //nolint:nilnil // the model's own game has none
	}
	switch n := o.Reference.Rows(); {
	case n == 0:
		return nil, &table.Error{Row: -1, Message: "there are no reference rows", Remedy: "give a table with rows"}
	case n > maxReferences:
		return nil, wrongSetting(fmt.Sprintf("there are %d reference rows, more than %d", n, maxReferences), "give a sample of them")
	case o.Game == BaselineGame && n > 1:
		return nil, wrongSetting(fmt.Sprintf("the game %s has one reference row, not %d", BaselineGame, n), "give one row, or choose ExplainOptions.Game=interventional")
	}
	c, err := m.chunk(o.Reference, 0, nil)
	if err != nil {
		return nil, err
	}
	return c.batch, nil
}

// evaluator prepares a member for players, in the model's own game.
func (m *Model) evaluator(c form.Config, member form.Member) (form.Evaluator, error) {
	switch i := m.manifest.Imported; {
	case i != nil:
		return m.ensemble.NewEvaluator(c, trees.Units{Base: i.Base, Unit: i.Unit}, i.absent())
	case c.Joined() > 2 && m.evaluators.backend != Native:
		return c.NewEnumerated(func(c form.Config) (form.Evaluator, error) { return m.evaluators.of(c, member) })
	}
	return m.evaluators.of(c, member)
}
