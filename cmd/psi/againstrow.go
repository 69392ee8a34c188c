package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/psi-shapley/psi"
	"github.com/psi-shapley/psi/explain"
)

// noRow means that there is no row to compare with.
const noRow = -1

// against is the row to compare with; nil if there is none.
type against struct{ row *explain.Explanation }

// rowAgainst explains the row to compare with.
func (d *modelData) rowAgainst(ctx context.Context, row int, o psi.ExplainOptions) (*against, error) {
	switch {
	case row == noRow:
		return nil, nil
	case row < 0:
		return nil, &usageError{fmt.Sprintf("--against-row is %d", row), "give the number of a row, counted from 0"}
	case d.data.stdin != nil || d.data.parts() > 1:
		return nil, &usageError{"--against-row needs one file, which is read twice", "write the rows to a file"}
	}
	o.From, o.To = row, row+1
	for e, err := range d.explainPart(ctx, 0, o) {
		return &against{e}, d.blame(err, d.data.name)
	}
	return nil, &plainError{d.data.name, fmt.Sprintf("it has no row %d", row), "rows are counted from 0"}
}

// compared returns the difference of an explanation from the row.
func (a *against) compared(e *explain.Explanation) (*explain.Explanation, error) {
	if a == nil {
		return e, nil
	}
	return e.Minus(a.row, 0)
}

// all returns the differences of explanations from the row.
func (a *against) all(each func(context.Context) iter.Seq2[ofFile[*explain.Explanation], error]) func(context.Context) iter.Seq2[ofFile[*explain.Explanation], error] {
	return func(ctx context.Context) iter.Seq2[ofFile[*explain.Explanation], error] {
		return func(yield func(ofFile[*explain.Explanation], error) bool) {
			for part, err := range each(ctx) {
				if err == nil {
					part.rows, err = a.compared(part.rows)
				}
				if !yield(part, err) {
					return
				}
			}
		}
	}
}
