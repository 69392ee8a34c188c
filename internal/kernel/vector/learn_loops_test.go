package vector

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every vector loop of training computes what the portable loop of its name does, and writes nothing else.
func TestVectorLoopsOfTraining(t *testing.T) {
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
		for _, n := range []int{16, 32, 48, 64, 80, 256} {
			for _, rows := range []int{1, 2, 3, 8, 9, 33} {
				for _, in := range []int{1, 3, 40} {
					same(fmt.Sprintf("transposed gemm %d × %d × %d", rows, in, n), 1e-4, func(o Set, rng *rand.Rand) []float32 {
						y := draw(rng, rows*n)
						o.MatMul(&MatMul{
							Y: y, X: draw(rng, in*(rows+2)), W: draw(rng, in*(n+16)), Start: draw(rng, n),
							Rows: rows, In: in, Out: n, YStride: n, XStride: 1, XStep: rows + 2, WStride: n + 16,
						})
						return y
					})
				}
				for _, columns := range []int{2, 4, 12} {
					for _, parts := range []int{1, 2, 3} {
						part, record := n+16, parts*(n+16)
						draws := func(rng *rand.Rand) (records []float32, places, order []int32) {
							const cells = 3 // of each column
							records = draw(rng, columns*cells*record)
							for i, v := range records {
								records[i] = tanh(v) / 2
								if i%record < part {
									records[i]++
								}
							}
							for i := range rows * columns {
								places = append(places, int32((i%columns*cells+rng.IntN(cells))*record))
							}
							for _, d := range rng.Perm(columns) {
								order = append(order, int32(d))
							}
							return records, places, order
						}
						of := fmt.Sprintf("of %d × %d × %d, %d parts", rows, columns, n, parts)
						same("products "+of, 1e-5, func(o Set, rng *rand.Rand) []float32 {
							records, places, order := draws(rng)
							y := draw(rng, rows*(n+32))
							o.Products(&Products{
								Y: y, YStride: n + 32, Records: records, At: places, Order: order, Rest: draw(rng, n),
								Rows: rows, Columns: columns, Channels: n, Parts: parts, Part: part,
							})
							return y
						})
						same("products gradient "+of, 2e-4, func(o Set, rng *rand.Rand) []float32 {
							records, places, order := draws(rng)
							y := draw(rng, len(records))
							o.ProductsGradient(&ProductsGradient{
								Gradient: y, Up: draw(rng, rows*(n+32)), UpStride: n + 32, Records: records, At: places, Order: order,
								Scratch: Floats(ScratchFloats(columns)), Rows: rows, Columns: columns, Channels: n, Parts: parts, Part: part,
							})
							return y
						})
					}
				}
				same(fmt.Sprintf("gather %d × %d", rows, n), 1e-5, func(o Set, rng *rand.Rand) []float32 {
					const per, from = 3, 11
					at := make([]int32, rows*per)
					for i := range at {
						at[i] = int32(rng.IntN(from) * n)
					}
					y := draw(rng, (rows+1)*n)
					o.Gather(&Gather{Y: y, X: draw(rng, from*n), At: at, Scale: draw(rng, rows*per), Rows: rows, Per: per, Width: n})
					return y
				})
				same(fmt.Sprintf("scatter %d × %d", rows, n), 1e-5, func(o Set, rng *rand.Rand) []float32 {
					const to = 5
					at := make([]int32, rows)
					for i := range at {
						at[i] = int32(rng.IntN(to) * n)
					}
					y := draw(rng, to*n)
					o.Scatter(y, at, draw(rng, rows+3), draw(rng, rows*n), n)
					return y
				})
				same(fmt.Sprintf("tanh gradient %d × %d", rows, n), 1e-6, func(o Set, rng *rand.Rand) []float32 {
					y, x := draw(rng, rows*(n+16)), draw(rng, rows*(n+16))
					for i, v := range x {
						x[i] = .3 + tanh(v)
					}
					o.TanhGradient(y, x, n+16, rows, n, .3)
					return y
				})
				for _, width := range []int{1, 5, 8, 20, n} {
					same(fmt.Sprintf("transpose %d × %d", rows, width), 0, func(o Set, rng *rand.Rand) []float32 {
						y := draw(rng, width*Padded(rows))
						o.Transpose(y, Padded(rows), draw(rng, rows*n), n, rows, min(width, n))
						return y
					})
				}
			}
			same("positive gradient", 0, func(o Set, rng *rand.Rand) []float32 {
				y, x := draw(rng, n), draw(rng, n)
				positive(x)
				o.PositiveGradient(y, x)
				return y
			})
			same("silu gradient", 2e-6, func(o Set, rng *rand.Rand) []float32 {
				y := draw(rng, n)
				o.SiluGradient(y, draw(rng, n))
				return y
			})
			same("squared sum", 1e-5, func(o Set, rng *rand.Rand) []float32 {
				return []float32{o.SquaredSum(draw(rng, n))}
			})
			same("adam", 1e-5, func(o Set, rng *rand.Rand) []float32 {
				a := Adam{Scale: 0.7, Rate: 1e-2, Decay: 1e-3, Debias1: 3, Debias2: 20, Keep: 0.9}
				a.Weights, a.Gradient, a.First, a.Second, a.Average = draw(rng, n), draw(rng, n), draw(rng, n), draw(rng, n), draw(rng, n)
				positive(a.Second)
				clear(a.Gradient[:3]) // padding
				clear(a.First[:3])
				clear(a.Second[:3])
				o.Adam(&a)
				return slices.Concat(a.Weights, a.First, a.Second, a.Average)
			})
		}
	}
}
