package plot

import (
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// scale is where numbers lie between two ends, 0 to 1; what lies beyond them is at the end.
type scale struct{ low, high float64 }

// scaleOf has the ends of the middle 90 % of a column's numbers, so that a few extremes do not leave the rest alike; or of
// 98 %, or of all, where these are one number. The lowest number is always at 0 and the highest at 1, unless they are one.
func scaleOf(c *table.Column) scale {
	sorted := sortedNumbers(c)
	if len(sorted) == 0 {
		return scale{}
	}
	for _, beyond := range []float64{.05, .01} {
		if low, high := explain.Quantile(sorted, beyond), explain.Quantile(sorted, 1-beyond); low < high {
			return scale{low, high}
		}
	}
	return scale{sorted[0], sorted[len(sorted)-1]}
}

func (s scale) share(x float64) float64 {
	if s.low == s.high {
		return .5
	}
	return math.Min(1, math.Max(0, (x-s.low)/(s.high-s.low)))
}

// sortedNumbers are the numbers of a column that it has, in their order.
func sortedNumbers(c *table.Column) []float64 {
	var sorted []float64
	for row, x := range c.Numbers {
		if c.Observed[row] {
			sorted = append(sorted, x)
		}
	}
	slices.Sort(sorted)
	return sorted
}

// place is where a cell lies between the low and the high values of its column, 0 to 1; categories have none.
func (v view) place(player int) func(row int) (share float64, ok bool) {
	c := v.Values[player]
	if c == nil || c.Kind == table.Category {
		return func(int) (float64, bool) { return 0, false }
	}
	s := scaleOf(c)
	return func(row int) (float64, bool) { return s.share(c.Numbers[row]), c.Observed[row] }
}
