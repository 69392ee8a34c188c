package table

import (
	"math"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	noon := float64(time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC).Unix())
	for _, c := range []struct {
		kind Kind
		cell string
		want float64
		ok   bool
	}{
		{Number, " -1.5e3 ", -1500, true},
		{Number, "Inf", math.Inf(1), true},
		{Number, "12 km", 0, false},
		{Number, "0x10", 0, false},
		{Boolean, "Yes", 1, true},
		{Boolean, "f", 0, true},
		{Boolean, "1", 1, true},
		{Boolean, "2", 0, false},
		{Boolean, "maybe", 0, false},
		{Time, "2024-02-29T12:00:00Z", noon, true},
		{Time, "29 Feb 2024", noon - 12*3600, true},
		{Time, "02/03/2024", 0, false},
		{Category, "1", 0, false},
	} {
		got, ok := c.kind.Parse([]byte(c.cell))
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%v.Parse(%q) = %v, %v; want %v, %v", c.kind, c.cell, got, ok, c.want, c.ok)
		}
	}
}

func TestMissingIsWhatCSVTakesForMissing(t *testing.T) {
	csv := newMissingTokens(nil)
	for _, cell := range []string{"", "  ", "NA", "na", "n/a", "NaN", "nan ", "NULL", "?", "none", "0", "-", "NAN A", "ＮＡ"} {
		if got, want := Missing([]byte(cell)), csv.has([]byte(cell)); got != want {
			t.Errorf("Missing(%q) = %v, but CSV has %v", cell, got, want)
		}
	}
}

// Holds is what New checks of observed cells.
func TestHoldsIsWhatNewTakes(t *testing.T) {
	for _, kind := range []Kind{Number, Boolean, Time} {
		for _, v := range []float64{0, 1, 0.5, -1, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), firstSecond, firstSecond - 1, lastSecond, lastSecond + 1} {
			_, err := New(&Column{Name: "x", Kind: kind, Observed: []bool{true}, Numbers: []float64{v}})
			if got := kind.Holds(v); got != (err == nil) {
				t.Errorf("%v.Holds(%v) = %v, but New says %v", kind, v, got, err)
			}
		}
	}
}
