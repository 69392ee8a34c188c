// Command asm writes the vector loops of package vector: one file of Go assembly for AVX-512 and one for AVX2, from the same
// description. Run it by go generate in the directory above.
//
// What each function computes is defined by the portable loop of the same name there. Arguments come in a structure, whose
// offsets are those of the Go declarations in amd64.go. All lengths are multiples of 16 floats; strides are in bytes.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	var functions []string
	for _, set := range []instructions{
		{"AVX512", "avx512", 16, 8},
		{"AVX2", "avx2", 8, 4},
	} {
		a := &assembler{Context: build.NewContext(), set: set, constants: map[uint32]operand.Mem{}}
		a.Package("github.com/psi-shapley/psi/internal/kernel/vector/asm") // any: no types of the package are needed
		a.ConstraintExpr("amd64")
		a.gemm()
		a.dots()
		a.elementwise()
		a.products()
		a.learning()
		a.branches()
		functions = a.functions
		exitOn(a.write("../" + set.file + "_amd64.s"))
	}
	exitOn(writeDeclarations("../declarations_amd64.go", functions))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// instructions is a set of vector instructions.
type instructions struct {
	name, file string
	lanes      int // floats of a register
	rows       int // of a matrix product that are computed together
}

// assembler writes the functions of one instruction set.
type assembler struct {
	*build.Context
	set       instructions
	constants map[uint32]operand.Mem // numbers in memory, by their bits
	functions []string               // written so far, without the name of the set
}

func (a *assembler) write(path string) error {
	file, err := a.Result()
	if err != nil {
		build.LogError(log.New(os.Stderr, a.set.name+": ", 0), err, 0)
		return errors.New("the assembler found errors")
	}
	if err := pass.Compile.Execute(file); err != nil {
		return err
	}
	text, err := printer.NewGoAsm(printer.Config{Argv: []string{"go generate"}, Name: "internal/kernel/vector/asm"}).Print(file)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// begin starts a function of one pointer to its arguments.
func (a *assembler) begin(name string) arguments {
	a.functions = append(a.functions, name)
	a.Function(name + a.set.name)
	a.Attributes(attr.NOSPLIT)
	a.SignatureExpr("func(args uintptr)")
	at := a.GP64()
	a.Load(a.Param("args"), at)
	return arguments{a, at}
}

// end leaves the upper halves of the vector registers clear: code without vectors is many times slower where they are not.
func (a *assembler) end() {
	a.VZEROUPPER()
	a.RET()
}

// arguments are the words of the structure that a function gets.
type arguments struct {
	a  *assembler
	at reg.Register
}

// word loads the argument at a place.
func (g arguments) word(place int) reg.GPVirtual {
	r := g.a.GP64()
	g.a.MOVQ(operand.Mem{Base: g.at, Disp: 8 * place}, r)
	return r
}

// float broadcasts the float at a place.
func (g arguments) float(place int) reg.VecVirtual {
	v := g.a.vector()
	g.a.VBROADCASTSS(operand.Mem{Base: g.at, Disp: 8 * place}, v)
	return v
}

// bytes of a vector.
func (a *assembler) bytes() int { return 4 * a.set.lanes }

func (a *assembler) vector() reg.VecVirtual {
	if a.set.lanes == 16 {
		return a.ZMM()
	}
	return a.YMM()
}

func (a *assembler) vectors(n int) []reg.VecVirtual {
	list := make([]reg.VecVirtual, n)
	for i := range list {
		list[i] = a.vector()
	}
	return list
}

func (a *assembler) zero() reg.VecVirtual {
	v := a.vector()
	a.clear(v)
	return v
}

func (a *assembler) clear(v reg.VecVirtual) {
	if a.set.lanes == 16 {
		a.VPXORD(v, v, v)
	} else {
		a.VXORPS(v, v, v)
	}
}

// at is a vector in memory.
func at(base reg.Register, bytes int) operand.Mem { return operand.Mem{Base: base, Disp: bytes} }

// indexed is a vector in memory at a distance that a register holds, in bytes.
func indexed(base, index reg.Register, bytes int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 1, Disp: bytes}
}

// loop repeats body until count, which it counts down by step, is 0. The count must be a multiple of the step, and may be 0.
func (a *assembler) loop(name string, count reg.Register, step int, body func()) {
	a.Label(name)
	a.TESTQ(count, count)
	a.JZ(operand.LabelRef(name + "End"))
	body()
	a.SUBQ(operand.U32(step), count)
	a.JMP(operand.LabelRef(name))
	a.Label(name + "End")
}
