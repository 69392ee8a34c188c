package psi

import (
	"context"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/shapley"
	"github.com/psi-shapley/psi/table"
)

// rowGames holds the games of several rows, each among the players present in its row. Package shapley refines them
// together, so that rows share passes.
type rowGames struct {
	v       *view
	rows    *encode.Batch
	outputs int
	games   []*form.RowGame
	present [][]int // the network's players of each row
}

func (v *view) rowGames(rows *encode.Batch, outputs int) *rowGames {
	g := &rowGames{v: v, rows: rows, outputs: outputs}
	for i := range rows.Rows {
		g.games = append(g.games, v.RowGame(rows, i))
		g.present = append(g.present, g.games[i].Present())
	}
	return g
}

func (g *rowGames) Games() int             { return g.rows.Rows }
func (g *rowGames) Players(game int) []int { return g.present[game] }
func (g *rowGames) Outputs() int           { return g.outputs }

// Attributions returns f_d(x_S) of each coalition.
func (g *rowGames) Attributions(ctx context.Context, questions []shapley.Question) ([][]float64, error) {
	columns, players := g.rows.Players(), len(g.v.players)
	answers := make([][]float64, 0, len(questions))
	for from := 0; from < len(questions); from += coalitionsAtOnce {
		some := questions[from:min(len(questions), from+coalitionsAtOnce)]
		batch := g.rows.Like(len(some))
		for i, q := range some {
			batch.Set(i, g.rows, q.Game)
			mask := batch.Observed[i*columns : (i+1)*columns]
			clear(mask)
			for _, member := range q.Members {
				g.games[q.Game].Enter(mask, g.present[q.Game][member])
			}
		}
		x, err := g.v.Pass(ctx, batch, form.Attributions)
		if err != nil {
			return nil, form.Renumber(err, func(row int) int { return some[row].Game })
		}
		for i, q := range some {
			present := g.present[q.Game]
			answer := make([]float64, 0, g.outputs*len(present))
			for c := range g.outputs {
				for _, j := range present {
					answer = append(answer, float64(x.Attributions[(i*g.outputs+c)*players+j]))
				}
			}
			answers = append(answers, answer)
		}
	}
	return answers, nil
}

// coalitionsAtOnce limits the memory of coalitions in flight.
const coalitionsAtOnce = 1 << 13

// refinement holds the results of refining rows besides their attributions, in the network's units and order of
// players.
type refinement struct {
	errors            []float64 // [rows, C, players]
	pairs, pairErrors []float64 // [rows, C, players, players]; nil unless requested
	evaluations       []int     // of each row
}

// refine replaces the attributions of a chunk by refined ones.
func (m *Model) refine(ctx context.Context, v *view, c *chunk, x *form.Answer, o ExplainOptions) (*refinement, error) {
	outputs, d := m.outputs(), len(v.players)
	games := v.rowGames(c.batch, outputs)
	found, err := shapley.Refine(ctx, games, shapley.Refining{
		Prior: *m.audit.Prior, Budget: o.Budget, Tolerance: o.Tolerance / m.unit(), Interactions: o.Interactions, First: c.first,
	})
	if err != nil {
		return nil, err
	}
	r := &refinement{errors: make([]float64, len(x.Attributions)), evaluations: make([]int, len(found))}
	if o.Interactions {
		r.pairs, r.pairErrors = make([]float64, len(x.Attributions)*d), make([]float64, len(x.Attributions)*d)
	}
	for i, of := range found {
		r.evaluations[i] = of.Coalitions
		for k := range outputs {
			line := (i*outputs + k) * d
			for a, ja := range games.present[i] {
				x.Attributions[line+ja] = float32(of.At(k, a))
				r.errors[line+ja] = of.StandardError(k, a)
				if !o.Interactions {
					continue
				}
				for b, jb := range games.present[i] {
					at := (line+ja)*d + jb
					r.pairs[at], r.pairErrors[at] = of.Interactions.At(k, a, b), of.Interactions.StandardError(k, a, b)
				}
			}
		}
	}
	return r, nil
}

// put copies the results into an explanation, in the model's units and order of players.
func (r *refinement) put(e *explain.Explanation, v *view, unit float64) {
	e.Evaluations = r.evaluations
	e.StandardError = make([]float64, len(r.errors))
	if r.pairs != nil {
		e.Interactions, e.InteractionError = make([]float64, len(r.pairs)), make([]float64, len(r.pairs))
	}
	d := len(v.players)
	for line := 0; line < len(r.errors); line += d {
		for a, ja := range v.places {
			e.StandardError[line+a] = unit * r.errors[line+ja]
			if r.pairs == nil {
				continue
			}
			for b, jb := range v.places {
				to, from := (line+a)*d+b, (line+ja)*d+jb
				e.Interactions[to], e.InteractionError[to] = unit*r.pairs[from], unit*r.pairErrors[from]
			}
		}
	}
}

// checkRefined rejects mode refined if the learned head cannot be refined.
func (m *Model) checkRefined(o ExplainOptions) error {
	no := func(message, remedy string) error { return &table.Error{Row: -1, Message: message, Remedy: remedy} }
	switch {
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 0):
		return wrongSetting(fmt.Sprintf("the tolerance is %g", o.Tolerance), "give a positive number")
	case o.Budget < 0:
		return wrongSetting(fmt.Sprintf("the budget is %d evaluations", o.Budget), "give at least 1")
	case m.audit == nil || m.audit.Prior == nil:
		return no("the model's file does not say how far its attributions err, which mode refined starts from", "train it again, or use ExplainOptions.Mode=exact")
	case len(o.Groups) > 0:
		return no("the learned head knows only the players it was trained with", "use ExplainOptions.Mode=exact, or train with these groups")
	}
	return nil
}

// priorFit collects the prior of mode refined during an audit.
type priorFit struct {
	wanted  bool
	sampled bool // games are too large to enumerate, so that sub-games replace them

	moments    shapley.Moments
	games      []shapley.Enumerated
	numbers    int               // of the games
	references []*shapley.Values // sampled Shapley values of the rows
}

// maxNumbers limits the memory of the games kept to calibrate standard errors.
const maxNumbers = 1 << 23

// enumerate computes the Shapley values of row i from the attributions of all its coalitions, and records these.
func (f *priorFit) enumerate(ctx context.Context, m *Model, b *encode.Batch, i int) (*shapley.Values, error) {
	outputs := m.outputs()
	row := m.own.rowGames(b.Slice(i, i+1), outputs)
	who := row.Players(0)
	n := len(who)
	questions := make([]shapley.Question, 1<<n)
	for s := range questions {
		for player := range n {
			if s>>player&1 == 1 {
				questions[s].Members = append(questions[s].Members, player)
			}
		}
	}
	answers, err := row.Attributions(ctx, questions)
	if err != nil {
		return nil, err
	}
	games := make([]shapley.Enumerated, outputs)
	for c := range games {
		games[c] = shapley.Enumerated{Players: n, Who: who, F: make([]float64, 0, n<<n)}
		for _, answer := range answers {
			games[c].F = append(games[c].F, answer[c*n:(c+1)*n]...)
		}
		f.moments.Add(games[c])
		if f.numbers += n << n; f.numbers <= maxNumbers && n > 0 {
			f.games = append(f.games, games[c])
		}
	}
	return shapley.Divide(games), nil
}

// reference records sampled Shapley values of a row.
func (f *priorFit) reference(phi *shapley.Values) {
	if f.wanted {
		f.references = append(f.references, phi)
	}
}

// prior returns the prior learned from the rows of the audit, or nil if none was requested.
func (f *priorFit) prior(ctx context.Context, m *Model, rows *encode.Batch) (*shapley.Prior, error) {
	if !f.wanted || len(f.games) == 0 {
		return nil, nil
	}
	p := f.moments.Prior().Calibrate(f.games)
	if !f.sampled {
		return &p, nil
	}
	// Sub-games are smaller than the games to refine, so the standard errors must be calibrated for the latter.
	found, err := shapley.Refine(ctx, m.own.rowGames(rows, m.outputs()), shapley.Refining{Prior: p})
	if err != nil {
		return nil, err
	}
	var expected, seen float64
	for i, x := range found {
		for k, phi := range x.Phi {
			reference := f.references[i]
			expected += x.StandardErrors[k] * x.StandardErrors[k]
			seen += (phi-reference.Phi[k])*(phi-reference.Phi[k]) - reference.StandardErrors[k]*reference.StandardErrors[k]
		}
	}
	if seen > expected {
		for k := range p.Widths {
			p.Widths[k].Attribution *= math.Sqrt(seen / expected)
			p.Widths[k].Interaction *= math.Sqrt(seen / expected)
		}
	}
	return &p, nil
}
