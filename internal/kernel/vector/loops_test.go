package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

// draw are random numbers, most of them around 1.
func draw(rng *rand.Rand, n int) []float32 {
	v := Floats(n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
		if rng.IntN(50) == 0 {
			v[i] *= 30
		}
	}
	return v
}

// far is how far two lists lie apart at most, relative to 1 or to the wanted numbers if these are larger.
func far(got, want []float32) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	worst := 0.0
	for i, w := range want {
		worst = max(worst, math.Abs(float64(got[i]-w))/max(1, math.Abs(float64(w))))
	}
	return worst
}

// Every vector loop computes what the portable loop of its name does.
func TestVectorLoops(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, o := range Available() {
		rng := rand.New(rand.NewPCG(seed, 1))
		same := func(what string, tolerance float64, f func(o Set, rng *rand.Rand) []float32) {
			t.Helper()
			same := rng.Uint64() // both get the same numbers
			got := f(o, rand.New(rand.NewPCG(same, 2)))
			want := f(Portable, rand.New(rand.NewPCG(same, 2)))
			if d := far(got, want); !(d <= tolerance) {
				t.Errorf("%s, %s: off by %.1e", o, what, d)
			}
		}
		for _, n := range []int{16, 32, 48, 64, 80, 256, 304} {
			for _, rows := range []int{1, 2, 3, 4, 5, 7, 8, 9, 17, 32} {
				for _, in := range []int{1, 3, 8, 32} {
					for _, positive := range []bool{false, true} {
						same(fmt.Sprintf("gemm %d × %d × %d", rows, in, n), 3e-5, func(o Set, rng *rand.Rand) []float32 {
							y := draw(rng, rows*n)
							o.MatMul(&MatMul{
								Y: y, X: draw(rng, rows*(in+3)), W: draw(rng, in*(n+16)), Start: draw(rng, n),
								Rows: rows, In: in, Out: n, YStride: n, XStride: in + 3, WStride: n + 16, Positive: positive,
							})
							return y
						})
					}
				}
				same(fmt.Sprintf("dots %d × %d", rows, n), 1e-4, func(o Set, rng *rand.Rand) []float32 {
					y := make([]float32, rows*3)
					o.Dots(y, 3, draw(rng, rows*n), rows, draw(rng, n))
					return y
				})
				same(fmt.Sprintf("gains %d × %d", rows, n), 1e-6, func(o Set, rng *rand.Rand) []float32 {
					y := draw(rng, rows*(n+16))
					o.Gains(y, n+16, rows, draw(rng, n))
					return y
				})
			}
			for name, f := range map[string]func(o Set, rng *rand.Rand, y []float32){
				"addScaled": func(o Set, rng *rand.Rand, y []float32) { o.AddScaled(y, 1.7, draw(rng, n)) },
				"positive":  func(o Set, rng *rand.Rand, y []float32) { o.Positive(y) },
				"softplus":  func(o Set, rng *rand.Rand, y []float32) { o.Softplus(y) },
				"silu":      func(o Set, rng *rand.Rand, y []float32) { o.Silu(y) },
			} {
				same(name, 1e-6, func(o Set, rng *rand.Rand) []float32 {
					y := draw(rng, n)
					f(o, rng, y)
					return y
				})
			}
			same("waves", 4e-6, func(o Set, rng *rand.Rand) []float32 {
				y := Floats(2 * n)
				o.Waves(y, rng.Float32()*3, draw(rng, n))
				return y
			})
			for _, columns := range []int{2, 4, 6, 12, 40} {
				scale := float32(1 / math.Sqrt(float64(columns)))
				pairs := func(rng *rand.Rand, parts int) *Pairs {
					p := &Pairs{Parts: parts, Part: n + 16}
					for range columns {
						b, g := Ones(n), draw(rng, parts*p.Part)
						addScaled(b, scale/3, draw(rng, n))
						for i := range g {
							g[i] = tanh(g[i]) * scale
						}
						p.Base, p.Records = append(p.Base, b), append(p.Records, g)
					}
					return p
				}
				for parts := 1; parts <= 3; parts++ {
					same(fmt.Sprintf("value of %d × %d, %d parts", columns, n, parts), 1e-5, func(o Set, rng *rand.Rand) []float32 {
						y := Floats(n)
						o.Value(y, pairs(rng, parts), draw(rng, n))
						return y
					})
					same(fmt.Sprintf("coefficients of %d × %d, %d parts", columns, n, parts), 1e-6, func(o Set, rng *rand.Rand) []float32 {
						y := Floats(3 * columns / 2 * n)
						o.Coefficients(y, pairs(rng, parts), n)
						return y
					})
					same(fmt.Sprintf("coefficients of %d × %d against others, %d parts", columns, n, parts), 1e-6, func(o Set, rng *rand.Rand) []float32 {
						y, p := Floats(4*columns/2*n), pairs(rng, parts)
						p.Absent = pairs(rng, parts).Records
						o.Coefficients(y, p, n)
						return y
					})
				}
				for nodes := 1; nodes <= 9; nodes++ {
					same(fmt.Sprintf("shares of pairs of %d × %d, %d nodes", columns, n, nodes), 1e-5, func(o Set, rng *rand.Rand) []float32 {
						y := Floats(columns * n)
						o.SharesOfPairs(y, pairs(rng, 1+nodes%3), NewRule(gauss(nodes)), Floats(columns/2*ShareFloats))
						return y
					})
					same(fmt.Sprintf("shares of %d × %d, %d nodes", columns, n, nodes), 1e-5, func(o Set, rng *rand.Rand) []float32 {
						var factors [][]float32
						for range columns / 2 {
							one := Ones(n)
							addScaled(one, scale/3, draw(rng, n))
							factors = append(factors, one)
							for range 3 {
								c := draw(rng, n+16)
								for i := range c {
									c[i] = tanh(c[i]) * scale
								}
								factors = append(factors, c)
							}
						}
						y := Floats(columns * n)
						o.Shares(y, factors, NewRule(gauss(nodes)), Floats(columns/2*ShareFloats))
						return y
					})
				}
			}
		}
	}
}

func gauss(nodes int) (t, weights []float64) {
	t, weights = make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(t, weights, 0, 1)
	return t, weights
}

// Elementary functions are right over all arguments that occur.
func TestElementaryFunctions(t *testing.T) {
	const n = 4096
	x := Floats(n)
	for i := range x {
		x[i] = float32(i-n/2) / 40 // from −51 to 51
	}
	for _, o := range Available() {
		check := func(name string, tolerance float64, f func(y []float32), want func(x float64) float64) {
			t.Helper()
			y := slices.Clone(x)
			f(y)
			worst := 0.0
			for i, v := range y {
				w := want(float64(x[i]))
				worst = max(worst, math.Abs(float64(v)-w)/max(1e-30, math.Abs(w)))
			}
			t.Logf("%s %s: off by %.1e of itself", o, name, worst)
			if !(worst <= tolerance) {
				t.Errorf("%s %s: off by %.1e", o, name, worst)
			}
		}
		none := Floats(n)
		check("tanh", 5e-7, func(y []float32) { o.Gains(y, n, 1, none) }, math.Tanh)
		check("softplus", 5e-7, o.Softplus, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) })
		check("silu", 5e-7, o.Silu, func(x float64) float64 { return x / (1 + math.Exp(-x)) })
		waves := Floats(2 * n)
		o.Waves(waves, 1, x)
		worst := 0.0
		for i, v := range x {
			sin, cos := math.Sincos(2 * math.Pi * float64(v))
			worst = max(worst, math.Abs(sin-float64(waves[i])), math.Abs(cos-float64(waves[n+i])))
		}
		t.Logf("%s waves: off by %.1e", o, worst)
		if worst > 1e-6 {
			t.Errorf("%s waves: off by %.1e", o, worst)
		}
	}
}
