package encode

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPosition(t *testing.T) {
	bins := []float64{-1, 0, 4, 5}
	for _, c := range []struct {
		name  string
		edges []float64
		v     float64
		want  float64
	}{
		{"lower end", bins, -1, 0},
		{"within the first bin", bins, -0.75, 0.25},
		{"at an edge", bins, 0, 1},
		{"within the second bin", bins, 1, 1.25},
		{"within the last bin", bins, 4.5, 2.5},
		{"upper end", bins, 5, 3},
		{"below the lower end", bins, -1e300, 0},
		{"above the upper end", bins, 1e300, 3},
		{"a constant column", []float64{2}, 2, 0},
		{"below a constant", []float64{2}, 1, 0},
		{"above a constant", []float64{2}, 3, 0},
		{"nothing known", nil, 3, 0},
		{"a bin wider than any number", []float64{-math.MaxFloat64, math.MaxFloat64}, 0, 0.5},
		{"neighbouring floats", []float64{0, math.SmallestNonzeroFloat64}, math.SmallestNonzeroFloat64, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := position(c.edges, c.v); got != c.want {
				t.Errorf("position of %g among %v = %g, want %g", c.v, c.edges, got, c.want)
			}
		})
	}
}

func TestPositionOfAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, bins := sample(t), rapid.IntRange(1, 20).Draw(t, "bins")
		edges := Edges(x, bins)
		values := append(sample(t), x...)
		slices.Sort(values)
		last := 0.0
		for _, v := range values {
			p := position(edges, v)
			if !(p >= last && p <= float64(len(edges)-1)) { // false for NaN
				t.Fatalf("position of %g among %v = %g, after %g", v, edges, p, last)
			}
			last = p
		}
		for k, edge := range edges {
			if p := position(edges, edge); p != float64(k) {
				t.Fatalf("position of edge %d of %v = %g", k, edges, p)
			}
		}
	})
}
