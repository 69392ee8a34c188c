package psi

import (
	"context"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/table"
)

// Depth selects how much a pass computes.
type Depth int

// Depths; each includes those before it.
const (
	Values       Depth = iota // predictions
	Spread                    // and standard deviations, and probabilities of classes
	Attributions              // and attributions
	Doubt                     // and their epistemic uncertainty, ModelStd
)

func (d Depth) String() string { return [...]string{"values", "spread", "attributions", "doubt"}[d] }

// Rows is the encoded input of one request. It is immutable and safe for concurrent use.
type Rows struct{ *chunk }

// Len returns the number of rows.
func (r *Rows) Len() int { return r.batch.Rows }

// Read encodes a table for Pass. It treats the columns named in unknown as missing, whether the table has them or not.
func (m *Model) Read(t *table.Table, unknown ...string) (*Rows, error) {
	if err := m.checkUnknown(unknown); err != nil {
		return nil, err
	}
	c, err := m.chunk(t, 0, unknown)
	return &Rows{c}, err
}

// Answer is the result of a pass for the rows of one request.
type Answer struct {
	Depth Depth

	model  *Model
	rows   *Rows
	answer *form.Answer
}

// Pass evaluates the rows of several requests together and returns one answer per request. A row's answer does not
// depend on the other rows. If an answer is not finite, Pass returns a *table.Error with the number of the row within
// its request.
func (m *Model) Pass(ctx context.Context, depth Depth, requests ...*Rows) ([]*Answer, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	joined := requests[0].batch
	if len(requests) > 1 {
		joined = joined.Like(0)
		for _, r := range requests {
			joined.Append(r.batch)
		}
	}
	x, err := m.pass(ctx, depth, joined)
	if err != nil {
		return nil, notFinite(form.Renumber(err, func(row int) int {
			for _, r := range requests {
				if row < r.Len() {
					return row
				}
				row -= r.Len()
			}
			return row
		}), 0)
	}
	answers := make([]*Answer, len(requests))
	from := 0
	for i, r := range requests {
		answers[i] = &Answer{depth, m, r, x.Slice(from, from+r.Len(), joined.Rows)}
		from += r.Len()
	}
	return answers, nil
}

func (m *Model) pass(ctx context.Context, depth Depth, b *encode.Batch) (*form.Answer, error) {
	return m.own.Pass(ctx, b, [...]form.Want{0, form.Spread, form.Everything, form.Everything | form.Doubt}[depth])
}

// Rows returns the number of rows.
func (a *Answer) Rows() int { return a.rows.Len() }

// Prediction returns the predictions of the rows. At depth Values it has only Mean.
func (a *Answer) Prediction() *Prediction {
	return a.model.prediction(a.answer, a.rows.batch, a.rows.first)
}

// Explanation returns the explanation of mode Fast. It needs depth Attributions, or Doubt for ModelStd. It uses only Z,
// Top, Output and Against of o.
func (a *Answer) Explanation(o ExplainOptions) (*explain.Explanation, error) {
	o, err := a.model.settleExplain(ExplainOptions{Z: o.Z, Top: o.Top, Output: o.Output, Against: o.Against})
	if err != nil {
		return nil, err
	}
	return chosen(a.model.result(a.model.own, a.rows.chunk, a.answer, o), o)
}

// Memory estimates how many bytes the model takes. The native backend keeps the weights as saved and in its own layout,
// and the factors of labels. An engine keeps the weights, and buffers for a pass, once per compiled graph. The estimate
// was measured to be right within a factor of 2, on models with 12 to 1,000 columns and with 10⁵ labels.
func (m *Model) Memory() int64 {
	weights := 4 * int64(m.WeightCount())
	switch m.Backend() {
	case Native:
		return 3 * weights
	case "go":
		return 3*weights + 60*4*int64(m.numbersPerRow()*len(m.members))
	}
	return 20*weights + 170*4*int64(m.numbersPerRow()*len(m.members))
}
