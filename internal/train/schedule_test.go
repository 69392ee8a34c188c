package train

import (
	"math"
	"testing"
)

func TestOneCycleEndsAndTop(t *testing.T) {
	const n, top = 1000, 2e-3
	for _, c := range []struct {
		name string
		step int
		want float64
	}{
		{"first step", 0, top / 25},
		{"half way up", n / 20, (top/25 + top) / 2},
		{"top", n / 10, top},
		{"last step", n - 1, top / 2500},
	} {
		if got := oneCycle(c.step, n, top); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: rate %g, want %g", c.name, got, c.want)
		}
	}
}

func TestOneCycleRisesThenFalls(t *testing.T) {
	for _, n := range []int{5, 10, 13, 40, 999, 1000} {
		for i := 1; i < n; i++ {
			last, rate := oneCycle(i-1, n, 1), oneCycle(i, n, 1)
			rising := float64(i) <= 0.1*float64(n)
			falling := float64(i-1) >= 0.1*float64(n)
			if rising && rate <= last || falling && rate >= last {
				t.Errorf("of %d steps, step %d has rate %g after %g", n, i, rate, last)
			}
		}
	}
}

func TestOneCycleOfAnyLength(t *testing.T) {
	for n := 1; n <= 60; n++ {
		for i := range n {
			rate := oneCycle(i, n, 3)
			if !(rate >= 3.0/2500-1e-15 && rate <= 3) { // false for NaN
				t.Errorf("of %d steps, step %d has rate %g", n, i, rate)
			}
		}
	}
}

func TestKeepForgetsTheStartThenHolds(t *testing.T) {
	const decay = 0.99
	if got := keep(0, decay); got != 1.0/11 {
		t.Errorf("the first step keeps %g, want 1/11", got)
	}
	start := 1.0 // the share of the random start in the average
	for i := range 2000 {
		share := keep(i, decay)
		if i > 0 && share < keep(i-1, decay) || share > decay {
			t.Errorf("step %d keeps %g after %g", i, share, keep(i-1, decay))
		}
		start *= share
		if i == 50 && start > 1e-6 {
			t.Errorf("after 50 steps the average still holds %g of the random start", start)
		}
	}
	if got := keep(2000, decay); got != decay {
		t.Errorf("a late step keeps %g, want %g", got, decay)
	}
	if got := keep(2000, 0); got != 0 {
		t.Errorf("without an average a step keeps %g", got)
	}
}
