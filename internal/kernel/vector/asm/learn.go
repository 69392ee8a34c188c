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
	a.tanhGradient()
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
	placedRecords
	placedGradient
	placedAt
	placedOrder
	placedRest
	placedScratch
	placedRows
	placedAtStride
	placedPairs
	placedParts
	placedPart
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

// argument is one that is read where it is used, for want of registers.
func (g arguments) argument(place int) operand.Mem { return operand.Mem{Base: g.at, Disp: 8 * place} }

// placed is a vector of the record whose place in floats a register holds.
func placed(base, place reg.Register, bytes int) operand.Mem {
	return operand.Mem{Base: base, Index: place, Scale: 4, Disp: bytes}
}

// pair finds the records of the pair that order points to.
func (a *assembler) pair(records, places, order reg.Register) (i, j reg.GPVirtual) {
	i, j = a.GP64(), a.GP64()
	for n, r := range []reg.GPVirtual{i, j} {
		a.MOVLQSX(at(order, 4*n), r)
		a.MOVLQSX(placed(places, r, 0), r)
		a.LEAQ(placed(records, r, 0), r)
	}
	return i, j
}

// multiplied is what the records at i and j multiply to: the sum over their parts.
func (a *assembler) multiplied(name string, g arguments, i, j reg.Register, together int) []reg.VecVirtual {
	sums := a.vectors(together)
	for n, s := range sums {
		a.VMOVUPS(at(i, n*a.bytes()), s)
		a.VMULPS(at(j, n*a.bytes()), s, s)
	}
	left := g.word(placedParts)
	a.DECQ(left)
	a.loop(name, left, 1, func() {
		a.ADDQ(g.argument(placedPart), i)
		a.ADDQ(g.argument(placedPart), j)
		for n, s := range sums {
			v := a.vector()
			a.VMOVUPS(at(i, n*a.bytes()), v)
			a.VFMADD231PS(at(j, n*a.bytes()), v, s)
		}
	})
	return sums
}

// manyProducts is y_rk = Π_(i,j) Σ_m records[at_ri + m·part + k] records[at_rj + m·part + k] − rest_k.
func (a *assembler) manyProducts(name string, together int) {
	g := a.begin(name)
	a.channels(g, together, func(channel reg.GPVirtual) {
		y, records, rest := g.shifted(placedY, channel), g.shifted(placedRecords, channel), g.shifted(placedRest, channel)
		places, rows := g.word(placedAt), g.word(placedRows)
		less := a.vectors(together)
		for i, v := range less {
			a.VMOVUPS(at(rest, i*a.bytes()), v)
		}
		a.loop("rows", rows, 1, func() {
			products := a.vectors(together)
			for _, p := range products {
				a.VBROADCASTSS(a.number(1), p)
			}
			order := g.word(placedOrder)
			a.loop("pairs", g.word(placedPairs), 1, func() {
				i, j := a.pair(records, places, order)
				a.ADDQ(operand.U32(8), order)
				for n, v := range a.multiplied("parts", g, i, j, together) {
					a.VMULPS(v, products[n], products[n])
				}
			})
			for i, p := range products {
				a.VSUBPS(less[i], p, p)
				a.VMOVUPS(p, at(y, i*a.bytes()))
			}
			a.ADDQ(g.argument(placedYStride), y)
			a.ADDQ(g.argument(placedAtStride), places)
		})
	})
}

// productsGradient adds y_rk times the products of the other pairs times the partner to the gradient of each record: the products
// before each pair on the way forth, then y times the products behind it on the way back.
func (a *assembler) productsGradient(name string, together int) {
	g := a.begin(name)
	a.channels(g, together, func(channel reg.GPVirtual) {
		y, records, gradient := g.shifted(placedY, channel), g.shifted(placedRecords, channel), g.shifted(placedGradient, channel)
		a.SUBQ(records, gradient) // from a record to its gradient
		places, rows, scratch := g.word(placedAt), g.word(placedRows), g.word(placedScratch)
		size := operand.U32(uint32(2 * together * a.bytes()))
		of := together * a.bytes()
		a.loop("rows", rows, 1, func() {
			before := a.vectors(together)
			for _, p := range before {
				a.VBROADCASTSS(a.number(1), p)
			}
			order := g.word(placedOrder)
			a.loop("forth", g.word(placedPairs), 1, func() {
				i, j := a.pair(records, places, order)
				a.ADDQ(operand.U32(8), order)
				for n, v := range a.multiplied("forthParts", g, i, j, together) {
					a.VMOVUPS(before[n], at(scratch, n*a.bytes()))
					a.VMOVUPS(v, at(scratch, of+n*a.bytes()))
					a.VMULPS(v, before[n], before[n])
				}
				a.ADDQ(size, scratch)
			})
			behind := a.vectors(together)
			for i, p := range behind {
				a.VMOVUPS(at(y, i*a.bytes()), p)
			}
			a.loop("back", g.word(placedPairs), 1, func() {
				a.SUBQ(operand.U32(8), order)
				a.SUBQ(size, scratch)
				i, j := a.pair(records, places, order)
				others := a.vectors(together)
				for n, v := range others {
					a.VMULPS(at(scratch, n*a.bytes()), behind[n], v)
					a.VMULPS(at(scratch, of+n*a.bytes()), behind[n], behind[n])
				}
				a.loop("backParts", g.word(placedParts), 1, func() {
					for n, v := range others { // all loads before the stores, which they may seem to depend on
						ofI, ofJ := a.vector(), a.vector()
						a.VMOVUPS(indexed(i, gradient, n*a.bytes()), ofI)
						a.VMOVUPS(indexed(j, gradient, n*a.bytes()), ofJ)
						a.VFMADD231PS(at(j, n*a.bytes()), v, ofI)
						a.VFMADD231PS(at(i, n*a.bytes()), v, ofJ)
						a.VMOVUPS(ofI, indexed(i, gradient, n*a.bytes()))
						a.VMOVUPS(ofJ, indexed(j, gradient, n*a.bytes()))
					}
					a.ADDQ(g.argument(placedPart), i)
					a.ADDQ(g.argument(placedPart), j)
				})
			})
			a.ADDQ(g.argument(placedYStride), y)
			a.ADDQ(g.argument(placedAtStride), places)
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

// tanhGradient is y ← y (1 + scale − x)(1 − scale + x) for rows of y and x.
func (a *assembler) tanhGradient() {
	g := a.begin("tanhGradient")
	y, x, bytes, rows, stride := g.word(vectorY), g.word(vectorX), g.word(vectorBytes), g.word(vectorRows), g.word(vectorStride)
	high, low := g.float(vectorScale), a.loaded(1)
	a.VSUBPS(high, low, low)
	a.constant(a.VADDPS, a.VADDPS_BCST, 1, high, high)
	a.loop("rows", rows, 1, func() {
		a.each(bytes, 1, func(i reg.GPVirtual) {
			v, slope := a.vector(), a.vector()
			a.VMOVUPS(indexed(x, i, 0), v)
			a.VSUBPS(v, high, slope)
			a.VADDPS(low, v, v)
			a.VMULPS(v, slope, slope)
			a.VMULPS(indexed(y, i, 0), slope, slope)
			a.VMOVUPS(slope, indexed(y, i, 0))
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
		a.constant(a.VADDPS, a.VADDPS_BCST, 1, e, e)
		a.VDIVPS(e, s, s)
		a.VSUBPS(s, slope, slope)
		a.constant(a.VFMADD213PS, a.VFMADD213PS_BCST, 1, v, slope)
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
		a.constant(a.VADDPS, a.VADDPS_BCST, 1e-8, v, v)
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
