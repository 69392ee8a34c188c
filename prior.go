package psi

import (
	"context"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/shapley"
)

// priorFit collects, in the course of an audit, what mode refined starts from.
type priorFit struct {
	wanted  bool
	sampled bool // the whole games are too large to enumerate: their sub-games must do

	moments    shapley.Moments
	games      []shapley.Enumerated
	numbers    int               // in games
	references []*shapley.Values // sampled ones of the rows
}

// maxNumbers bounds the memory of games that are kept for the widths of standard errors.
const maxNumbers = 1 << 23

// enumerate gives the Shapley values of row i's game from the attributions of all its
// coalitions, and remembers these.
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

// reference remembers sampled Shapley values of a row.
func (f *priorFit) reference(phi *shapley.Values) {
	if f.wanted {
		f.references = append(f.references, phi)
	}
}

// prior is what was learned from the rows of the audit, nil if that was not wanted.
func (f *priorFit) prior(ctx context.Context, m *Model, rows *encode.Batch) (*shapley.Prior, error) {
	if !f.wanted || len(f.games) == 0 {
		return nil, nil
	}
	p := f.moments.Prior().Calibrate(f.games)
	if !f.sampled {
		return &p, nil
	}
	// Sub-games are smaller than the games that will be refined: the widths must do for these.
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
