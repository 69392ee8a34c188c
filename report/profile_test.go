package report

import (
	"math"
	"slices"
	"testing"
)

// Few values have a bar each; many share bars of equal width, whose outermost hold what is far out.
func TestHistogram(t *testing.T) {
	if got := histogram([]float64{0, 0, 0, 1}); !slices.Equal(got, []Bar{{0, 0, 3}, {1, 1, 1}}) {
		t.Errorf("of 0 and 1: %v", got)
	}
	var hours, many []float64
	for i := range 240 {
		hours, many = append(hours, float64(i/10)), append(many, float64(i))
	}
	for i, bar := range histogram(hours) {
		if bar != (Bar{float64(i), float64(i), 10}) {
			t.Errorf("hour %d: %v", i, bar)
		}
	}
	for _, bar := range histogram(many)[:20] {
		if bar.Rows < 10 || bar.Rows > 13 || bar.High-bar.Low != math.Trunc(bar.High-bar.Low) {
			t.Errorf("whole numbers from %g to %g: %d rows", bar.Low, bar.High, bar.Rows)
		}
	}
	many = append(many, 1e9+.5)
	got, rows := histogram(many), 0
	for _, bar := range got {
		rows += bar.Rows
	}
	if len(got) != bars || rows != len(many) || got[bars-1].High > 300 || got[bars-1].Rows < 10 {
		t.Errorf("of many values: %v", got)
	}
}
