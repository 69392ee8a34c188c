package eval

import (
	"cmp"
	"math"
	"slices"
)

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
