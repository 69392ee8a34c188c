package form

import (
	"errors"
	"fmt"
	"math"
)

// NotFiniteError reports a row whose answer contains NaN or infinity.
type NotFiniteError struct{ Row int } // within the batch

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("form: the answer for row %d is not finite", e.Row)
}

// Renumber changes the row of a NotFiniteError; other errors are returned unchanged.
func Renumber(err error, number func(row int) int) error {
	if e, is := errors.AsType[*NotFiniteError](err); is {
		return &NotFiniteError{number(e.Row)}
	}
	return err
}

// finite looks for NaN and infinity in lists with an equal number of elements per row.
func finite[T float32 | float64](rows int, lists ...[]T) error {
	for _, list := range lists {
		for i, v := range list {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return &NotFiniteError{i / (len(list) / rows)}
			}
		}
	}
	return nil
}
