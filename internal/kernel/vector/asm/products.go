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
	productY = iota
	productBase
	productGain
	productRest
	productColumns
	productBytes   // of the channels
	productChannel // bytes of those that are done
	productNodes
	productBlocks
	productScratch
)

func (a *assembler) products() {
	a.value("valueMany", 4)
	a.value("value1", 1)
	a.shares()
}

// value is y_k = Π_j (base_jk + gain_jk) − rest_k, for some vectors of channels together. It does as many as there are that many
// of, and leaves in the arguments how far it came.
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
		a.VMOVUPS(a.number(1), p)
	}
	base, gain, columns := g.word(productBase), g.word(productGain), g.word(productColumns)
	a.loop("columns", columns, 1, func() {
		b, s := a.GP64(), a.GP64()
		a.MOVQ(at(base, 0), b)
		a.MOVQ(at(gain, 0), s)
		for i, p := range products {
			factor := a.vector()
			a.VMOVUPS(indexed(b, channel, i*a.bytes()), factor)
			a.VADDPS(indexed(s, channel, i*a.bytes()), factor, factor)
			a.VMULPS(factor, p, p)
		}
		a.ADDQ(operand.U32(header), base)
		a.ADDQ(operand.U32(header), gain)
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

// Scratch of a factor, in vectors: the products before it and its values at up to four nodes, M_0 and M_1.
const (
	before         = 0
	of             = 4
	m0             = 8
	m1             = 9
	scratchVectors = 10
)

// shares are the attributions of each channel; a vector of channels goes through all nodes, some nodes together.
func (a *assembler) shares() {
	g := a.begin("shares")
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
			a.sharesBlock(g, y, channel, nodes, kind, n)
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

// factor loads base and gain of both players of a factor.
func (a *assembler) factor(base, gain, channel reg.Register) (ai, ri, bj, sj reg.VecVirtual) {
	load := func(list reg.Register, place int) reg.VecVirtual {
		p, v := a.GP64(), a.vector()
		a.MOVQ(at(list, place*header), p)
		a.VMOVUPS(indexed(p, channel, 0), v)
		return v
	}
	return load(base, 0), load(gain, 0), load(base, 1), load(gain, 1)
}

// sharesBlock adds some nodes to M_0 and M_1 of all factors. The first block begins them, and the last turns them into the shares of the
// players; an only one does both.
func (a *assembler) sharesBlock(g arguments, y, channel reg.Register, nodes reg.GPVirtual, kind string, n int) {
	name := func(what string) string { return fmt.Sprintf("%s%s%d", kind, what, n) }
	scratch, base, gain, columns := g.word(productScratch), g.word(productBase), g.word(productGain), g.word(productColumns)
	t, p := a.vectors(n), a.vectors(n)
	for q := range n {
		a.VBROADCASTSS(at(nodes, 8*q), t[q])
		a.VBROADCASTSS(at(nodes, 8*q+4), p[q])
	}
	a.ADDQ(operand.U32(uint32(8*n)), nodes)
	a.loop(name("Forward"), columns, 2, func() {
		ai, ri, bj, sj := a.factor(base, gain, channel)
		both, either := a.vector(), a.vector()
		a.VMULPS(ri, sj, both)
		a.VMULPS(ri, bj, either)
		a.VFMADD231PS(ai, sj, either)
		a.VMULPS(ai, bj, ai)
		for q := range n {
			value := a.vector()
			a.VMOVAPS(both, value)
			a.VFMADD213PS(either, t[q], value)
			a.VFMADD213PS(ai, t[q], value)
			a.VMOVUPS(p[q], at(scratch, (before+q)*a.bytes()))
			a.VMOVUPS(value, at(scratch, (of+q)*a.bytes()))
			a.VMULPS(value, p[q], p[q])
		}
		a.ADDQ(operand.U32(2*header), base)
		a.ADDQ(operand.U32(2*header), gain)
		a.ADDQ(operand.U32(uint32(scratchVectors*a.bytes())), scratch)
	})
	behind := p
	for q := range n {
		a.VMOVUPS(a.number(1), behind[q])
	}
	ends := kind == "last" || kind == "only"
	to, bytes := a.GP64(), g.word(productBytes)
	if ends { // y behind its last row
		a.MOVQ(g.word(productColumns), to)
		a.IMULQ(bytes, to)
		a.ADDQ(y, to)
		a.ADDQ(channel, to)
	}
	columns = g.word(productColumns)
	a.loop(name("Backward"), columns, 2, func() {
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
		a.SUBQ(operand.U32(2*header), base)
		a.SUBQ(operand.U32(2*header), gain)
		ai, ri, bj, sj := a.factor(base, gain, channel)
		a.VMULPS(ai, zeroth, ai)
		a.VFMADD231PS(ri, first, ai)
		a.VMULPS(sj, ai, ai)
		a.SUBQ(bytes, to)
		a.VMOVUPS(ai, at(to, 0))
		a.VMULPS(bj, zeroth, bj)
		a.VFMADD231PS(sj, first, bj)
		a.VMULPS(ri, bj, bj)
		a.SUBQ(bytes, to)
		a.VMOVUPS(bj, at(to, 0))
	})
}
