package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Places in branchArgs.
const (
	branchPhi = iota
	branchTo
	branchFrom
	branchBefore
	branchPassed
	branchTerms
	branchShare
	branchValue
	branchNodes
)

const (
	treeBytes = 8 * 32 // of vector.Rows
	termBytes = 8 * 4  // of a quadrature node's terms
)

// double broadcasts the 64-bit float at a place.
func (g arguments) double(place int) reg.VecVirtual { return g.a.doubleAt(g.at, 8*place) }

func (a *assembler) doubleAt(base reg.Register, bytes int) reg.VecVirtual {
	v := a.vector()
	a.VBROADCASTSD(operand.Mem{Base: base, Disp: bytes}, v)
	return v
}

// doubles loads a vector of 64-bit floats.
func (a *assembler) doubles(m operand.Mem) reg.VecVirtual {
	v := a.vector()
	a.VMOVUPD(m, v)
	return v
}

// branches writes the loops over branches of trees, in 64-bit floats.
func (a *assembler) branches() {
	a.branchSplit()
	a.branch("branchGrow", func(b *branch) {
		v := b.grown()
		a.VMOVUPD(v, at(b.to, 0))
	})
	a.branch("branchSlope", func(b *branch) {
		v := b.slope()
		a.VMULPD(at(b.from, 0), v, v)
		a.VMOVUPD(v, at(b.to, 0))
	})
	a.branch("branchDot", func(b *branch) { a.VFMADD231PD(at(b.from, 0), a.doubles(at(b.to, 0)), b.phi) })
	a.branch("branchCredit", func(b *branch) { b.credit(a.doubles(at(b.from, 0))) })
	a.branch("branchLeaf", func(b *branch) {
		v := b.grown()
		a.VMULPD(b.value, v, v)
		b.credit(v)
	})
}

func (a *assembler) branchSplit() {
	g := a.begin("branchSplit")
	codes, left, right, before := g.word(branchPhi), g.word(branchTo), g.word(branchFrom), g.word(branchBefore)
	below := g.double(branchValue)
	for r := 0; r < treeBytes; r += a.bytes() {
		passed, goes := a.doubles(at(before, r)), a.vector()
		code := a.doubles(at(codes, r))
		const less = 1 // ordered, signalling
		if a.set.lanes == 16 {
			mask := a.K()
			a.VCMPPD(operand.Imm(less), below, code, mask)
			a.VMOVAPD_Z(passed, mask, goes)
		} else {
			a.VCMPPD(operand.Imm(less), below, code, goes)
			a.VANDPD(passed, goes, goes)
		}
		a.VMOVUPD(goes, at(left, r))
		a.VSUBPD(goes, passed, passed)
		a.VMOVUPD(passed, at(right, r))
	}
	a.end()
}

// branch is the state of a loop over quadrature nodes for some of the rows.
type branch struct {
	a                 *assembler
	to, from, terms   reg.GPVirtual
	before, passed    reg.VecVirtual
	share, value, phi reg.VecVirtual
}

// grown is the factor of the path so far times its growth.
func (b *branch) grown() reg.VecVirtual {
	v := b.a.vector()
	b.a.VMOVAPD(b.share, v)
	b.a.VFMADD231PD(b.a.doubleAt(b.terms, 0), b.before, v)
	b.a.VFMADD231PD(b.a.doubleAt(b.terms, 8), b.passed, v)
	b.a.VMULPD(at(b.from, 0), v, v)
	return v
}

// slope is that of the branch's column.
func (b *branch) slope() reg.VecVirtual {
	v := b.a.vector()
	b.a.VMULPD(b.a.doubleAt(b.terms, 16), b.before, v)
	b.a.VFMADD231PD(b.a.doubleAt(b.terms, 24), b.passed, v)
	return v
}

// credit adds a sum of leaves to that of the node above, and its product with the slope to φ.
func (b *branch) credit(sum reg.VecVirtual) {
	up := b.a.vector()
	b.a.VFMADD231PD(sum, b.slope(), b.phi)
	b.a.VADDPD(at(b.to, 0), sum, up)
	b.a.VMOVUPD(up, at(b.to, 0))
}

// branch writes a function that goes through the rows, as many as a register holds, and for them through the quadrature nodes.
func (a *assembler) branch(name string, body func(*branch)) {
	g := a.begin(name)
	branches, phis := name != "branchDot", name != "branchGrow" && name != "branchSlope"
	b := &branch{a: a, to: a.GP64(), from: a.GP64(), terms: a.GP64(), share: g.double(branchShare), value: g.double(branchValue)}
	before, passed, phi := g.word(branchBefore), g.word(branchPassed), g.word(branchPhi)
	to, from, terms := g.word(branchTo), g.word(branchFrom), g.word(branchTerms)
	nodes := g.word(branchNodes)
	index, left := a.GP64(), a.GP64()
	a.XORQ(index, index)
	a.Label("rows")
	if branches {
		b.before, b.passed = a.doubles(indexed(before, index, 0)), a.doubles(indexed(passed, index, 0))
	}
	if phis {
		b.phi = a.doubles(indexed(phi, index, 0))
	}
	a.LEAQ(indexed(to, index, 0), b.to)
	a.LEAQ(indexed(from, index, 0), b.from)
	a.MOVQ(terms, b.terms)
	a.MOVQ(nodes, left)
	a.loop("nodes", left, 1, func() {
		body(b)
		a.ADDQ(operand.U32(treeBytes), b.to)
		a.ADDQ(operand.U32(treeBytes), b.from)
		a.ADDQ(operand.U32(termBytes), b.terms)
	})
	if phis {
		a.VMOVUPD(b.phi, indexed(phi, index, 0))
	}
	a.ADDQ(operand.U32(uint32(a.bytes())), index)
	a.CMPQ(index, operand.U32(treeBytes))
	a.JLT(operand.LabelRef("rows"))
	a.end()
}
