package eval

import (
	"cmp"
	"math"
	"slices"
)

// Agreement compares attributions f with Shapley values φ over pairs of both, of a single player or of all. The zero
// value is ready to use. It is not safe for concurrent use.
type Agreement struct {
	missed float64 // Σ (f − φ)²
	size   float64 // Σ φ²
	both   moments
}

// Add adds the attribution and the Shapley value of a player in a row.
func (a *Agreement) Add(f, phi float64) {
	a.missed += (f - phi) * (f - phi)
	a.size += phi * phi
	a.both.add(f, phi, 1)
}

// RelativeRMSE returns RMSE(f, φ) / RMS(φ) = √(Σ (f − φ)² / Σ φ²). It is NaN if all values are zero.
func (a *Agreement) RelativeRMSE() float64 { return math.Sqrt(a.missed / a.size) }

// Correlation returns Pearson's correlation. It is NaN if f or φ is constant.
func (a *Agreement) Correlation() float64 {
	return a.both.xy / (math.Sqrt(a.both.xx) * math.Sqrt(a.both.yy))
}

// TopOverlap measures how far attributions f and Shapley values φ agree on the most important players. It is the share
// of the K players with the largest |f| that are among the K with the largest |φ|, averaged over rows. With K = 1 it is
// the share of rows that agree on the first player. Players tied in φ for the last place all count as among the K; ties
// in f are broken by player order. It is not safe for concurrent use.
type TopOverlap struct {
	K int

	rows  int
	share float64 // sum over rows
	order []int
	sizes []float64
}

// Add adds the values of the players present in a row. A row without players is ignored; a row with at most K players
// agrees.
func (t *TopOverlap) Add(f, phi []float64) {
	n := len(phi)
	if n == 0 {
		return
	}
	t.rows++
	k := min(t.K, n)
	t.order, t.sizes = t.order[:0], t.sizes[:0]
	for d, v := range phi {
		t.order = append(t.order, d)
		t.sizes = append(t.sizes, math.Abs(v))
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return cmp.Compare(math.Abs(f[b]), math.Abs(f[a])) })
	slices.Sort(t.sizes)
	hits := 0
	for _, d := range t.order[:k] {
		if math.Abs(phi[d]) >= t.sizes[n-k] {
			hits++
		}
	}
	t.share += float64(hits) / float64(k)
}

// Share returns the mean overlap, from 0 to 1.
func (t *TopOverlap) Share() float64 { return t.share / float64(t.rows) }

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
