package plot

import (
	"math"
	"slices"

	"github.com/psi-shapley/psi/explain"
	"github.com/psi-shapley/psi/table"
)

// scale maps numbers between two ends to [0, 1]; numbers beyond are clipped.
type scale struct{ low, high float64 }

// scaleOf returns the range of the middle 90 % of a column's numbers, so that a few extremes do not make the rest look
// alike. If that is a single number, it uses the middle 98 %, or all. The minimum is always at 0 and the maximum at 1,
// unless they are equal.
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

// sortedNumbers returns the observed numbers of a column in order.
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

// place maps a cell to [0, 1] within the values of its column; not for categories.
func (v view) place(player int) func(row int) (share float64, ok bool) {
	c := v.Values[player]
	if c == nil || c.Kind == table.Category {
		return func(int) (float64, bool) { return 0, false }
	}
	s := scaleOf(c)
	return func(row int) (float64, bool) { return s.share(c.Numbers[row]), c.Observed[row] }
}
