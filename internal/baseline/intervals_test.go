package baseline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestIntervals(t *testing.T) {
	up, down, flat := slope{1, 1}, slope{-1, 1}, slope{0, 1}
	for _, c := range []struct {
		sums []slope
		want []int
	}{
		{nil, nil},
		{[]slope{up}, []int{1}},
		{[]slope{flat, flat, flat}, []int{3}},
		{[]slope{up, up, up, down, down}, []int{3, 5}},
		{[]slope{down, down, up, up, up, down, down}, []int{2, 5, 7}},
		{[]slope{up, down, up, down, up}, []int{1, 2, 5}},
	} {
		if got := intervals(c.sums, 0.5); !slices.Equal(got, c.want) {
			t.Errorf("%v is cut at %v, want %v", c.sums, got, c.want)
		}
	}

	// No single cut is better than the first.
	rng := rand.New(rand.NewPCG(6, 0))
	sums := make([]slope, 20)
	var all slope
	for j := range sums {
		sums[j] = slope{rng.NormFloat64(), rng.Float64()}
		all = slope{all.g + sums[j].g, all.h + sums[j].h}
	}
	best, cut := all.gain(1), len(sums)
	for k := range sums {
		var left slope
		for _, sum := range sums[:k+1] {
			left = slope{left.g + sum.g, left.h + sum.h}
		}
		if gain := left.gain(1) + (slope{all.g - left.g, all.h - left.h}).gain(1); gain > best+1e-9 {
			best, cut = gain, k+1
		}
	}
	if got := intervals(sums, 1); !slices.Contains(got, cut) {
		t.Errorf("cut at %v, but the best cut is at %d", got, cut)
	}
}
