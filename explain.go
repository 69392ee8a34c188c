package psi

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/internal/network"
	"github.com/psi-shapley/psi/shapley"
	"github.com/psi-shapley/psi/table"
)

// Explain says how rows are to be explained. The zero value is the fast mode with
// intervals of 95 %.
type Explain struct {
	Mode         explain.Mode // Fast (also ""), or Exact: all coalitions, for at most 16 columns
	Z            float64      // intervals are mean ∓ Z·std; 0 means 1.96
	Top          int          // K of p_top; 0 means 3
	Unknown      []string     // columns to explain as if their cells were missing
	Interactions bool         // pairwise interactions too
	From, To     int          // rows to explain, To not included; To = 0 means all
}

const (
	usualZ   = 1.96
	usualTop = 3
)

// Explanations explains the rows of a source, some at a time.
func (m *Model) Explanations(ctx context.Context, rows Source, o Explain) iter.Seq2[*explain.Explanation, error] {
	return func(yield func(*explain.Explanation, error) bool) {
		o, err := m.settleExplain(o)
		if err != nil {
			yield(nil, err)
			return
		}
		for c, err := range m.chunks(ctx, rows, span{o.From, o.To}, o.Unknown) {
			if err != nil {
				yield(nil, err)
				return
			}
			e, err := m.explain(ctx, c, o)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Explain explains all rows of a source.
func (m *Model) Explain(ctx context.Context, rows Source, o Explain) (*explain.Explanation, error) {
	var parts []*explain.Explanation
	for e, err := range m.Explanations(ctx, rows, o) {
		if err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	if len(parts) == 0 {
		return nil, &table.Error{Row: -1, Message: "there are no rows to explain", Remedy: "give a table with rows"}
	}
	return explain.Join(parts)
}

// settleExplain fills in the defaults and refuses what cannot be done.
func (m *Model) settleExplain(o Explain) (Explain, error) {
	if o.Z == 0 {
		o.Z = usualZ
	}
	if o.Top == 0 {
		o.Top = usualTop
	}
	if o.Mode == "" {
		o.Mode = explain.Fast
	}
	d := len(m.players)
	switch {
	case !(o.Z > 0) || math.IsInf(o.Z, 0):
		return o, fmt.Errorf("z is %g: it must be a positive number", o.Z)
	case o.Top < 1:
		return o, fmt.Errorf("top is %d: it must be at least 1", o.Top)
	case o.From < 0 || o.To != 0 && o.To <= o.From:
		return o, fmt.Errorf("rows %d:%d are none: give the first and the one after the last", o.From, o.To)
	case o.Mode != explain.Fast && o.Mode != explain.Exact:
		return o, fmt.Errorf("unknown mode %q: choose %s or %s", o.Mode, explain.Fast, explain.Exact)
	case o.Mode == explain.Exact && d > shapley.MaxExact:
		return o, &table.Error{
			Row:     -1,
			Message: fmt.Sprintf("mode exact needs all 2^%d ≈ 10^%.0f coalitions of the model's %d columns: it is for at most %d columns", d, float64(d)*math.Log10(2), d, shapley.MaxExact),
			Remedy:  "use mode fast" + m.fastIsExact(),
		}
	case o.Interactions && o.Mode == explain.Fast && !m.exact():
		return o, &table.Error{Row: -1, Message: "the learned head has no interactions of its own", Remedy: "use --mode exact"}
	}
	return o, nil
}

func (m *Model) exact() bool { return m.Head() == string(network.Exact) }

func (m *Model) fastIsExact() string {
	if m.exact() {
		return ", which is exact with this model's head"
	}
	return ""
}

func (m *Model) explain(ctx context.Context, c *chunk, o Explain) (*explain.Explanation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x, err := m.ensemble.Explain(ctx, c.batch)
	if err != nil {
		return nil, err
	}
	if o.Mode == explain.Exact {
		if err := m.enumerate(ctx, c, x); err != nil {
			return nil, err
		}
	}
	e := m.result(c, x, o)
	if o.Interactions {
		e.Interactions, err = m.interactions(ctx, c, o)
	}
	return e, err
}

// enumerate replaces the attributions by Shapley values from all coalitions of the
// observed columns.
func (m *Model) enumerate(ctx context.Context, c *chunk, x *network.Answer) error {
	d := c.batch.Players()
	for i := range c.batch.Rows {
		game := shapley.Restrict(m.ensemble.RowGame(c.batch, i), present(c.batch, i))
		values, err := shapley.Exact(ctx, game)
		if err != nil {
			return err
		}
		for j, phi := range values.Extend(game).Of(0) {
			x.Attributions[i*d+j] = float32(phi)
		}
	}
	return nil
}

// result puts a pass into the target's units and the columns' order.
func (m *Model) result(c *chunk, x *network.Answer, o Explain) *explain.Explanation {
	n, d, scale := c.batch.Rows, len(m.players), m.manifest.Scale
	e := &explain.Explanation{
		Model: m.digest, Head: m.Head(), Mode: o.Mode, Exact: m.exact() || o.Mode == explain.Exact, Z: o.Z, Top: o.Top,
		Outputs: []string{m.manifest.Target}, Scale: explain.Identity, Players: m.Columns(),
		FirstRow: c.first, Rows: n,
		Base: make([]float64, n), Prediction: make([]float64, n), PredictionStd: make([]float64, n),
		HiddenStd: make([]float64, n), Residual: make([]float64, n),
		Mean: make([]float64, n*d), Std: make([]float64, n*d), Observed: make([]bool, n*d),
		Values: c.values,
	}
	for i := range n {
		e.Base[i] = scale.Mean
		e.Prediction[i] = scale.Decode(x.Value[i])
		e.PredictionStd[i] = scale.Std * math.Sqrt(x.Variance[i])
		e.HiddenStd[i] = scale.Std * math.Sqrt(float64(x.HiddenVariance[i]))
		rest := float64(x.Value[i])
		for k, j := range m.players {
			phi := float64(x.Attributions[i*d+j])
			rest -= phi
			e.Mean[i*d+k] = scale.Std * phi
			e.Std[i*d+k] = scale.Std * float64(x.Std[i*d+j])
			e.Observed[i*d+k] = c.batch.Observed[i*d+j] != 0
		}
		e.Residual[i] = scale.Std * rest
	}
	return e
}

// interactions are the pairwise interactions [rows, D, D] in the target's units.
func (m *Model) interactions(ctx context.Context, c *chunk, o Explain) ([]float64, error) {
	n, d := c.batch.Rows, len(m.players)
	var fast []float32
	if o.Mode == explain.Fast {
		var err error
		if fast, err = m.ensemble.Interactions(ctx, c.batch); err != nil {
			return nil, err
		}
	}
	all := make([]float64, n*d*d)
	for i := range n {
		at := func(a, b int) float64 { return float64(fast[(i*d+a)*d+b]) }
		if o.Mode == explain.Exact {
			game := shapley.Restrict(m.ensemble.RowGame(c.batch, i), present(c.batch, i))
			x, err := shapley.Interactions(ctx, game)
			if err != nil {
				return nil, err
			}
			x = x.Extend(game)
			at = func(a, b int) float64 { return x.At(0, a, b) }
		}
		for a, ja := range m.players {
			for b, jb := range m.players {
				all[(i*d+a)*d+b] = m.manifest.Scale.Std * at(ja, jb)
			}
		}
	}
	return all, nil
}
