package encode

import (
	"math"
	"math/big"
	"slices"
	"testing"
)

func momentsOf(x []float64) (mean, std float64) {
	var m moments
	for _, v := range x {
		m.add(v)
	}
	return m.meanAndStd()
}

// trueMoments computes with numbers as long as it takes.
func trueMoments(x []float64) (mean, std float64) {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(v) }
	n, sum, squares := number(float64(len(x))), number(0), number(0)
	for _, v := range x {
		sum.Add(sum, number(v))
		squares.Add(squares, number(0).Mul(number(v), number(v)))
	}
	sum.Quo(sum, n)
	squares.Sub(squares.Quo(squares, n), number(0).Mul(sum, sum))
	mean, _ = sum.Float64()
	std, _ = squares.Sqrt(squares).Float64()
	return mean, std
}

func TestMoments(t *testing.T) {
	rng := newRand(t)
	draw := func(n int, value func() float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = value()
		}
		return x
	}
	sizes := draw(2000, func() float64 { return math.Ldexp(rng.NormFloat64(), rng.IntN(2000)-1000) })
	const m = math.MaxFloat64
	ascending := slices.Clone(sizes)
	slices.Sort(ascending)
	for _, c := range []struct {
		name string
		x    []float64
	}{
		{"normal", draw(20_000, rng.NormFloat64)},
		{"far from zero", draw(20_000, func() float64 { return 1e9 + 1e-3*rng.NormFloat64() })},
		{"instants of a day", draw(20_000, func() float64 { return 1.7e9 + math.Floor(86400*rng.Float64()) })},
		{"an outlier first", append([]float64{-1e12}, draw(20_000, rng.NormFloat64)...)},
		{"all sizes", sizes},
		{"all sizes, ascending", ascending},
		{"largest of all", []float64{m, -m}},
		{"largest of all, again and again", slices.Repeat([]float64{m, m, m, -m, -m, -m}, 6)},
		{"near the largest", draw(1000, func() float64 { return m * (1 - 1e-15*rng.Float64()) })},
		{"one of the largest", append(draw(100, rng.NormFloat64), 1e308)},
		{"smallest of all", []float64{0, math.SmallestNonzeroFloat64 * 8}},
		{"tiny", draw(1000, func() float64 { return 1e-300 * rng.NormFloat64() })},
		{"zeros first", append(make([]float64, 100), 3, 4)},
	} {
		t.Run(c.name, func(t *testing.T) {
			mean, std := momentsOf(c.x)
			wantMean, wantStd := trueMoments(c.x)
			// A mean is known to the rounding of the values it is taken from.
			rounding := 1e-15 * max(math.Abs(slices.Min(c.x)), math.Abs(slices.Max(c.x)))
			if !(math.Abs(mean-wantMean) <= rounding+1e-12*wantStd) || !(math.Abs(std-wantStd) <= rounding+1e-9*wantStd) {
				t.Errorf("mean %.17g and standard deviation %.17g, want %.17g and %.17g", mean, std, wantMean, wantStd)
			}
			if !finite(mean) || !finite(std) || !(std > 0) {
				t.Errorf("mean %g and standard deviation %g cannot be used", mean, std)
			}
		})
	}
}

// A whole weight is as many numbers, and the unit of weights does not matter.
func TestWeightedMoments(t *testing.T) {
	rng := newRand(t)
	var values, repeated, weights []float64
	for range 2000 {
		v, times := math.Ldexp(rng.NormFloat64(), rng.IntN(20)), 1+rng.IntN(9)
		values, weights = append(values, v), append(weights, float64(times))
		repeated = append(repeated, slices.Repeat([]float64{v}, times)...)
	}
	wantMean, wantStd := trueMoments(repeated)
	for _, unit := range []float64{1, 0.1, 0x1p-100, 0x1p60} {
		var m moments
		for i, v := range values {
			m.addWeighted(v, weights[i]*unit)
		}
		mean, std := m.meanAndStd()
		if math.Abs(mean-wantMean) > 1e-12*wantStd || math.Abs(std-wantStd) > 1e-12*wantStd {
			t.Errorf("in units of %g: mean %.17g and standard deviation %.17g, want %.17g and %.17g", unit, mean, std, wantMean, wantStd)
		}
	}
}

func TestMomentsOfNothingAndOfAConstant(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		mean float64
	}{
		{nil, 0},
		{[]float64{0}, 0},
		{[]float64{-3}, -3},
		{slices.Repeat([]float64{0.1}, 1000), 0.1},
		{slices.Repeat([]float64{math.MaxFloat64}, 1000), math.MaxFloat64},
		{slices.Repeat([]float64{math.SmallestNonzeroFloat64}, 10), math.SmallestNonzeroFloat64},
		{append(make([]float64, 100), math.SmallestNonzeroFloat64), 0}, // a constant, as far as numbers can tell
	} {
		if mean, std := momentsOf(c.x); mean != c.mean || std != 1 {
			t.Errorf("%d times %g: mean %g and standard deviation %g, want the same and 1", len(c.x), c.mean, mean, std)
		}
	}
}

// Rounding does not pile up over a long stream.
func TestMomentsOfALongStream(t *testing.T) {
	var m moments
	const n = 10_000_000
	for i := range n {
		m.add(1e6 + float64(i%2))
	}
	mean, std := m.meanAndStd()
	if math.Abs(mean-1000000.5) > 1e-9 || math.Abs(std-0.5) > 1e-9 {
		t.Errorf("mean %.17g and standard deviation %.17g, want 1000000.5 and 0.5", mean, std)
	}
}

func BenchmarkMoments(b *testing.B) {
	rng := newRand(b)
	x := make([]float64, 1<<16)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	var m moments
	i := 0
	for b.Loop() {
		m.add(x[i%len(x)])
		i++
	}
}
