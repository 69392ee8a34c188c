package baseline

import (
	"math"

	"github.com/psi-shapley/psi/internal/encode"
)

// number is a numeric input of a baseline: a standardised numeric column, which the encoder keeps beside the bins; a
// cyclic part of a time; or the angle of that part.
type number struct {
	column int // index among the numeric columns
	part   int // index of the cyclic part, from 0; −1 for the column itself
	angle  bool
}

// value returns NaN for a gap.
func (n number) value(rows *encode.Batch, i int) float64 {
	at := i*rows.Numeric + n.column
	if rows.Observed[i*rows.Players()+n.column] == 0 || rows.Numbers[2*at] == encode.GapPosition {
		return math.NaN()
	}
	if n.part < 0 {
		return float64(rows.Numbers[2*at+1])
	}
	time := n.column - (rows.Numeric - rows.Times)
	cycles := rows.Cycles[(i*rows.Times+time)*encode.CyclicParts:]
	if n.angle {
		return math.Atan2(float64(cycles[n.part]), float64(cycles[n.part+1]))
	}
	return float64(cycles[n.part])
}

// newNumbers lists the numeric inputs of rows: each numeric column and, for times, all cyclic parts or the angles.
func newNumbers(rows *encode.Batch, angles bool) []number {
	list := make([]number, 0, rows.Numeric)
	for c := range rows.Numeric {
		list = append(list, number{column: c, part: -1})
	}
	for c := rows.Numeric - rows.Times; c < rows.Numeric; c++ {
		for part := range encode.CyclicParts {
			if !angles || part%2 == 0 { // sine and cosine
				list = append(list, number{c, part, angles})
			}
		}
	}
	return list
}
