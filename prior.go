package psi

import (
	"context"
	"math"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/shapley"
)

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
