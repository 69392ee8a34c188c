package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// number is a number in memory: with AVX-512 itself, which instructions broadcast, and with AVX2 a vector of it. The linker places
// data at multiples of 32 bytes at most, so a vector of 64 bytes may lie across two cache lines. It does in some programs,
// where tanh took 1.3 times as long.
func (a *assembler) number(x float32) operand.Mem {
	bits := math.Float32bits(x)
	if m, known := a.constants[bits]; known {
		return m
	}
	m := a.StaticGlobal(fmt.Sprintf("number%08x", bits))
	a.DataAttributes(attr.RODATA | attr.NOPTR)
	copies := a.set.lanes
	if a.broadcasts() {
		copies = 1
	}
	for i := range copies {
		a.AddDatum(4*i, operand.U32(bits))
	}
	a.constants[bits] = m
	return m
}

// broadcasts reports whether instructions can broadcast a number from memory.
func (a *assembler) broadcasts() bool { return a.set.lanes == 16 }

// constant writes an instruction whose first operand is a number, in the form for a vector in memory or in that which broadcasts.
func (a *assembler) constant(ofVector, ofNumber func(...operand.Op), x float32, rest ...operand.Op) {
	do := ofVector
	if a.broadcasts() {
		do = ofNumber
	}
	do(append([]operand.Op{a.number(x)}, rest...)...)
}

func (a *assembler) loaded(x float32) reg.VecVirtual {
	v := a.vector()
	a.VBROADCASTSS(a.number(x), v)
	return v
}

// polynomial is Σ_i coefficients_i xⁱ, the highest power first.
func (a *assembler) polynomial(x reg.VecVirtual, coefficients ...float32) reg.VecVirtual {
	sum := a.loaded(coefficients[0])
	for _, c := range coefficients[1:] {
		a.constant(a.VFMADD213PS, a.VFMADD213PS_BCST, c, x, sum)
	}
	return sum
}

// round is the nearest whole number.
func (a *assembler) round(x reg.VecVirtual) reg.VecVirtual {
	n := a.vector()
	if a.set.lanes == 16 {
		a.VRNDSCALEPS(operand.Imm(0), x, n)
	} else {
		a.VROUNDPS(operand.Imm(0), x, n)
	}
	return n
}

// Places in vectorArgs.
const (
	vectorY = iota
	vectorX
	vectorBytes
	vectorScale
	vectorRows
	vectorStride
)

// each goes through a vector; body gets its place in bytes.
func (a *assembler) each(bytes reg.Register, step int, body func(index reg.GPVirtual)) {
	index := a.GP64()
	a.XORQ(index, index)
	a.Label("each")
	body(index)
	a.ADDQ(operand.U32(uint32(step*a.bytes())), index)
	a.CMPQ(index, bytes)
	a.JLT(operand.LabelRef("each"))
}

func (a *assembler) elementwise() {
	g := a.begin("addScaled")
	y, x, scale := g.word(vectorY), g.word(vectorX), g.float(vectorScale)
	a.each(g.word(vectorBytes), 1, func(i reg.GPVirtual) {
		v := a.vector()
		a.VMOVUPS(indexed(y, i, 0), v)
		a.VFMADD231PS(indexed(x, i, 0), scale, v)
		a.VMOVUPS(v, indexed(y, i, 0))
	})
	a.end()

	a.inPlace("positive", func(v reg.VecVirtual) { a.constant(a.VMAXPS, a.VMAXPS_BCST, 0, v, v) })
	a.inPlace("softplus", a.softplus)
	a.inPlace("silu", func(v reg.VecVirtual) {
		minus := a.vector()
		a.VBROADCASTSS(a.number(0), minus)
		a.VSUBPS(v, minus, minus)
		e := a.exp(minus)
		a.constant(a.VADDPS, a.VADDPS_BCST, 1, e, e)
		a.VDIVPS(e, v, v)
	})
	a.waves()
	a.gains()
}

// inPlace writes a function of each element.
func (a *assembler) inPlace(name string, f func(v reg.VecVirtual)) {
	g := a.begin(name)
	y := g.word(vectorY)
	a.each(g.word(vectorBytes), 1, func(i reg.GPVirtual) {
		v := a.vector()
		a.VMOVUPS(indexed(y, i, 0), v)
		f(v)
		a.VMOVUPS(v, indexed(y, i, 0))
	})
	a.end()
}

// exp is eˣ = 2ⁿ eʳ with n the nearest whole number to x / log 2. Coefficients of the Cephes library.
func (a *assembler) exp(x reg.VecVirtual) reg.VecVirtual {
	a.constant(a.VMINPS, a.VMINPS_BCST, 88, x, x)
	a.constant(a.VMAXPS, a.VMAXPS_BCST, -87, x, x)
	scaled := a.vector()
	a.constant(a.VMULPS, a.VMULPS_BCST, 1.44269504088896341, x, scaled)
	n := a.round(scaled)
	a.constant(a.VFMADD231PS, a.VFMADD231PS_BCST, -0.693359375, n, x)
	a.constant(a.VFMADD231PS, a.VFMADD231PS_BCST, 2.12194440e-4, n, x)
	p := a.polynomial(x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := a.vector()
	a.VMULPS(x, x, square)
	a.VFMADD213PS(x, square, p)
	a.constant(a.VADDPS, a.VADDPS_BCST, 1, p, p)
	a.VCVTPS2DQ(n, n)
	a.VPSLLD(operand.Imm(23), n, n) // to the place of the exponent
	a.VPADDD(n, p, p)
	return p
}

// softplus is log(1 + eˣ) = max(x, 0) + log(1 + u) with u = e^−|x|, and log(1 + u) = 2 atanh(u / (2 + u)).
func (a *assembler) softplus(x reg.VecVirtual) {
	minus, top := a.vector(), a.vector()
	a.VBROADCASTSS(a.number(0), minus)
	a.VSUBPS(x, minus, minus)
	a.VMINPS(x, minus, minus) // −|x|
	a.constant(a.VMAXPS, a.VMAXPS_BCST, 0, x, top)
	u := a.exp(minus)
	s := a.vector()
	a.constant(a.VADDPS, a.VADDPS_BCST, 2, u, s)
	a.VDIVPS(s, u, s)
	square := a.vector()
	a.VMULPS(s, s, square)
	p := a.polynomial(square, 2./15, 2./13, 2./11, 2./9, 2./7, 2./5, 2./3, 2)
	a.VMULPS(s, p, p)
	a.VADDPS(top, p, x)
}

// waves is sin(2πt) and cos(2πt) = sin(2π(t + ¼)) for t = x·frequency.
func (a *assembler) waves() {
	g := a.begin("waves")
	sines, frequency, bytes, x := g.word(vectorY), g.word(vectorX), g.word(vectorBytes), g.float(vectorScale)
	cosines := a.GP64()
	a.LEAQ(operand.Mem{Base: sines, Index: bytes, Scale: 1}, cosines)
	a.each(bytes, 1, func(i reg.GPVirtual) {
		t, quarter := a.vector(), a.vector()
		a.VMULPS(indexed(frequency, i, 0), x, t)
		n := a.round(t)
		a.VSUBPS(n, t, t) // within half a turn of 0
		a.constant(a.VADDPS, a.VADDPS_BCST, .25, t, quarter)
		a.VMOVUPS(a.sine(t), indexed(sines, i, 0))
		a.VMOVUPS(a.sine(quarter), indexed(cosines, i, 0))
	})
	a.end()
}

// sine is sin(2πt) for t from −½ to ¾.
func (a *assembler) sine(t reg.VecVirtual) reg.VecVirtual {
	// sin(2πt) = sin(2π(½ − t)) = sin(2π(−½ − t)): brings t within a quarter of a turn of 0.
	mirror := a.loaded(.5)
	a.VSUBPS(t, mirror, mirror)
	a.VMINPS(mirror, t, t)
	mirror = a.loaded(-.5)
	a.VSUBPS(t, mirror, mirror)
	a.VMAXPS(mirror, t, t)
	square := a.vector()
	a.VMULPS(t, t, square)
	p := a.polynomial(square, 3.8199525848, -15.0946425768, 42.0586939449, -76.7058597531, 81.6052492761, -41.3417022404, 6.2831853072)
	a.VMULPS(t, p, p)
	return p
}

// gains is y = tanh(y) − absent for rows of y. tanh is the rational approximation of the portable loop.
func (a *assembler) gains() {
	g := a.begin("gains")
	y, absent, bytes, rows, stride := g.word(vectorY), g.word(vectorX), g.word(vectorBytes), g.word(vectorRows), g.word(vectorStride)
	a.loop("rows", rows, 1, func() {
		a.each(bytes, 1, func(i reg.GPVirtual) {
			x, square := a.vector(), a.zero()
			a.VMOVUPS(indexed(y, i, 0), x)
			a.constant(a.VMINPS, a.VMINPS_BCST, 7.90531111, x, x)
			a.constant(a.VMAXPS, a.VMAXPS_BCST, -7.90531111, x, x)
			a.VSUBPS(x, square, square)
			a.VMAXPS(x, square, square)
			a.constant(a.VMAXPS, a.VMAXPS_BCST, 1e-9, square, square) // the square of less could be denormal, which is very slow
			a.VMULPS(square, square, square)
			p := a.polynomial(square, -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08, 1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03)
			q := a.polynomial(square, 1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
			a.VMULPS(x, p, p)
			a.VDIVPS(q, p, p)
			a.VSUBPS(indexed(absent, i, 0), p, p)
			a.VMOVUPS(p, indexed(y, i, 0))
		})
		a.ADDQ(stride, y)
	})
	a.end()
}
