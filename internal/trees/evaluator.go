package trees

import (
	"context"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
	"github.com/psi-shapley/psi/table"
)

// game is a Game or References.
type game interface {
	Empty() []float64
	Values(codes []Code, present []bool) []float64
	CoalitionValues(set vector.Set, codes []Code, present []bool) []float64
	Attributions(set vector.Set, codes []Code, present []bool) []float64
	Interactions(set vector.Set, codes []Code, present []bool) []float64
}

// Units are those of an evaluator: Base + Unit × its values are the outputs of the ensemble.
type Units struct {
	Base []float64
	Unit float64
}

// Evaluator evaluates an ensemble as networks are evaluated. Trees have no σ and no h: their spread is 0.
type Evaluator struct {
	ensemble *Ensemble
	config   form.Config
	units    Units
	game     game
	set      vector.Set
}

// NewEvaluator evaluates an ensemble whose columns are those of the configuration, in the game that branches of absent
// columns have the weights of absent.
func (e *Ensemble) NewEvaluator(c form.Config, u Units, absent Absent) (*Evaluator, error) {
	set, err := vector.Best()
	return &Evaluator{e, c, u, e.NewGroupedGame(absent, c.Inputs.PlayerOf(), c.Inputs.Players()), set}, err
}

// Against evaluates the ensemble in the interventional game of reference rows.
func (e *Evaluator) Against(references *encode.Batch) (form.Evaluator, error) {
	in := e.config.Inputs
	return &Evaluator{e.ensemble, e.config, e.units, e.ensemble.NewReferences(references.Splits, in.PlayerOf(), in.Players()), e.set}, nil
}

// passRows is the number of rows between two looks at the context.
const passRows = 256

// Pass evaluates rows: their values, and what else is wanted.
func (e *Evaluator) Pass(ctx context.Context, b *encode.Batch, want form.Want) (*form.Explained, error) {
	x := &form.Explained{}
	for from := 0; from < b.Rows; from += passRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := b.Slice(from, min(from+passRows, b.Rows))
		present := presentCells(part.Observed)
		x.Value = append(x.Value, e.relative(e.values(part.Splits, present))...)
		if want&form.Attributions != 0 {
			x.Attributions = append(x.Attributions, e.scaled(e.game.Attributions(e.set, part.Splits, present))...)
		}
	}
	if want&form.Spread != 0 {
		x.Std, x.HiddenVariance = make([]float32, len(x.Value)*e.config.Inputs.Players()), make([]float32, len(x.Value))
	}
	if _, is := e.game.(*References); is { // in the ensemble's own game it is 0
		x.Empty = slices.Repeat(e.relative(e.game.Empty()), b.Rows)
	}
	return x, nil
}

// values of rows: those with all cells follow one path through each tree, others many.
func (e *Evaluator) values(codes []Code, present []bool) []float64 {
	if present == nil {
		return e.game.Values(codes, nil)
	}
	return e.game.CoalitionValues(e.set, codes, present)
}

// presentCells is nil if all cells are there.
func presentCells(observed []float32) []bool {
	if !slices.Contains(observed, 0) {
		return nil
	}
	list := make([]bool, len(observed))
	for i, v := range observed {
		list[i] = v != 0
	}
	return list
}

// relative turns outputs into values of the evaluator's units.
func (e *Evaluator) relative(outputs []float64) []float32 {
	values := make([]float32, len(outputs))
	for i, v := range outputs {
		values[i] = float32((v - e.units.Base[i%len(e.units.Base)]) / e.units.Unit)
	}
	return values
}

// scaled turns differences of outputs into the evaluator's units.
func (e *Evaluator) scaled(differences []float64) []float32 {
	values := make([]float32, len(differences))
	for i, v := range differences {
		values[i] = float32(v / e.units.Unit)
	}
	return values
}

// Coalitions returns v(S) [B, P, C] for masks [B, P, D] over the observed cells.
func (e *Evaluator) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	columns := b.Players()
	codes, present := make([]Code, 0, len(masks)), make([]bool, len(masks))
	for row := range b.Rows {
		for range per {
			codes = append(codes, b.Splits[row*columns:][:columns]...)
		}
	}
	for i, in := range masks {
		present[i] = in != 0 && b.Observed[i/columns/per*columns+i%columns] != 0
	}
	return e.relative(e.values(codes, present)), nil
}

// Interactions returns the pairwise Shapley interaction indices [B, C, players, players].
func (e *Evaluator) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return e.scaled(e.game.Interactions(e.set, b.Splits, presentCells(b.Observed))), nil
}

// Close does nothing: all memory is Go's.
func (e *Evaluator) Close() {}

// Codes are the codes [rows, columns] of the cells of a table. A column that the table does not have is missing.
func (e *Ensemble) Codes(t *table.Table) []Code {
	codes := make([]Code, t.Rows()*len(e.Columns))
	for d := range e.Columns {
		c := &e.Columns[d]
		code := c.cells(t.Column(c.Name))
		for row := range t.Rows() {
			codes[row*len(e.Columns)+d] = code(row)
		}
	}
	return codes
}

// cells returns the code of each row of a table's column.
func (c *Column) cells(of *table.Column) func(row int) Code {
	switch {
	case of == nil:
		return func(int) Code { return Missing }
	case of.Kind != table.Category:
		return func(row int) Code {
			if !of.Observed[row] {
				return Missing
			}
			return c.Number(of.Numbers[row])
		}
	}
	byLevel := make([]Code, len(of.Levels))
	for k, level := range of.Levels {
		byLevel[k] = c.Label(level)
	}
	return func(row int) Code {
		if !of.Observed[row] {
			return Missing
		}
		return byLevel[of.Codes[row]]
	}
}
