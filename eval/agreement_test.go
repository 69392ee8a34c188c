package eval

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

func TestAgreementIsTheNaiveComputation(t *testing.T) {
	rng := newRand(t)
	const n = 500
	f, phi := make([]float64, n), make([]float64, n)
	var a Agreement
	for i := range n {
		phi[i] = 5 + rng.NormFloat64()
		f[i] = phi[i] + 0.3*rng.NormFloat64()
		a.Add(f[i], phi[i])
	}
	near(t, "relative RMSE", a.RelativeRMSE(), floats.Distance(f, phi, 2)/floats.Norm(phi, 2))
	near(t, "correlation", a.Correlation(), stat.Correlation(f, phi, nil))
}

func TestAgreementOfKnownValues(t *testing.T) {
	var same, opposite, constant, none Agreement
	for _, phi := range []float64{1, 2, -3} {
		same.Add(phi, phi)
		opposite.Add(-phi, phi)
		constant.Add(0, phi)
	}
	near(t, "relative RMSE of φ", same.RelativeRMSE(), 0)
	near(t, "correlation of φ", same.Correlation(), 1)
	near(t, "relative RMSE of −φ", opposite.RelativeRMSE(), 2)
	near(t, "correlation of −φ", opposite.Correlation(), -1)
	near(t, "relative RMSE of 0", constant.RelativeRMSE(), 1)
	for what, v := range map[string]float64{
		"correlation of a constant": constant.Correlation(), "correlation of nothing": none.Correlation(), "relative RMSE of nothing": none.RelativeRMSE(),
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s = %v, want NaN", what, v)
		}
	}
}

func TestTopOverlap(t *testing.T) {
	for _, c := range []struct {
		what   string
		k      int
		f, phi []float64
		want   float64
	}{
		{"the sign does not matter", 1, []float64{-3, 1, 2}, []float64{5, 1, 2}, 1},
		{"another first", 1, []float64{1, 3, 2}, []float64{5, 1, 2}, 0},
		{"order among the k does not matter", 2, []float64{1, 3, 2}, []float64{0, -1, 2}, 1},
		{"one of two", 2, []float64{3, 2, 1}, []float64{3, 1, 2}, 0.5},
		{"two of three", 3, []float64{4, 3, 2, 1}, []float64{4, 3, 1, 2}, 2. / 3},
		{"fewer than k", 3, []float64{1, 2}, []float64{2, 1}, 1},
		{"a tie in φ", 1, []float64{1, 2, 0}, []float64{2, -2, 0}, 1},
		{"a tie in f goes to the first", 1, []float64{1, 1}, []float64{2, 1}, 1},
	} {
		overlap := TopOverlap{K: c.k}
		overlap.Add(c.f, c.phi)
		overlap.Add(nil, nil)
		near(t, c.what, overlap.Share(), c.want)
	}
}

func TestTopOverlapIsTheNaiveComputation(t *testing.T) {
	rng := newRand(t)
	const rows, players, k = 300, 7, 3
	overlap := TopOverlap{K: k}
	want := 0.0
	for range rows {
		f, phi := make([]float64, players), make([]float64, players)
		for d := range players {
			phi[d] = rng.NormFloat64()
			f[d] = phi[d] + rng.NormFloat64()
		}
		overlap.Add(f, phi)
		for d := range players {
			if rank(f, d) < k && rank(phi, d) < k {
				want += 1. / k
			}
		}
	}
	near(t, "overlap", overlap.Share(), want/rows)
}

// rank is how many are larger in size than v[d].
func rank(v []float64, d int) int {
	larger := 0
	for _, other := range v {
		if math.Abs(other) > math.Abs(v[d]) {
			larger++
		}
	}
	return larger
}

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
