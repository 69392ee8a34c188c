//go:build amd64

package vector

import (
	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd asm && go run ."

// Arguments of the vector loops; asm accesses the fields by offset. Strides and lengths are in bytes.
type (
	gemmArgs struct {
		y, x, w, start                         *float32
		rows, in                               int
		yStride, xStride, wStride, startStride int
		positive, xStep                        int
	}
	dotsArgs struct {
		y           *float32
		yStride     int
		x, w        *float32
		rows, bytes int
	}
	vectorArgs struct {
		y, x         *float32
		bytes        int
		scale        float32
		rows, stride int
	}
	productArgs struct {
		y                     *float32
		base, records         *[]float32
		rest                  *float32
		pairs, bytes, channel int
		nodes                 *node
		blocks                *byte
		scratch               *float32
		parts, part           int
		absent                *[]float32
	}
)

// Available returns the instruction sets that this CPU supports, the fastest first.
func Available() []Set {
	var list []Set
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasFMA {
		list = append(list, AVX512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		list = append(list, AVX2)
	}
	return append(list, Portable)
}

// width returns the number of floats of a register, and the number of rows that a matrix product computes together.
func (s Set) width() (lanes, rows int) {
	if s == AVX512 {
		return 16, 8
	}
	return 8, 4
}

func (s Set) addScaled(y []float32, a float32, x []float32) {
	s.addScaledLoop(&vectorArgs{y: &y[0], x: &x[:len(y)][0], bytes: 4 * len(y), scale: a})
}

func (s Set) waves(y []float32, x float32, frequency []float32) {
	s.wavesLoop(&vectorArgs{y: &y[:2*len(frequency)][0], x: &frequency[0], bytes: 4 * len(frequency), scale: x})
}

func (s Set) gains(y []float32, stride, rows int, absent []float32) {
	_ = y[(rows-1)*stride+len(absent)-1]
	s.gainsLoop(&vectorArgs{y: &y[0], x: &absent[0], bytes: 4 * len(absent), rows: rows, stride: 4 * stride})
}

func (s Set) positive(y []float32) {
	s.positiveLoop(&vectorArgs{y: &y[0], bytes: 4 * len(y)})
}

func (s Set) softplus(y []float32) {
	s.softplusLoop(&vectorArgs{y: &y[0], bytes: 4 * len(y)})
}
func (s Set) silu(y []float32) { s.siluLoop(&vectorArgs{y: &y[0], bytes: 4 * len(y)}) }

// matMul computes panels of columns: as many rows together as the instruction set allows, then half as many, then one
// by one.
func (s Set) matMul(m *MatMul) {
	lanes, together := s.width()
	if m.Rows == 0 {
		return
	}
	step := max(1, m.XStep)
	_, _ = m.Y[(m.Rows-1)*m.YStride+m.Out-1], m.X[(m.Rows-1)*m.XStride+(m.In-1)*step]
	_, _ = m.W[(m.In-1)*m.WStride+m.Out-1], m.Start[(m.Rows-1)*m.StartStride+m.Out-1]
	a := gemmArgs{in: m.In, yStride: 4 * m.YStride, xStride: 4 * m.XStride, wStride: 4 * m.WStride, startStride: 4 * m.StartStride, xStep: 4 * step}
	if m.Positive {
		a.positive = 1
	}
	for c := 0; c < m.Out; {
		panel := min(3, (m.Out-c)/lanes)
		if m.Out-c == 4*lanes {
			panel = 2 // two and two are faster than three and one
		}
		a.w = &m.W[c]
		done := 0
		for _, rows := range [...]int{together, together / 2, 1} {
			if a.rows = (m.Rows - done) / rows * rows; a.rows > 0 {
				a.y, a.x, a.start = &m.Y[done*m.YStride+c], &m.X[done*m.XStride], &m.Start[done*m.StartStride+c]
				done += a.rows
				s.gemm(&a, rows, panel)
			}
		}
		c += panel * lanes
	}
}

// gemm computes a panel of columns for several rows together.
func (s Set) gemm(a *gemmArgs, rows, panel int) {
	_, many := s.width()
	switch {
	case rows == many && panel == 3:
		s.gemmManyx3Loop(a)
	case rows == many && panel == 2:
		s.gemmManyx2Loop(a)
	case rows == many:
		s.gemmManyx1Loop(a)
	case rows > 1 && panel == 3:
		s.gemmHalfx3Loop(a)
	case rows > 1 && panel == 2:
		s.gemmHalfx2Loop(a)
	case rows > 1:
		s.gemmHalfx1Loop(a)
	case panel == 3:
		s.gemm1x3Loop(a)
	case panel == 2:
		s.gemm1x2Loop(a)
	default:
		s.gemm1x1Loop(a)
	}
}

func (s Set) dots(y []float32, stride int, x []float32, rows int, w []float32) {
	_, _ = y[(rows-1)*stride], x[rows*len(w)-1]
	const together = 4
	a := dotsArgs{y: &y[0], yStride: 4 * stride, x: &x[0], w: &w[0], rows: rows / together * together, bytes: 4 * len(w)}
	if a.rows > 0 {
		s.dotsManyLoop(&a)
	}
	if done := a.rows; done < rows {
		a.y, a.x, a.rows = &y[done*stride], &x[done*len(w)], rows-done
		s.dots1Loop(&a)
	}
}

func (p *Pairs) args(y []float32, channels int) productArgs {
	return productArgs{
		y: &y[0], base: &p.Base[0], records: &p.Records[:len(p.Base)][0], pairs: len(p.Base) / 2, bytes: 4 * channels, parts: p.Parts, part: 4 * p.Part,
	}
}

func (s Set) value(y []float32, p *Pairs, rest []float32) {
	a := p.args(y, len(y))
	a.rest = &rest[:len(y)][0]
	s.valueManyLoop(&a)
	if a.channel < a.bytes {
		s.value1Loop(&a)
	}
}

func (s Set) coefficients(y []float32, p *Pairs, channels int) {
	a := p.args(y, channels)
	if p.Absent == nil {
		_ = y[len(p.Base)/2*3*channels-1]
		s.coefficientsLoop(&a)
		return
	}
	_ = y[len(p.Base)/2*4*channels-1]
	a.absent = &p.Absent[:len(p.Base)][0]
	s.coefficientsAgainstLoop(&a)
}

func (s Set) sharesOfPairs(y []float32, p *Pairs, by Rule, scratch []float32) {
	n := len(p.Base) / 2
	_ = scratch[n*ShareFloats-1]
	a := p.args(y, len(y)/(2*n))
	a.nodes, a.blocks, a.scratch = &by.nodes[0], &by.blocks[0], &scratch[0]
	if p.Parts == 1 {
		s.sharesOfProductsLoop(&a)
	} else {
		s.sharesOfPairsLoop(&a)
	}
}

func (s Set) shares(y []float32, factors [][]float32, by Rule, scratch []float32) {
	n := len(factors) / 4
	_ = scratch[n*ShareFloats-1]
	s.sharesLoop(&productArgs{
		y: &y[0], base: &factors[0], pairs: n, bytes: 4 * len(y) / (2 * n),
		nodes: &by.nodes[0], blocks: &by.blocks[0], scratch: &scratch[0],
	})
}
