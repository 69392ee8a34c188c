package psi

import (
	"math"
	"slices"
	"testing"
)

// Numbers are drawn evenly from all below the limit, each once and in order; those of one limit are always the same.
func TestDrawNumbers(t *testing.T) {
	const limit, n = 24 * 500, 480
	got := drawNumbers(limit, n)
	tenths, hours := make([]float64, 10), make([]float64, 24)
	for i, x := range got {
		if x < 0 || x >= limit || i > 0 && x <= got[i-1] {
			t.Fatalf("number %d is %d", i, x)
		}
		tenths[x*10/limit]++
		hours[x%24]++
	}
	for _, counts := range [][]float64{tenths, hours} {
		for i, count := range counts {
			if want := n / float64(len(counts)); math.Abs(count-want) > 5*math.Sqrt(want) {
				t.Errorf("%g in part %d of %d, want about %g", count, i, len(counts), want)
			}
		}
	}
	if len(got) != n || !slices.Equal(got, drawNumbers(limit, n)) {
		t.Errorf("%d numbers, or others the second time", len(got))
	}
	if all := drawNumbers(5, 5); !slices.Equal(all, []int{0, 1, 2, 3, 4}) {
		t.Errorf("all of 5: %v", all)
	}
}
