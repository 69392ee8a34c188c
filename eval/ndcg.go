package eval

import (
	"cmp"
	"math"
	"slices"
)

// NDCG returns the normalised discounted cumulative gain of a ranking by score, from 0 to 1:
//
//	DCG = Σ_i gain(i) / log₂(i + 1),   nDCG = DCG / (the largest DCG of any ranking)
//
// where gain(i) is the gain of the i-th element in descending order of score, from i = 1. Elements with equal scores
// count with the mean of their gains, the expectation if ties are broken at random. It is NaN if no gain is positive.
func NDCG(gain, score []float64) float64 {
	return discounted(gain, score) / discounted(gain, gain)
}

// discounted returns the DCG of gains in descending order of score.
func discounted(gain, score []float64) float64 {
	order := make([]int, len(gain))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	sum := 0.0
	for from := 0; from < len(order); {
		to, gains, discounts := from, 0.0, 0.0
		for ; to < len(order) && score[order[to]] == score[order[from]]; to++ {
			gains += gain[order[to]]
			discounts += 1 / math.Log2(float64(to+2))
		}
		sum += gains / float64(to-from) * discounts
		from = to
	}
	return sum
}
