package explain

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	relabellings = 199 // random divisions of the rows, each for all columns at once
	alarm        = .05 // P(an alarm for any column) if nothing has changed
)

// standing is the distance of a column, with its critical value and its adjusted p-value.
type standing struct{ distance, chance, p float64 }

// relabel compares two tables of n1 and n2 rows column by column with a permutation test. If both have the same
// distribution, rows are exchangeable between them, whatever the dependence between columns. Each relabelling therefore
// divides the rows of both tables at random, for all columns at once.
func relabel(first, second [][]float64, rng *rand.Rand) []standing {
	return compare(first, second, func(former []bool) {
		rng.Shuffle(len(former), func(i, j int) { former[i], former[j] = former[j], former[i] })
	})
}

// compare ranks the distances of two tables among those of random divisions of their rows. divide draws which rows
// belong to the former table; rows of the first table precede those of the second.
func compare(first, second [][]float64, divide func(former []bool)) []standing {
	columns := make([]sortedColumn, len(first))
	for d := range columns {
		columns[d] = sortColumn(slices.Concat(first[d], second[d]))
	}
	former := slices.Concat(slices.Repeat([]bool{true}, len(first[0])), make([]bool, len(second[0])))
	labels := make([]float64, len(former))
	distances := func() []float64 {
		scale := label(labels, former)
		list := make([]float64, len(columns))
		for d, c := range columns {
			list[d] = c.area(labels) * scale
		}
		return list
	}
	observed := distances()
	random := make([][]float64, relabellings)
	for b := range random {
		divide(former)
		random[b] = distances()
	}
	return maxT(observed, random)
}

// label labels the rows of the former table n2 and those of the latter −n1, and returns 1/(n1 n2). Sums of these
// integers have no rounding errors that would make equal distances differ.
func label(labels []float64, former []bool) (scale float64) {
	n1 := 0.0
	for _, is := range former {
		if is {
			n1++
		}
	}
	n2 := float64(len(former)) - n1
	for i, is := range former {
		labels[i] = -n1
		if is {
			labels[i] = n2
		}
	}
	return 1 / (n1 * n2)
}

// sortedColumn is a column of the rows of both tables in ascending order. Step i is the difference of the values of
// rows order[i+1] and order[i].
type sortedColumn struct {
	order []int32
	steps []float64
}

func sortColumn(values []float64) sortedColumn {
	c := sortedColumn{make([]int32, len(values)), make([]float64, len(values)-1)}
	for i := range c.order {
		c.order[i] = int32(i)
	}
	slices.SortFunc(c.order, func(a, b int32) int { return cmp.Compare(values[a], values[b]) })
	for i := range c.steps {
		c.steps[i] = values[c.order[i+1]] - values[c.order[i]]
	}
	return c
}

// area returns n1 n2 ∫ |F1(x) − F2(x)| dx for rows labelled n2 in the first table and −n1 in the second.
func (c sortedColumn) area(labels []float64) float64 {
	sum, gap := 0.0, 0.0
	for i, step := range c.steps {
		gap += labels[c.order[i]]
		sum += math.Abs(gap) * step
	}
	return sum
}

// maxT adjusts for the number of columns by Westfall and Young's single-step max-T:
//
//	p_d = (1 + #{b : max_j T_j^b ≥ T_d}) / (B + 1).
//
// T_j^b is the distance of relabelling b less the mean over the B relabellings, in units of their standard deviation.
// T_d also includes the observed distance in mean and deviation, as b is included in its own. Otherwise it would be
// larger by chance, and much larger in the maximum over many columns. A column whose distance does not vary has T = 0
// and p = 1.
func maxT(observed []float64, random [][]float64) []standing {
	list, t := make([]standing, len(observed)), make([]float64, len(observed))
	means, deviations := make([]float64, len(observed)), make([]float64, len(observed))
	n := float64(len(random))
	largest := slices.Repeat([]float64{math.Inf(-1)}, len(random))
	for d := range observed {
		means[d], deviations[d] = moments(random, d)
		for b := range random {
			largest[b] = max(largest[b], standardised(random[b][d], means[d], deviations[d]))
		}
		// With u = (x − mean)/deviation, including x moves the mean by (x − mean)/(n + 1) and increases the deviation.
		u := standardised(observed[d], means[d], deviations[d])
		t[d] = u * math.Sqrt(n/(n+1+u*u))
	}
	slices.Sort(largest)
	// p ≤ alarm if fewer than this many of the largest reach T.
	reach := int(alarm * (n + 1))
	limit := largest[len(largest)-reach]
	for d := range list {
		below, _ := slices.BinarySearch(largest, t[d])
		chance := means[d] + deviations[d]*limit*math.Sqrt((n+1)/(n-limit*limit)) // where T = limit; |limit| < √n
		if deviations[d] == 0 {
			chance = max(means[d], observed[d])
		}
		list[d] = standing{observed[d], chance, float64(1+len(largest)-below) / (n + 1)}
	}
	return list
}

// moments returns the mean and the standard deviation of a column's distances over the relabellings. A deviation within
// the rounding error is 0.
func moments(random [][]float64, d int) (mean, deviation float64) {
	n := float64(len(random))
	for _, distances := range random {
		mean += distances[d] / n
	}
	for _, distances := range random {
		deviation += (distances[d] - mean) * (distances[d] - mean) / n
	}
	if deviation = math.Sqrt(deviation); deviation <= 1e-12*mean {
		return mean, 0
	}
	return mean, deviation
}

func standardised(x, mean, deviation float64) float64 {
	if deviation == 0 {
		return 0
	}
	return (x - mean) / deviation
}
