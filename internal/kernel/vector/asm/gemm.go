package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Places in gemmArgs.
const (
	gemmY = iota
	gemmX
	gemmW
	gemmStart
	gemmRows
	gemmIn
	gemmYStride
	gemmXStride
	gemmWStride
	gemmStartStride
	gemmPositive
	gemmXStep
)

// gemm is y = start + x·w for some columns of y: as many rows together as there are registers for, half as
// many or one, times three or two vectors
// of columns, or one. Every element is the same sum in the same order in all of them.
func (a *assembler) gemm() {
	for _, rows := range []int{a.set.rows, a.set.rows / 2, 1} {
		for _, columns := range []int{3, 2, 1} {
			a.gemmTile(rows, columns)
		}
	}
}

func (a *assembler) gemmTile(rows, columns int) {
	name := fmt.Sprintf("gemm%dx%d", rows, columns)
	switch rows {
	case a.set.rows:
		name = fmt.Sprintf("gemmManyx%d", columns)
	case a.set.rows / 2:
		name = fmt.Sprintf("gemmHalfx%d", columns)
	}
	g := a.begin(name)
	y, x, start, left := g.word(gemmY), g.word(gemmX), g.word(gemmStart), g.word(gemmRows)
	a.loop("rows", left, rows, func() {
		sums := make([][]reg.VecVirtual, rows)
		from, step := a.GP64(), g.word(gemmStartStride)
		a.MOVQ(start, from)
		for r := range sums {
			sums[r] = a.vectors(columns)
			for c, sum := range sums[r] {
				a.VMOVUPS(at(from, c*a.bytes()), sum)
			}
			a.ADDQ(step, from)
		}
		a.MOVQ(from, start)
		a.gemmSum(g, x, sums)
		a.gemmStore(g, y, sums)
	})
	a.end()
}

// gemmSum adds x·w to the sums, and moves x to the next rows.
func (a *assembler) gemmSum(g arguments, x reg.GPVirtual, sums [][]reg.VecVirtual) {
	rows, columns := len(sums), len(sums[0])
	stride := g.word(gemmXStride)
	triple := a.GP64() // three strides: addresses have one, two, four or eight times a register
	a.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, triple)
	near, far := a.GP64(), a.GP64() // rows 0 to 3, and 4 to 7
	a.MOVQ(x, near)
	a.LEAQ(operand.Mem{Base: x, Index: stride, Scale: 4}, far)
	w, wStride, in, step := g.word(gemmW), g.word(gemmWStride), g.word(gemmIn), g.word(gemmXStep)
	a.loop("in", in, 1, func() {
		weights := a.vectors(columns)
		for c, v := range weights {
			a.VMOVUPS(at(w, c*a.bytes()), v)
		}
		for r := range rows {
			base := near
			if r >= 4 {
				base = far
			}
			cell := []operand.Mem{at(base, 0), indexed(base, stride, 0), {Base: base, Index: stride, Scale: 2}, indexed(base, triple, 0)}[r%4]
			one := a.vector()
			a.VBROADCASTSS(cell, one)
			for c, v := range weights {
				a.VFMADD231PS(v, one, sums[r][c])
			}
		}
		a.ADDQ(wStride, w)
		a.ADDQ(step, near)
		a.ADDQ(step, far)
	})
	a.LEAQ(operand.Mem{Base: x, Index: stride, Scale: uint8(rows)}, x)
}

// gemmStore writes the sums, or their positive parts, and moves y to the next rows.
func (a *assembler) gemmStore(g arguments, y reg.GPVirtual, sums [][]reg.VecVirtual) {
	positive := g.word(gemmPositive)
	a.TESTQ(positive, positive)
	a.JZ(operand.LabelRef("store"))
	none := a.zero()
	for _, row := range sums {
		for _, sum := range row {
			a.VMAXPS(none, sum, sum)
		}
	}
	a.Label("store")
	stride := g.word(gemmYStride)
	for _, row := range sums {
		for c, sum := range row {
			a.VMOVUPS(sum, at(y, c*a.bytes()))
		}
		a.ADDQ(stride, y)
	}
}

// Places in dotsArgs.
const (
	dotsY = iota
	dotsYStride
	dotsX
	dotsW
	dotsRows
	dotsBytes // of a row
)

// dots is y_r = Σ_i x_ri w_i: one vector of sums for each row, four rows together.
func (a *assembler) dots() {
	for _, rows := range []int{4, 1} {
		name := "dots1"
		if rows > 1 {
			name = "dotsMany"
		}
		g := a.begin(name)
		y, yStride, x, w, left, bytes := g.word(dotsY), g.word(dotsYStride), g.word(dotsX), g.word(dotsW), g.word(dotsRows), g.word(dotsBytes)
		a.loop("rows", left, rows, func() {
			sums := a.vectors(rows)
			from := make([]reg.GPVirtual, rows)
			for r := range rows {
				a.clear(sums[r])
				from[r] = a.GP64()
				a.MOVQ(x, from[r])
				a.ADDQ(bytes, x)
			}
			index := a.GP64()
			a.XORQ(index, index)
			a.Label("columns")
			weight := a.vector()
			a.VMOVUPS(indexed(w, index, 0), weight)
			for r := range rows {
				a.VFMADD231PS(indexed(from[r], index, 0), weight, sums[r])
			}
			a.ADDQ(operand.U32(uint32(a.bytes())), index)
			a.CMPQ(index, bytes)
			a.JLT(operand.LabelRef("columns"))
			for r := range rows {
				a.VMOVSS(a.total(sums[r]), at(y, 0))
				a.ADDQ(yStride, y)
			}
		})
		a.end()
	}
}

// total is the sum of a vector's floats.
func (a *assembler) total(v reg.VecVirtual) reg.VecVirtual {
	half := v.AsY()
	if a.set.lanes == 16 {
		upper := a.YMM()
		a.VEXTRACTF64X4(operand.Imm(1), v, upper)
		a.VADDPS(upper, half, half)
	}
	upper, low := a.XMM(), v.AsX()
	a.VEXTRACTF128(operand.Imm(1), half, upper)
	a.VADDPS(upper, low, low)
	a.VMOVHLPS(low, low, upper)
	a.VADDPS(upper, low, low)
	a.VMOVSHDUP(low, upper)
	a.VADDSS(upper, low, low)
	return low.(reg.VecVirtual)
}
