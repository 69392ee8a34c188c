package eval

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// MeanEstimate is a sample mean with its standard error.
type MeanEstimate struct {
	Mean          float64
	StandardError float64 // NaN with fewer than two units
	Rows, Units   int
}

// EstimateMean returns the mean of x and its standard error. Rows of one unit, such as a patient, may depend on each
// other; units are independent. If units is nil, every row is a unit. The standard error is cluster-robust:
//
//	√(G/(G − 1) · Σ_g (Σ_{i∈g} (x_i − x̄))²) / n
//
// for n rows in G units, which is s/√n if every row is a unit.
func EstimateMean(x []float64, units []uint64) MeanEstimate {
	e := MeanEstimate{Rows: len(x), StandardError: math.NaN()}
	for i, v := range x {
		e.Mean += (v - e.Mean) / float64(i+1)
	}
	place := map[uint64]int{}
	var sums []float64 // deviations of each unit in order of first appearance, so that rounding is deterministic
	for i, v := range x {
		unit := uint64(i)
		if units != nil {
			unit = units[i]
		}
		at, met := place[unit]
		if !met {
			at = len(sums)
			place[unit], sums = at, append(sums, 0)
		}
		sums[at] += v - e.Mean
	}
	squares := 0.0
	for _, sum := range sums {
		squares += sum * sum
	}
	e.Units = len(sums)
	if g := float64(e.Units); g > 1 {
		e.StandardError = math.Sqrt(squares*g/(g-1)) / float64(e.Rows)
	}
	if e.Rows == 0 {
		e.Mean = math.NaN()
	}
	return e
}

// PositiveP returns the p-value of the one-sided test that the mean is above 0, by Student's t with one degree of
// freedom less than there are units. It is NaN without a standard error, and 1 if all numbers are 0.
func (e MeanEstimate) PositiveP() float64 {
	switch {
	case math.IsNaN(e.StandardError):
		return math.NaN()
	case e.StandardError == 0 && e.Mean <= 0:
		return 1
	case e.StandardError == 0:
		return 0
	}
	return distuv.StudentsT{Sigma: 1, Nu: float64(e.Units - 1)}.CDF(-e.Mean / e.StandardError)
}

// Discoveries selects the tests to accept, so that the expected share of false discoveries is at most rate (Benjamini
// and Hochberg, 1995). It accepts the k smallest p-values, k being the largest with p_(k) ≤ rate·k/m. This holds for
// independent or positively dependent tests. NaN is not a test: it is not accepted and does not count in m.
func Discoveries(p []float64, rate float64) []bool {
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	found := make([]bool, len(p))
	for k := len(order); k > 0; k-- {
		if p[order[k-1]] <= rate*float64(k)/float64(len(order)) {
			for _, i := range order[:k] {
				found[i] = true
			}
			break
		}
	}
	return found
}
