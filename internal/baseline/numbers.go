package baseline

import (
	"math"

	"github.com/psi-shapley/psi/internal/encode"
)

// number is a number that a baseline reads from a row: a numeric column in standard deviations from its mean, which the
// encoder keeps beside the bins; a part of where a time lies in one of its periods; or the angle of that place.
type number struct {
	column int // among the numeric ones
	part   int // of the cycles, from 0; −1 for the column itself
	angle  bool
}

// value is NaN for a gap.
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

// newNumbers lists the numbers of rows: each numeric column and, of times, all parts of the cycles or the angles.
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
