package eval

import (
	"math"
	"testing"
)

// The mean over all orders that fall in score, and the largest over all orders whatever.
func TestNDCGIsThatOfAllOrders(t *testing.T) {
	rng := newRand(t)
	for range 200 {
		n := 1 + rng.IntN(6)
		gain, score := make([]float64, n), make([]float64, n)
		for i := range n {
			gain[i], score[i] = float64(rng.IntN(4)), float64(rng.IntN(4))
		}
		gain[rng.IntN(n)]++
		most, sum, orders := 0.0, 0.0, 0.0
		permute(n, func(order []int) {
			dcg, falls := 0.0, true
			for place, i := range order {
				dcg += gain[i] * math.Ln2 / math.Log(float64(place)+2)
				falls = falls && (place == 0 || score[order[place-1]] >= score[i])
			}
			most = max(most, dcg)
			if falls {
				sum, orders = sum+dcg, orders+1
			}
		})
		near(t, "nDCG", NDCG(gain, score), sum/orders/most)
	}
}

func TestNDCGByHand(t *testing.T) {
	near(t, "the same order", NDCG([]float64{3, 2, 1}, []float64{30, 20, 10}), 1)
	// (1 + 2/log₂3 + 3/2) / (3 + 2/log₂3 + 1/2)
	near(t, "the reverse", NDCG([]float64{3, 2, 1}, []float64{1, 2, 3}), 0.7899980042460358)
	if got := NDCG([]float64{0, 0}, []float64{1, 2}); !math.IsNaN(got) {
		t.Errorf("nDCG without gains = %v, want NaN", got)
	}
}

// permute calls with every order of n things.
func permute(n int, call func(order []int)) {
	order := make([]int, 0, n)
	used := make([]bool, n)
	var place func()
	place = func() {
		if len(order) == n {
			call(order)
			return
		}
		for i := range n {
			if !used[i] {
				used[i], order = true, append(order, i)
				place()
				used[i], order = false, order[:len(order)-1]
			}
		}
	}
	place()
}
