package report

import (
	"context"
	"fmt"
	"slices"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/prose"
	"github.com/psi-shapley/psi/table"
)

// Game describes what happens to absent columns: the game that attributions are Shapley values of.
type Game struct {
	Name       psi.Game `json:"name"`
	Absent     string   `json:"absent"`     // what happens, to follow "if a column is absent, "
	References int      `json:"references"` // number of reference rows; 0 if the game has none
	Own        bool     `json:"own"`        // it is the model's own game
}

// gameOf describes a game of a model.
func gameOf(m *psi.Model, name psi.Game, references int) Game {
	return Game{Name: name, Absent: name.Absent(), References: references, Own: name == m.Game()}
}

// Games compares the attributions of some rows in the report's game with those in another one. Mean is flat and
// row-major: the last axis varies fastest.
type Games struct {
	Other Game         `json:"other"` // the other game
	Rows  []int        `json:"rows"`  // indices among the carried rows
	Base  []float64    `json:"base"`  // per output, in the other game
	Mean  Attributions `json:"mean"`  // [rows, outputs, players], in the other game
}

// Limits of the comparison of games, and of reports in games of reference rows: each reference row costs about as much
// as a row.
const (
	maxCompared          = 50      // rows in the other game
	maxDrawnReferences   = 100     // reference rows drawn from the table
	maxExplainedPairs    = 200_000 // explained rows × reference rows
	maxPairedPairs       = 20_000  // rows with interactions × reference rows
	minExplainedOfAGame  = 100
	minPairedOfReference = 20
)

// limitReferences takes fewer rows if each is compared with many reference rows.
func (o Options) limitReferences() Options {
	if o.Reference == nil || o.Reference.Rows() == 0 {
		return o
	}
	n := o.Reference.Rows()
	o.Explained = min(o.Explained, max(minExplainedOfAGame, maxExplainedPairs/n))
	o.Carried = min(o.Carried, o.Explained)
	o.Paired = min(o.Paired, o.Carried, max(minPairedOfReference, maxPairedPairs/n))
	return o
}

// otherGame returns the game that the report's is compared with: the model's own or, if that is the report's, the
// interventional one. It is "" if the model has no other.
func (g *gathering) otherGame(of psi.Game) psi.Game {
	switch {
	case len(g.model.Games()) < 2 || g.model.Head() == learnedHead:
		return ""
	case of != g.model.Game():
		return g.model.Game()
	case slices.Contains(g.model.Games(), psi.InterventionalGame):
		return psi.InterventionalGame
	}
	return ""
}

// games explains some of the carried rows in another game; nil if the model has only one. Reference rows are drawn at
// random from the explained rows.
func (g *gathering) games(ctx context.Context, e *explain.Explanation, drawn *table.Table, carried []int) (*Games, error) {
	other := g.otherGame(e.Game)
	if other == "" {
		return nil, nil //nolint:nilnil // the page is left out
	}
	o, references := psi.ExplainOptions{Z: g.Z, NoDoubt: true}, 0
	if other == psi.InterventionalGame {
		chosen := g.sample.draw(drawn.Rows(), maxDrawnReferences)
		slices.Sort(chosen)
		o.Game, o.Reference, references = other, drawn.Select(chosen), len(chosen)
	}
	c := &Games{Other: gameOf(g.model, other, references), Rows: g.sample.draw(len(carried), maxCompared)}
	slices.Sort(c.Rows)
	rows := make([]int, len(c.Rows))
	for i, at := range c.Rows {
		rows[i] = carried[at]
	}
	g.Progress(fmt.Sprintf("comparing two games in %s", prose.Count(len(rows), "row")))
	x, err := g.model.Explain(ctx, drawn.Select(rows).Source(), o)
	if err != nil {
		return nil, err
	}
	c.Base, c.Mean = x.Base[:len(x.Outputs)], x.Mean
	return c, nil
}
