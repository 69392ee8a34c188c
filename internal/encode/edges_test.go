package encode

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// upTo is 0, 1, …, n.
func upTo(n int) []float64 {
	x := make([]float64, n+1)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}

func TestEdges(t *testing.T) {
	zeros := make([]float64, 100)
	for _, c := range []struct {
		name string
		x    []float64
		bins int
		want []float64
	}{
		{"no values", nil, 4, nil},
		{"one value", []float64{7}, 4, []float64{7}},
		{"one value, many times", []float64{7, 7, 7, 7, 7, 7}, 4, []float64{7}},
		{"as many values as edges", []float64{1, 2, 2, 2, 8}, 2, []float64{1, 2, 8}},
		{"quantiles", upTo(100), 4, []float64{0, 25, 50, 75, 100}},
		{"quantiles between values", upTo(5), 2, []float64{0, 2.5, 5}},
		{"one bin", upTo(9), 1, []float64{0, 9}},
		// The quantiles are 0, 0, 0.5, 50.25, 100: the spare edge halves 1, …, 50.
		{"half of them zeros", append(zeros, upTo(100)[1:]...), 4, []float64{0, 0.5, 26, 50.25, 100}},
		// The quantiles are 0, 0, 0, 4: spare edges go to 2, in the middle, and to 1.
		{"nearly all zeros", append(zeros, 1, 2, 3, 4), 3, []float64{0, 1, 2, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Edges(c.x, c.bins); !slices.Equal(got, c.want) {
				t.Errorf("edges %v, want %v", got, c.want)
			}
		})
	}
}

func TestBinsWithoutTiesAreEquallyFull(t *testing.T) {
	const bins = 7
	x := make([]float64, 701)
	for i := range x {
		x[i] = math.Exp(float64(i) / 100)
	}
	inBin := make([]int, bins)
	edges := Edges(x, bins)
	for _, v := range x {
		inBin[min(bins-1, int(position(edges, v)))]++
	}
	for k, n := range inBin {
		if n < 100 || n > 101 {
			t.Errorf("bin %d holds %d of %d values", k, n, len(x))
		}
	}
}

// sample draws sorted values with many ties and of all sizes.
func sample(t *rapid.T) []float64 {
	tied := rapid.Map(rapid.IntRange(-3, 3), func(i int) float64 { return float64(i) })
	value := rapid.OneOf(tied, rapid.Float64Range(-10, 10), rapid.Float64Range(-1e300, 1e300))
	x := rapid.SliceOfN(value, 1, 60).Draw(t, "x")
	slices.Sort(x)
	return x
}

func TestEdgesOfAnySample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, bins := sample(t), rapid.IntRange(1, 20).Draw(t, "bins")
		edges := Edges(x, bins)
		for k := 1; k < len(edges); k++ {
			if !(edges[k] > edges[k-1]) {
				t.Fatalf("edges %v do not increase", edges)
			}
		}
		if want := min(bins+1, len(slices.Compact(slices.Clone(x)))); len(edges) != want {
			t.Fatalf("%d edges %v, want %d: ties are to cost none", len(edges), edges, want)
		}
		first, last := edges[0], edges[len(edges)-1]
		least, most := x[0], x[len(x)-1]
		if rounding := 1e-15 * (most - least); first != least || math.Abs(last-most) > rounding {
			t.Fatalf("edges from %g to %g of values from %g to %g", first, last, least, most)
		}
	})
}

// A value that stands for several is several equal values.
func TestEdgesOfWeightedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, bins := sample(t), rapid.IntRange(1, 20).Draw(t, "bins")
		var weighted ranked
		var repeated []float64
		for _, v := range x {
			times := rapid.IntRange(1, 5).Draw(t, "times")
			weighted.add(v, int64(times))
			repeated = append(repeated, slices.Repeat([]float64{v}, times)...)
		}
		if got, want := weighted.edges(bins), Edges(repeated, bins); !slices.EqualFunc(got, want, sameBits) {
			t.Fatalf("edges %v, want %v", got, want)
		}
	})
}

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
