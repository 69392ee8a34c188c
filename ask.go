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

// Ask says which rows to look at, and what their missing cells might be.
type Ask struct {
	// Reference is a table whose cells stand for what a missing one may turn out to be; nil takes the rows that the model
	// was told to keep when it was trained.
	Reference Source
	Unknown   []string // columns to take for missing
	From, To  int      // rows to look at, To not included; To = 0 means all
}

// Question is a missing column of a row and what it is worth to ask for it.
type Question struct {
	Row       int // within the source
	Column    string
	Variance  float64 // of the outcome as it is predicted now: of the number; of classes Σ p(1 − p)
	Reduction float64 // of it, expected of knowing the column
}

// Share is the expected reduction as a share of the present variance.
func (q Question) Share() float64 {
	if q.Variance == 0 {
		return 0
	}
	return min(1, q.Reduction/q.Variance)
}

// alike is how many reference rows, those most like the row, lend it a cell.
const alike = 48

// Questions are the missing columns of each row that has any, the most worth asking for first.
//
// By the law of total variance, knowing x_d lessens the variance of y by Var(E[y | x_S, x_d] | x_S). E is the prediction
// with the cell filled in. Cells that x_d may have given x_S are those of the reference rows that are most alike: whose
// attributions of the observed columns, the same cells missing, lie nearest to the row's.
func (m *Model) Questions(ctx context.Context, rows Source, o Ask) iter.Seq2[[]Question, error] {
	return func(yield func([]Question, error) bool) {
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

// maxReference rows are drawn from a reference table, or kept of the training rows.
const maxReference = 512

// referenceRows are those of a table, or the model's own.
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

// questions are those of row i of a chunk.
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
			if filled.Rows == alike {
				break
			}
		}
		if filled.Rows < 2 {
			continue // nothing is known of the column
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

// outcome is what is expected of rows: the variance of the first, and the variance between their means.
type outcome struct{ variance, between float64 }

func (m *Model) outcomes(ctx context.Context, b *encode.Batch) (outcome, error) {
	p, err := m.predict(ctx, b, 0)
	if err != nil {
		return outcome{}, err
	}
	means, width := p.Mean, 1 // of a number; or probabilities of classes
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

// nearest are the reference rows in the order of how alike they are to row i.
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
