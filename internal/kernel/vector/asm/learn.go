package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// learning are the loops of training.
func (a *assembler) learning() {
	for _, together := range []int{4, 2, 1} { // vectors of channels: a product waits for the one before it, the more the better
		a.manyProducts(fmt.Sprintf("products%d", together), together)
		a.productsGradient(fmt.Sprintf("productsGradient%d", together), together)
	}
	a.gather()
	a.scatter()
	a.factorsGradient()
	a.positiveGradient()
	a.siluGradient()
	a.squaredSum()
	a.adam()
	a.transpose()
}

// Places in placedArgs.
const (
	placedY = iota // also what comes from above
	placedYStride
	placedFactors
	placedGradient
	placedAt
	placedRest
	placedScratch
	placedRows
	placedColumns
	placedBytes   // of the channels
	placedChannel // bytes of those that are done
)

// channels goes through the channels, some vectors of them together, as long as there are that many; body gets their place in
// bytes. It leaves in the arguments how far it came.
func (a *assembler) channels(g arguments, together int, body func(channel reg.GPVirtual)) {
	channel := g.word(placedChannel)
	a.Label("channels")
	end := a.GP64()
	a.LEAQ(at(channel, together*a.bytes()), end)
	a.CMPQ(end, operand.Mem{Base: g.at, Disp: 8 * placedBytes})
	a.JGT(operand.LabelRef("done"))
	body(channel)
	a.ADDQ(operand.U32(uint32(together*a.bytes())), channel)
	a.JMP(operand.LabelRef("channels"))
	a.Label("done")
	a.MOVQ(channel, operand.Mem{Base: g.at, Disp: 8 * placedChannel})
	a.end()
}

// shifted is an argument, moved to a channel.
func (g arguments) shifted(place int, channel reg.Register) reg.GPVirtual {
	r := g.word(place)
	g.a.ADDQ(channel, r)
	return r
}

// placed is a vector of the factor whose place in floats a register holds.
func placed(base, place reg.Register, bytes int) operand.Mem {
	return operand.Mem{Base: base, Index: place, Scale: 4, Disp: bytes}
}

// manyProducts is y_rk = Π_j factors[at_rj + k] − rest_k.
func (a *assembler) manyProducts(name string, together int) {
	g := a.begin(name)
	a.channels(g, together, func(channel reg.GPVirtual) {
		y, factors, rest := g.shifted(placedY, channel), g.shifted(placedFactors, channel), g.shifted(placedRest, channel)
		places, rows, stride := g.word(placedAt), g.word(placedRows), g.word(placedYStride)
		less := a.vectors(together)
		for i, v := range less {
			a.VMOVUPS(at(rest, i*a.bytes()), v)
		}
		a.loop("rows", rows, 1, func() {
			products := a.vectors(together)
			for _, p := range products {
				a.VMOVUPS(a.number(1), p)
			}
			a.loop("columns", g.word(placedColumns), 1, func() {
				place := a.GP64()
				a.MOVLQSX(at(places, 0), place)
				a.ADDQ(operand.U32(4), places)
				for i, p := range products {
					a.VMULPS(placed(factors, place, i*a.bytes()), p, p)
				}
			})
			for i, p := range products {
				a.VSUBPS(less[i], p, p)
				a.VMOVUPS(p, at(y, i*a.bytes()))
			}
			a.ADDQ(stride, y)
		})
	})
}

// productsGradient is gradient[at_rj + k] += y_rk Π_{i≠j} factors[at_ri + k]: the products before each factor on the way forth, then
// y times the products behind it on the way back.
func (a *assembler) productsGradient(name string, together int) {
	g := a.begin(name)
	a.channels(g, together, func(channel reg.GPVirtual) {
		y, factors, gradient := g.shifted(placedY, channel), g.shifted(placedFactors, channel), g.shifted(placedGradient, channel)
		places, rows, stride, scratch := g.word(placedAt), g.word(placedRows), g.word(placedYStride), g.word(placedScratch)
		size := operand.U32(uint32(together * a.bytes()))
		a.loop("rows", rows, 1, func() {
			before := a.vectors(together)
			for _, p := range before {
				a.VMOVUPS(a.number(1), p)
			}
			a.loop("forth", g.word(placedColumns), 1, func() {
				place := a.GP64()
				a.MOVLQSX(at(places, 0), place)
				a.ADDQ(operand.U32(4), places)
				for i, p := range before {
					a.VMOVUPS(p, at(scratch, i*a.bytes()))
					a.VMULPS(placed(factors, place, i*a.bytes()), p, p)
				}
				a.ADDQ(size, scratch)
			})
			behind := a.vectors(together)
			for i, p := range behind {
				a.VMOVUPS(at(y, i*a.bytes()), p)
			}
			back := a.GP64()
			a.MOVQ(places, back)
			a.loop("back", g.word(placedColumns), 1, func() {
				a.SUBQ(operand.U32(4), back)
				a.SUBQ(size, scratch)
				place := a.GP64()
				a.MOVLQSX(at(back, 0), place)
				for i, p := range behind {
					sum := a.vector()
					a.VMOVUPS(placed(gradient, place, i*a.bytes()), sum)
					a.VFMADD231PS(at(scratch, i*a.bytes()), p, sum)
					a.VMULPS(placed(factors, place, i*a.bytes()), p, p) // before the store, which it may seem to depend on
					a.VMOVUPS(sum, placed(gradient, place, i*a.bytes()))
				}
			})
			a.ADDQ(stride, y)
		})
	})
}

// Places in movedArgs.
const (
	movedY = iota
	movedX
	movedAt
	movedScale
	movedRows
	movedPer
	movedBytes // of a row
)

// gather is y_r += Σ_j scale_rj x[at_rj].
func (a *assembler) gather() {
	g := a.begin("gather")
	y, x, places, scales, bytes := g.word(movedY), g.word(movedX), g.word(movedAt), g.word(movedScale), g.word(movedBytes)
	size := a.GP64()
	a.MOVQ(g.word(movedPer), size)
	a.SHLQ(operand.Imm(2), size) // bytes of the places of a row
	a.loop("rows", g.word(movedRows), 1, func() {
		a.each(bytes, 1, func(i reg.GPVirtual) {
			sum, column := a.vector(), a.GP64()
			a.VMOVUPS(indexed(y, i, 0), sum)
			from := a.GP64()
			a.LEAQ(indexed(x, i, 0), from)
			a.XORQ(column, column)
			a.Label("columns")
			place, scale := a.GP64(), a.vector()
			a.MOVLQSX(indexed(places, column, 0), place)
			a.VBROADCASTSS(indexed(scales, column, 0), scale)
			a.VFMADD231PS(placed(from, place, 0), scale, sum)
			a.ADDQ(operand.U32(4), column)
			a.CMPQ(column, size)
			a.JLT(operand.LabelRef("columns"))
			a.VMOVUPS(sum, indexed(y, i, 0))
		})
		a.ADDQ(bytes, y)
		a.ADDQ(size, places)
		a.ADDQ(size, scales)
	})
	a.end()
}

// scatter is y[at_r] += scale_r x_r.
func (a *assembler) scatter() {
	g := a.begin("scatter")
	y, x, places, scales, bytes := g.word(movedY), g.word(movedX), g.word(movedAt), g.word(movedScale), g.word(movedBytes)
	a.loop("rows", g.word(movedRows), 1, func() {
		place, scale, to := a.GP64(), a.vector(), a.GP64()
		a.MOVLQSX(at(places, 0), place)
		a.VBROADCASTSS(at(scales, 0), scale)
		a.LEAQ(operand.Mem{Base: y, Index: place, Scale: 4}, to)
		a.each(bytes, 1, func(i reg.GPVirtual) {
			sum := a.vector()
			a.VMOVUPS(indexed(to, i, 0), sum)
			a.VFMADD231PS(indexed(x, i, 0), scale, sum)
			a.VMOVUPS(sum, indexed(to, i, 0))
		})
		a.ADDQ(bytes, x)
		a.ADDQ(operand.U32(4), places)
		a.ADDQ(operand.U32(4), scales)
	})
	a.end()
}

// factorsGradient is y ← y·x(2 − x) for rows of y and x.
func (a *assembler) factorsGradient() {
	g := a.begin("factorsGradient")
	y, x, bytes, rows, stride := g.word(vectorY), g.word(vectorX), g.word(vectorBytes), g.word(vectorRows), g.word(vectorStride)
	a.loop("rows", rows, 1, func() {
		a.each(bytes, 1, func(i reg.GPVirtual) {
			v, rest := a.vector(), a.loaded(2)
			a.VMOVUPS(indexed(x, i, 0), v)
			a.VSUBPS(v, rest, rest)
			a.VMULPS(v, rest, rest)
			a.VMULPS(indexed(y, i, 0), rest, rest)
			a.VMOVUPS(rest, indexed(y, i, 0))
		})
		a.ADDQ(stride, y)
		a.ADDQ(stride, x)
	})
	a.end()
}

// positiveGradient is y ← y where x > 0, else 0.
func (a *assembler) positiveGradient() {
	const less = 1
	g := a.begin("positiveGradient")
	y, x, none := g.word(vectorY), g.word(vectorX), a.zero()
	a.each(g.word(vectorBytes), 1, func(i reg.GPVirtual) {
		v := a.vector()
		if a.set.lanes == 16 {
			positive := a.K()
			a.VCMPPS(operand.Imm(less), indexed(x, i, 0), none, positive)
			a.VMOVUPS_Z(indexed(y, i, 0), positive, v)
		} else {
			a.VCMPPS(operand.Imm(less), indexed(x, i, 0), none, v)
			a.VANDPS(indexed(y, i, 0), v, v)
		}
		a.VMOVUPS(v, indexed(y, i, 0))
	})
	a.end()
}

// siluGradient is y ← y·s(1 + x(1 − s)) with s = 1 / (1 + e⁻ˣ).
func (a *assembler) siluGradient() {
	g := a.begin("siluGradient")
	y, x := g.word(vectorY), g.word(vectorX)
	a.each(g.word(vectorBytes), 1, func(i reg.GPVirtual) {
		v, minus, s, slope := a.vector(), a.zero(), a.loaded(1), a.loaded(1)
		a.VMOVUPS(indexed(x, i, 0), v)
		a.VSUBPS(v, minus, minus)
		e := a.exp(minus)
		a.VADDPS(a.number(1), e, e)
		a.VDIVPS(e, s, s)
		a.VSUBPS(s, slope, slope)
		a.VFMADD213PS(a.number(1), v, slope)
		a.VMULPS(s, slope, slope)
		a.VMULPS(indexed(y, i, 0), slope, slope)
		a.VMOVUPS(slope, indexed(y, i, 0))
	})
	a.end()
}

// squaredSum is y_0 = Σ_i x_i².
func (a *assembler) squaredSum() {
	g := a.begin("squaredSum")
	y, x, sum := g.word(vectorY), g.word(vectorX), a.zero()
	a.each(g.word(vectorBytes), 1, func(i reg.GPVirtual) {
		v := a.vector()
		a.VMOVUPS(indexed(x, i, 0), v)
		a.VFMADD231PS(v, v, sum)
	})
	a.VMOVSS(a.total(sum), at(y, 0))
	a.end()
}

// Places in adamArgs.
const (
	adamWeights = iota
	adamGradient
	adamFirst
	adamSecond
	adamAverage
	adamBytes
	adamScale
	adamRate
	adamDecay
	adamDebias1
	adamDebias2
	adamKeep
	adamBeta1
	adamRest1
	adamBeta2
	adamRest2
)

// adam is a step of AdamW and of the moving average.
func (a *assembler) adam() {
	g := a.begin("adam")
	weights, gradient, first, second, average := g.word(adamWeights), g.word(adamGradient), g.word(adamFirst), g.word(adamSecond), g.word(adamAverage)
	scale, rate, decay, keep := g.float(adamScale), g.float(adamRate), g.float(adamDecay), g.float(adamKeep)
	debias1, debias2 := g.float(adamDebias1), g.float(adamDebias2)
	a.each(g.word(adamBytes), 1, func(i reg.GPVirtual) {
		step := a.vector()
		a.VMULPS(indexed(gradient, i, 0), scale, step)
		part := g.float(adamRest1)
		a.VMULPS(step, part, part)
		a.VMULPS(step, step, step)
		m := g.float(adamBeta1)
		a.VFMADD132PS(indexed(first, i, 0), part, m)
		a.VMOVUPS(m, indexed(first, i, 0))
		part = g.float(adamRest2)
		a.VMULPS(step, part, part)
		v := g.float(adamBeta2)
		a.VFMADD132PS(indexed(second, i, 0), part, v)
		a.VMOVUPS(v, indexed(second, i, 0))
		a.VMULPS(debias1, m, m)
		a.VMULPS(rate, m, m)
		a.VMULPS(debias2, v, v)
		a.VSQRTPS(v, v)
		a.VADDPS(a.number(1e-8), v, v)
		a.VDIVPS(v, m, m)
		w := a.vector()
		a.VMOVUPS(indexed(weights, i, 0), w)
		a.VFMADD231PS(decay, w, m)
		a.VSUBPS(m, w, w)
		a.VMOVUPS(w, indexed(weights, i, 0))
		mean := a.vector()
		a.VMOVUPS(indexed(average, i, 0), mean)
		a.VSUBPS(w, mean, mean)
		a.VFMADD213PS(w, keep, mean)
		a.VMOVUPS(mean, indexed(average, i, 0))
	})
	a.end()
}

// Places in transposeArgs.
const (
	transposeY = iota
	transposeX
	transposeYStride
	transposeXStride
	transposeBlocks // of 8 columns of x
)

// transpose writes 8 rows of x as 8 columns of y, in blocks of 8 × 8: pairs of floats, pairs of pairs, then halves change places.
func (a *assembler) transpose() {
	g := a.begin("transpose")
	y, x, yStride, xStride := g.word(transposeY), g.word(transposeX), g.word(transposeYStride), g.word(transposeXStride)
	const n = 8
	a.loop("blocks", g.word(transposeBlocks), 1, func() {
		list := func() []reg.VecVirtual {
			all := make([]reg.VecVirtual, n)
			for i := range all {
				all[i] = a.YMM()
			}
			return all
		}
		row := a.GP64()
		a.MOVQ(x, row)
		rows := list()
		for _, r := range rows {
			a.VMOVUPS(at(row, 0), r)
			a.ADDQ(xStride, row)
		}
		pairs := list()
		for i := 0; i < n; i += 2 {
			a.VUNPCKLPS(rows[i+1], rows[i], pairs[i])
			a.VUNPCKHPS(rows[i+1], rows[i], pairs[i+1])
		}
		fours := rows
		for i := 0; i < n; i += 4 {
			const low, high = 0x44, 0xee
			a.VSHUFPS(operand.Imm(low), pairs[i+2], pairs[i], fours[i])
			a.VSHUFPS(operand.Imm(high), pairs[i+2], pairs[i], fours[i+1])
			a.VSHUFPS(operand.Imm(low), pairs[i+3], pairs[i+1], fours[i+2])
			a.VSHUFPS(operand.Imm(high), pairs[i+3], pairs[i+1], fours[i+3])
		}
		const lower, upper = 0x20, 0x31
		for half, which := range []uint64{lower, upper} {
			for i := range n / 2 {
				a.VPERM2F128(operand.Imm(which), fours[i+4], fours[i], pairs[half*4+i])
			}
		}
		for _, p := range pairs {
			a.VMOVUPS(p, at(y, 0))
			a.ADDQ(yStride, y)
		}
		a.ADDQ(operand.U32(4*n), x)
	})
	a.end()
}
