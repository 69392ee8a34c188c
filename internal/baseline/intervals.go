package baseline

import "slices"

// slope holds the sums of the first and second derivatives of rows.
type slope struct{ g, h float64 }

// gain returns twice the decrease of the loss by a step.
func (s slope) gain(shrink float64) float64 { return s.g * s.g / (s.h + shrink) }

// maxIntervals equals the leaves of an explainable boosting machine. With a step per bin, boosting overfits small bins
// in few rounds and stops: ADR 0029.
const maxIntervals = 3

// intervals returns the ends of at most maxIntervals intervals of ordered bins, cut greedily where the loss decreases
// most.
func intervals(sums []slope, shrink float64) []int {
	if len(sums) == 0 {
		return nil
	}
	ends := []int{len(sums)}
	for len(ends) < maxIntervals {
		best, cut, from := 0.0, 0, 0
		for _, to := range ends {
			var all, left slope
			for _, sum := range sums[from:to] {
				all = slope{all.g + sum.g, all.h + sum.h}
			}
			for j := from; j < to-1; j++ {
				left = slope{left.g + sums[j].g, left.h + sums[j].h}
				right := slope{all.g - left.g, all.h - left.h}
				if gain := left.gain(shrink) + right.gain(shrink) - all.gain(shrink); gain > best {
					best, cut = gain, j+1
				}
			}
			from = to
		}
		if cut == 0 {
			break
		}
		at, _ := slices.BinarySearch(ends, cut)
		ends = slices.Insert(ends, at, cut)
	}
	return ends
}
