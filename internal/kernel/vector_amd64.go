package kernel

import (
	"golang.org/x/sys/cpu"
)

//go:generate sh -c "cd asm && go run ."

// Arguments of the vector loops, whose fields asm knows by their places. Strides and lengths are in bytes.
type (
	gemmArgs struct {
		y, x, w, start                         *float32
		rows, in                               int
		yStride, xStride, wStride, startStride int
		positive                               int
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
		y                       *float32
		base, gain              *[]float32
		rest                    *float32
		columns, bytes, channel int
		nodes                   *node
		blocks                  *byte
		scratch                 *float32
	}
)

// available are the instructions that this CPU has, the fastest first.
func available() []instructions {
	var list []instructions
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasFMA {
		list = append(list, avx512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		list = append(list, avx2)
	}
	return append(list, portable)
}

// width is the number of floats of a register, and rows that of the rows which a matrix product computes together.
func (i instructions) width() (lanes, rows int) {
	if i == avx512 {
		return 16, 8
	}
	return 8, 4
}

func (i instructions) vectorAddScaled(y []float32, a float32, x []float32) {
	i.addScaledLoop(&vectorArgs{y: &y[0], x: &x[:len(y)][0], bytes: 4 * len(y), scale: a})
}

func (i instructions) vectorWaves(y []float32, x float32, frequency []float32) {
	i.wavesLoop(&vectorArgs{y: &y[:2*len(frequency)][0], x: &frequency[0], bytes: 4 * len(frequency), scale: x})
}

func (i instructions) vectorGains(y []float32, stride, rows int, absent []float32) {
	_ = y[(rows-1)*stride+len(absent)-1]
	i.gainsLoop(&vectorArgs{y: &y[0], x: &absent[0], bytes: 4 * len(absent), rows: rows, stride: 4 * stride})
}

func (i instructions) vectorPositive(y []float32) {
	i.positiveLoop(&vectorArgs{y: &y[0], bytes: 4 * len(y)})
}
func (i instructions) vectorSoftplus(y []float32) {
	i.softplusLoop(&vectorArgs{y: &y[0], bytes: 4 * len(y)})
}
func (i instructions) vectorSilu(y []float32) { i.siluLoop(&vectorArgs{y: &y[0], bytes: 4 * len(y)}) }

// vectorGemm computes panels of columns, as many rows together as the instruction set does and the rest one by one.
func (i instructions) vectorGemm(g *product) {
	lanes, together := i.width()
	if g.rows == 0 {
		return
	}
	_, _ = g.y[(g.rows-1)*g.yStride+g.out-1], g.x[(g.rows-1)*g.xStride+g.in-1]
	_, _ = g.w[(g.in-1)*g.wStride+g.out-1], g.start[(g.rows-1)*g.startStride+g.out-1]
	a := gemmArgs{in: g.in, yStride: 4 * g.yStride, xStride: 4 * g.xStride, wStride: 4 * g.wStride, startStride: 4 * g.startStride}
	if g.positive {
		a.positive = 1
	}
	many := g.rows / together * together
	for c := 0; c < g.out; {
		wide := g.out-c >= 3*lanes
		a.w = &g.w[c]
		if many > 0 {
			a.y, a.x, a.start, a.rows = &g.y[c], &g.x[0], &g.start[c], many
			if wide {
				i.gemmManyx3Loop(&a)
			} else {
				i.gemmManyx1Loop(&a)
			}
		}
		if many < g.rows {
			a.y, a.x, a.start, a.rows = &g.y[many*g.yStride+c], &g.x[many*g.xStride], &g.start[many*g.startStride+c], g.rows-many
			if wide {
				i.gemm1x3Loop(&a)
			} else {
				i.gemm1x1Loop(&a)
			}
		}
		c += lanes
		if wide {
			c += 2 * lanes
		}
	}
}

func (i instructions) vectorDots(y []float32, stride int, x []float32, rows int, w []float32) {
	_, _ = y[(rows-1)*stride], x[rows*len(w)-1]
	const together = 4
	a := dotsArgs{y: &y[0], yStride: 4 * stride, x: &x[0], w: &w[0], rows: rows / together * together, bytes: 4 * len(w)}
	if a.rows > 0 {
		i.dotsManyLoop(&a)
	}
	if done := a.rows; done < rows {
		a.y, a.x, a.rows = &y[done*stride], &x[done*len(w)], rows-done
		i.dots1Loop(&a)
	}
}

func (i instructions) vectorValue(y []float32, base, gain [][]float32, rest []float32) {
	a := productArgs{y: &y[0], base: &base[0], gain: &gain[0], rest: &rest[:len(y)][0], columns: len(gain), bytes: 4 * len(y)}
	i.valueManyLoop(&a)
	if a.channel < a.bytes {
		i.value1Loop(&a)
	}
}

func (i instructions) vectorShares(y []float32, base, gain [][]float32, by rule, scratch []float32) {
	_ = scratch[len(gain)/2*polyFloats-1]
	i.sharesLoop(&productArgs{
		y: &y[0], base: &base[0], gain: &gain[0], columns: len(gain), bytes: 4 * len(y) / len(gain),
		nodes: &by.nodes[0], blocks: &by.blocks[0], scratch: &scratch[0],
	})
}
