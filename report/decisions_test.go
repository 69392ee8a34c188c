package report

import (
	"slices"
	"testing"
)

// Of a rare class the threshold that is shown first is near its share, else it is a half.
func TestFirstThreshold(t *testing.T) {
	list := thresholds()
	if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != 126 || list[0] != .0001 || list[125] != .999 {
		t.Errorf("thresholds %v", list)
	}
	for share, want := range map[float64]float64{0: .0001, .0023: .002, .018: .02, .0999: .1, .1: .5, .24: .5, .9: .5, 1: .5} {
		if got := list[firstThreshold(share)]; got != want {
			t.Errorf("of a class of %g: %g, want %g", share, got, want)
		}
	}
}
