package psi

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/table"
)

// Ask selects the rows that Model.Questions examines and the table that missing cells are drawn from.
type Ask struct {
	// Reference supplies plausible values for missing cells. If it is nil, Questions uses the training rows that the
	// model kept (Config.ReferenceRows).
	Reference Source
	Unknown   []string // columns to treat as missing
	From, To  int      // half-open range of rows; To = 0 means all rows
}

// Question is a missing cell of a row, with the variance reduction expected from measuring it.
type Question struct {
	Row       int // number of the row within the source, from 0
	Column    string
	Variance  float64 // current predictive variance: of the number, or Σ p(1 − p) over the classes
	Reduction float64 // expected decrease of Variance once the column is known
}

// Share returns Reduction as a share of Variance, between 0 and 1.
func (q Question) Share() float64 {
	if q.Variance == 0 {
		return 0
	}
	return min(1, q.Reduction/q.Variance)
}

// neighbours is the number of nearest reference rows whose cells fill a missing one.
const neighbours = 48

// Questions yields, for each row with missing cells, the missing columns in descending order of expected variance
// reduction.
//
// By the law of total variance, knowing x_d reduces the variance of y by Var(E[y | x_S, x_d] | x_S). E is the
// prediction with the cell filled in. The distribution of x_d given x_S is approximated by the cells of the nearest
// reference rows. Distance is measured between the attributions of the observed columns, with the same cells missing.
func (m *Model) Questions(ctx context.Context, rows Source, o Ask) iter.Seq2[[]Question, error] {
	return func(yield func([]Question, error) bool) {
		if !m.classes() && !m.hasNoise() {
			yield(nil, &table.Error{Row: -1, Message: "the model does not know how far targets are from its predictions", Remedy: "import it with rows that have the target"})
			return
		}
		reference, err := m.referenceRows(ctx, o.Reference)
		if err != nil {
			yield(nil, err)
			return
		}
		for c, err := range m.chunks(ctx, rows, span{o.From, o.To}, o.Unknown) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range c.batch.Rows {
				list, err := m.questions(ctx, c, i, reference)
				err = notFinite(form.Renumber(err, func(int) int { return i }), c.first)
				if err != nil || len(list) > 0 {
					if !yield(list, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// maxReference is the maximum number of rows drawn from a reference table, or of training rows that a model keeps.
const maxReference = 512

// referenceRows samples the reference table, or returns the model's own reference rows if there is no table.
func (m *Model) referenceRows(ctx context.Context, from Source) (*encode.Batch, error) {
	if from == nil {
		if m.reference == nil {
			return nil, &table.Error{
				Row: -1, Message: "the model keeps no rows that show what a missing cell may be",
				Remedy: "give a table of such rows as reference, or train with reference rows",
			}
		}
		return m.reference, nil
	}
	s, err := m.sample(ctx, from, maxReference, anyRow)
	if err != nil {
		return nil, err
	}
	if s.rows == nil {
		return nil, &table.Error{Row: -1, Message: "the reference has no rows", Remedy: "give a table with rows"}
	}
	return s.rows, nil
}

// questions returns the questions of row i of a chunk, sorted by Reduction.
func (m *Model) questions(ctx context.Context, c *chunk, i int, reference *encode.Batch) ([]Question, error) {
	var absent []int
	for j, place := range m.places {
		if !c.observed(i, place) {
			absent = append(absent, j)
		}
	}
	if len(absent) == 0 {
		return nil, nil
	}
	near, err := m.nearest(ctx, c.batch, i, reference)
	if err != nil {
		return nil, err
	}
	now, err := m.outcomes(ctx, c.batch.Slice(i, i+1))
	if err != nil {
		return nil, err
	}
	list := make([]Question, len(absent))
	for k, j := range absent {
		list[k] = Question{Row: c.first + i, Column: m.manifest.Columns[j].Name, Variance: now.variance}
		filled := c.batch.Like(0)
		for _, r := range near {
			if reference.Observed[r*reference.Players()+m.places[j]] == 0 {
				continue
			}
			filled.Append(c.batch.Slice(i, i+1))
			filled.SetPlayer(filled.Rows-1, m.places[j], reference, r)
			if filled.Rows == neighbours {
				break
			}
		}
		if filled.Rows < 2 {
			continue // the reference rows have no values of this column
		}
		then, err := m.outcomes(ctx, filled)
		if err != nil {
			return nil, err
		}
		list[k].Reduction = then.between
	}
	slices.SortStableFunc(list, func(a, b Question) int { return cmp.Compare(b.Reduction, a.Reduction) })
	return list, nil
}

// outcome holds the predictive variance of the first row and the variance between the rows' means.
type outcome struct{ variance, between float64 }

func (m *Model) outcomes(ctx context.Context, b *encode.Batch) (outcome, error) {
	p, err := m.predict(ctx, b, 0)
	if err != nil {
		return outcome{}, err
	}
	means, width := p.Mean, 1 // means of a number, or probabilities of classes
	var o outcome
	if p.Classes == nil {
		o.variance = p.Std[0] * p.Std[0]
	} else {
		means, width = p.Probability, len(p.Probability)/b.Rows
		for _, q := range means[:width] {
			o.variance += q * (1 - q)
		}
	}
	for k := range width {
		var sum, squares float64
		for row := range b.Rows {
			v := means[row*width+k]
			sum, squares = sum+v, squares+v*v
		}
		n := float64(b.Rows)
		o.between += max(0, squares-sum*sum/n) / max(1, n-1)
	}
	return o, nil
}

// nearest returns the reference rows ordered by their distance from row i.
func (m *Model) nearest(ctx context.Context, b *encode.Batch, i int, reference *encode.Batch) ([]int, error) {
	all := reference.Like(reference.Rows)
	for r := range reference.Rows {
		all.Set(r, reference, r)
		for d := range b.Players() {
			if b.Observed[i*b.Players()+d] == 0 {
				all.Observed[r*b.Players()+d] = 0
			}
		}
	}
	all.Append(b.Slice(i, i+1))
	x, err := m.own.Pass(ctx, all, form.Attributions)
	if err != nil {
		return nil, err
	}
	f := x.Attributions
	width := len(f) / all.Rows
	row := f[reference.Rows*width:]
	distance := make([]float64, reference.Rows)
	order := make([]int, reference.Rows)
	for r := range order {
		order[r] = r
		for k, v := range f[r*width : (r+1)*width] {
			distance[r] += math.Pow(float64(v-row[k]), 2)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(distance[x], distance[y]) })
	return order, nil
}
