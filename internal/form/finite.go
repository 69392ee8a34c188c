package form

import (
	"errors"
	"fmt"
	"math"
)

// NotFiniteError is the error of a row whose answer has NaN or infinity in it.
type NotFiniteError struct{ Row int } // of the batch that was passed

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("form: the answer for row %d is not finite", e.Row)
}

// Renumber gives the row of a NotFiniteError another number; other errors stay as they are.
func Renumber(err error, number func(row int) int) error {
	if e, is := errors.AsType[*NotFiniteError](err); is {
		return &NotFiniteError{number(e.Row)}
	}
	return err
}

// finite looks for NaN and infinity in lists that have equally much for each of the rows.
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
