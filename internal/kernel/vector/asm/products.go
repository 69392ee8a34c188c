package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// header is the size of a slice: its pointer comes first.
const header = 24

// Places in productArgs.
const (
	productY    = iota
	productBase // or coefficients
	productRecords
	productRest
	productPairs
	productBytes   // of the channels
	productChannel // bytes of those that are done
	productNodes
	productBlocks
	productScratch
	productParts
	productPart // bytes from one part to the next
	productAbsent
)

func (a *assembler) products() {
	a.value("valueMany", 4)
	a.value("value1", 1)
	a.coefficients("coefficients", 3, a.recordCoefficients)
	a.coefficients("coefficientsAgainst", 4, a.coefficientsAgainst)
	a.shares("sharesOfProducts", a.productFactor)
	a.shares("sharesOfPairs", a.pairFactor)
	a.shares("shares", a.givenFactor)
}

// load is a vector of the slice at a place of a list.
func (a *assembler) load(list reg.Register, place int, channel reg.Register, vector int) reg.VecVirtual {
	p, v := a.GP64(), a.vector()
	a.MOVQ(at(list, place*header), p)
	a.VMOVUPS(indexed(p, channel, vector*a.bytes()), v)
	return v
}

// factor is a factor of two players, as coefficients of its polynomial: a constant, of the first, of the second, of both.
type factor struct{ none, first, second, both reg.VecVirtual }

// factorLoader loads factors from lists, which step goes through. The name is for labels.
type factorLoader func(name string, g arguments, channel reg.Register) (load func() factor, step func(by int))

// givenFactor loads coefficients.
func (a *assembler) givenFactor(_ string, g arguments, channel reg.Register) (load func() factor, step func(by int)) {
	list := g.word(productBase)
	load = func() factor {
		return factor{a.load(list, 0, channel, 0), a.load(list, 1, channel, 0), a.load(list, 2, channel, 0), a.load(list, 3, channel, 0)}
	}
	return load, func(by int) { a.move(list, 4*by*header) }
}

// productFactor computes the coefficients of pairs of records of one part.
func (a *assembler) productFactor(_ string, g arguments, channel reg.Register) (load func() factor, step func(by int)) {
	return a.recordFactor(g, channel, func(reg.Register, reg.VecVirtual) {})
}

// pairFactor computes the coefficients of pairs of records.
func (a *assembler) pairFactor(name string, g arguments, channel reg.Register) (load func() factor, step func(by int)) {
	times := 0
	return a.recordFactor(g, channel, func(records reg.Register, both reg.VecVirtual) {
		times++
		a.with(fmt.Sprintf("%sParts%d", name, times), g, records, channel, []reg.VecVirtual{both})
	})
}

// recordFactor computes coefficients from records, to which with adds what the two say together.
func (a *assembler) recordFactor(g arguments, channel reg.Register, with func(records reg.Register, both reg.VecVirtual)) (load func() factor, step func(by int)) {
	base, records := g.word(productBase), g.word(productRecords)
	load = func() factor {
		ai, bj := a.load(base, 0, channel, 0), a.load(base, 1, channel, 0)
		ri, sj := a.load(records, 0, channel, 0), a.load(records, 1, channel, 0)
		f := factor{none: a.vector(), first: ri, second: sj, both: a.vector()}
		a.VMULPS(ri, sj, f.both)
		with(records, f.both)
		a.VMULPS(ai, bj, f.none)
		a.VMULPS(bj, ri, f.first)
		a.VMULPS(ai, sj, f.second)
		return f
	}
	return load, func(by int) {
		a.move(base, 2*by*header)
		a.move(records, 2*by*header)
	}
}

// move adds bytes to a register.
func (a *assembler) move(r reg.Register, bytes int) {
	if bytes < 0 {
		a.SUBQ(operand.U32(uint32(-bytes)), r)
	} else {
		a.ADDQ(operand.U32(uint32(bytes)), r)
	}
}

// with adds to sums what the further parts of the records of a pair multiply to.
func (a *assembler) with(name string, g arguments, records, channel reg.Register, sums []reg.VecVirtual) {
	i, j, left := a.GP64(), a.GP64(), g.word(productParts)
	a.MOVQ(at(records, 0), i)
	a.MOVQ(at(records, header), j)
	a.DECQ(left)
	a.loop(name, left, 1, func() {
		a.ADDQ(g.argument(productPart), i)
		a.ADDQ(g.argument(productPart), j)
		for n, s := range sums {
			v := a.vector()
			a.VMOVUPS(indexed(i, channel, n*a.bytes()), v)
			a.VFMADD231PS(indexed(j, channel, n*a.bytes()), v, s)
		}
	})
}

// value is y_k = Π − rest_k over pairs, for some vectors of channels together. It does as many as there are that many of, and
// leaves in the arguments how far it came.
func (a *assembler) value(name string, together int) {
	g := a.begin(name)
	y, rest, bytes := g.word(productY), g.word(productRest), g.word(productBytes)
	channel := g.word(productChannel)
	a.Label("channels")
	end := a.GP64()
	a.LEAQ(at(channel, together*a.bytes()), end)
	a.CMPQ(end, bytes)
	a.JGT(operand.LabelRef("done"))
	products := a.vectors(together)
	for _, p := range products {
		a.VBROADCASTSS(a.number(1), p)
	}
	base, records, pairs := g.word(productBase), g.word(productRecords), g.word(productPairs)
	a.loop("pairs", pairs, 1, func() {
		factors := a.vectors(together)
		for side := range 2 {
			b, s := a.GP64(), a.GP64()
			a.MOVQ(at(base, side*header), b)
			a.MOVQ(at(records, side*header), s)
			for i, f := range factors {
				one := f
				if side == 1 {
					one = a.vector()
				}
				a.VMOVUPS(indexed(b, channel, i*a.bytes()), one)
				a.VADDPS(indexed(s, channel, i*a.bytes()), one, one)
				if side == 1 {
					a.VMULPS(one, f, f)
				}
			}
		}
		a.with("parts", g, records, channel, factors)
		for i, p := range products {
			a.VMULPS(factors[i], p, p)
		}
		a.ADDQ(operand.U32(2*header), base)
		a.ADDQ(operand.U32(2*header), records)
	})
	for i, p := range products {
		a.VSUBPS(indexed(rest, channel, i*a.bytes()), p, p)
		a.VMOVUPS(p, indexed(y, channel, i*a.bytes()))
	}
	a.ADDQ(operand.U32(uint32(together*a.bytes())), channel)
	a.JMP(operand.LabelRef("channels"))
	a.Label("done")
	a.MOVQ(channel, operand.Mem{Base: g.at, Disp: 8 * productChannel})
	a.end()
}

// coefficientLists go through the lists of a pair's records.
type coefficientLists struct{ base, records, absent reg.GPVirtual }

// coefficients are those of each pair, as many as there are, one behind the other.
func (a *assembler) coefficients(name string, number int, of func(g arguments, l coefficientLists, channel reg.Register) []reg.VecVirtual) {
	g := a.begin(name)
	l := coefficientLists{g.word(productBase), g.word(productRecords), g.word(productAbsent)}
	bytes, y := g.word(productBytes), g.word(productY)
	a.loop("pairs", g.word(productPairs), 1, func() {
		channel := a.GP64()
		a.XORQ(channel, channel)
		a.Label("channels")
		list := of(g, l, channel)
		to := a.GP64()
		a.LEAQ(indexed(y, channel, 0), to)
		for i, v := range list {
			if i > 0 {
				a.ADDQ(bytes, to)
			}
			a.VMOVUPS(v, at(to, 0))
		}
		a.ADDQ(operand.U32(uint32(a.bytes())), channel)
		a.CMPQ(channel, bytes)
		a.JLT(operand.LabelRef("channels"))
		for range number {
			a.ADDQ(bytes, y)
		}
		for _, list := range []reg.Register{l.base, l.records, l.absent} {
			a.move(list, 2*header)
		}
	})
	a.end()
}

// recordCoefficients are those of the first, of the second and of both of a pair.
func (a *assembler) recordCoefficients(g arguments, l coefficientLists, channel reg.Register) []reg.VecVirtual {
	ai, bj := a.load(l.base, 0, channel, 0), a.load(l.base, 1, channel, 0)
	ri, sj := a.load(l.records, 0, channel, 0), a.load(l.records, 1, channel, 0)
	both := a.vector()
	a.VMULPS(ri, sj, both)
	a.with("parts", g, l.records, channel, []reg.VecVirtual{both})
	a.VMULPS(ri, bj, ri)
	a.VMULPS(ai, sj, sj)
	return []reg.VecVirtual{ri, sj, both}
}

// coefficientsAgainst are the same with records in place of the absent ones, and the constant.
func (a *assembler) coefficientsAgainst(g arguments, l coefficientLists, channel reg.Register) []reg.VecVirtual {
	var records, absent [2]reg.GPVirtual
	for side := range records {
		records[side], absent[side] = a.GP64(), a.GP64()
		a.MOVQ(at(l.records, side*header), records[side])
		a.MOVQ(at(l.absent, side*header), absent[side])
	}
	part := func() (y, r [2]reg.VecVirtual) {
		for side := range records {
			y[side], r[side] = a.vector(), a.vector()
			a.VMOVUPS(indexed(absent[side], channel, 0), y[side])
			a.VMOVUPS(indexed(records[side], channel, 0), r[side])
			a.VSUBPS(y[side], r[side], r[side])
		}
		return y, r
	}
	y, r := part()
	for side := range y {
		a.VADDPS(a.load(l.base, side, channel, 0), y[side], y[side])
	}
	sums := a.vectors(4)
	first, second, both, none := sums[0], sums[1], sums[2], sums[3]
	a.VMULPS(r[0], y[1], first)
	a.VMULPS(y[0], r[1], second)
	a.VMULPS(r[0], r[1], both)
	a.VMULPS(y[0], y[1], none)
	left := g.word(productParts)
	a.DECQ(left)
	a.loop("parts", left, 1, func() {
		for side := range records {
			a.ADDQ(g.argument(productPart), records[side])
			a.ADDQ(g.argument(productPart), absent[side])
		}
		y, r := part()
		a.VFMADD231PS(r[0], y[1], first)
		a.VFMADD231PS(y[0], r[1], second)
		a.VFMADD231PS(r[0], r[1], both)
		a.VFMADD231PS(y[0], y[1], none)
	})
	return sums
}

// Scratch of a factor, in vectors: the products before it and its values at up to four nodes, M_0 and M_1.
const (
	before         = 0
	of             = 4
	m0             = 8
	m1             = 9
	scratchVectors = 10
)

// shares are the attributions of each channel; a vector of channels goes through all nodes, some nodes together.
func (a *assembler) shares(name string, factors factorLoader) {
	g := a.begin(name)
	y, bytes := g.word(productY), g.word(productBytes)
	channel := a.GP64()
	a.XORQ(channel, channel)
	a.Label("channels")

	nodes, blocks := g.word(productNodes), g.word(productBlocks)
	a.Label("blocks")
	block := a.GP64()
	a.MOVBQZX(at(blocks, 0), block)
	a.INCQ(blocks)
	kinds := []string{"first", "middle", "last", "only"}
	for code, kind := range kinds {
		for n := 2; n <= 4; n++ {
			a.CMPQ(block, operand.Imm(uint64(code<<4|n)))
			a.JEQ(operand.LabelRef(fmt.Sprintf("%s%d", kind, n)))
		}
	}
	for _, kind := range kinds {
		for n := 2; n <= 4; n++ {
			a.Label(fmt.Sprintf("%s%d", kind, n))
			a.sharesBlock(g, y, channel, nodes, kind, n, factors)
			if kind == "first" || kind == "middle" {
				a.JMP(operand.LabelRef("blocks"))
			} else {
				a.JMP(operand.LabelRef("blocksEnd"))
			}
		}
	}
	a.Label("blocksEnd")
	a.ADDQ(operand.U32(uint32(a.bytes())), channel)
	a.CMPQ(channel, bytes)
	a.JLT(operand.LabelRef("channels"))
	a.end()
}

// sharesBlock adds some nodes to M_0 and M_1 of all factors. The first block begins them, and the last turns them into the shares of the
// players; an only one does both.
func (a *assembler) sharesBlock(g arguments, y, channel reg.Register, nodes reg.GPVirtual, kind string, n int, loader factorLoader) {
	name := func(what string) string { return fmt.Sprintf("%s%s%d", kind, what, n) }
	load, step := loader(name(""), g, channel)
	scratch, factors := g.word(productScratch), g.word(productPairs)
	t, p := a.vectors(n), a.vectors(n)
	for q := range n {
		a.VBROADCASTSS(at(nodes, 8*q), t[q])
		a.VBROADCASTSS(at(nodes, 8*q+4), p[q])
	}
	a.ADDQ(operand.U32(uint32(8*n)), nodes)
	a.loop(name("Forward"), factors, 1, func() {
		f := load()
		either := f.first
		a.VADDPS(f.second, either, either)
		for q := range n {
			value := a.vector()
			a.VMOVAPS(f.both, value)
			a.VFMADD213PS(either, t[q], value)
			a.VFMADD213PS(f.none, t[q], value)
			a.VMOVUPS(p[q], at(scratch, (before+q)*a.bytes()))
			a.VMOVUPS(value, at(scratch, (of+q)*a.bytes()))
			a.VMULPS(value, p[q], p[q])
		}
		step(1)
		a.ADDQ(operand.U32(uint32(scratchVectors*a.bytes())), scratch)
	})
	behind := p
	for q := range n {
		a.VBROADCASTSS(a.number(1), behind[q])
	}
	ends := kind == "last" || kind == "only"
	to, bytes := a.GP64(), g.word(productBytes)
	if ends { // y behind its last row
		a.MOVQ(g.word(productPairs), to)
		a.ADDQ(to, to)
		a.IMULQ(bytes, to)
		a.ADDQ(y, to)
		a.ADDQ(channel, to)
	}
	factors = g.word(productPairs)
	a.loop(name("Backward"), factors, 1, func() {
		a.SUBQ(operand.U32(uint32(scratchVectors*a.bytes())), scratch)
		zeroth, first := a.vector(), a.vector()
		begins := kind == "first" || kind == "only"
		if !begins {
			a.VMOVUPS(at(scratch, m0*a.bytes()), zeroth)
			a.VMOVUPS(at(scratch, m1*a.bytes()), first)
		}
		for q := range n {
			others := a.vector()
			a.VMULPS(at(scratch, (before+q)*a.bytes()), behind[q], others)
			if q == 0 && begins {
				a.VMOVAPS(others, zeroth)
				a.VMULPS(others, t[q], first)
			} else {
				a.VADDPS(others, zeroth, zeroth)
				a.VFMADD231PS(others, t[q], first)
			}
			a.VMULPS(at(scratch, (of+q)*a.bytes()), behind[q], behind[q])
		}
		if !ends {
			a.VMOVUPS(zeroth, at(scratch, m0*a.bytes()))
			a.VMOVUPS(first, at(scratch, m1*a.bytes()))
			return
		}
		step(-1)
		f := load()
		a.VMULPS(first, f.both, f.both)
		for _, share := range []reg.VecVirtual{f.second, f.first} {
			a.VFMADD213PS(f.both, zeroth, share)
			a.SUBQ(bytes, to)
			a.VMOVUPS(share, at(to, 0))
		}
	})
}
