package kernel

import (
	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// column is the network of one column: from a cell to its record.
type column struct {
	width  int       // of the embedding, padded
	number *number   // first layer of a number; nil for a category
	levels []float32 // [rows, embedding] first layer of a category's levels
	first  int32     // embedding row of its first level

	embedding int // width of the embedding, not padded

	layers []layer   // hidden layers
	mix    layer     // the last, linear layer, to the record
	absent []float32 // [factor] c, and 0 in the further parts

	table []float32 // [rows, record] records of all levels; nil if there are too many
}

// number is the first layer of a number x at a position p among the bins:
//
//	bias + Σ_i bin_i clip(p − i, 0, 1) + waves or slope of x + cycles of a time
//
// before its activation. All bins below p are full, so their sum is a table.
type number struct {
	bins  int
	below []float32 // [bins + 1, width] bias and the sum of the bins below
	bin   []float32 // [bins, width]

	slope     []float32 // [width]; nil with waves
	frequency []float32 // [frequencies, padded]; nil without waves
	periodic  []float32 // [2 · padded frequencies, width]
	cycles    []float32 // [encode.CyclicParts, width] of a time
	gap       []float32 // [width] replaces all of that where a missing cell is a level
}

// steepest is where the linear feature of a number is clipped, in standard deviations.
const steepest = 4

func newNumber(c form.Config, w source, d, width int) *number {
	in := c.Inputs
	x := &number{bins: in.Bins, bin: w.matrix("bins", d, in.Bins, c.Embedding, width), below: vector.Floats((in.Bins + 1) * width)}
	sum := make([]float64, width)
	for j, v := range w.matrix("bins_bias", d, 1, c.Embedding, width) {
		sum[j] = float64(v)
	}
	for i := range in.Bins + 1 {
		for j, v := range sum {
			x.below[i*width+j] = float32(v)
			if i < in.Bins {
				sum[j] += float64(x.bin[i*width+j])
			}
		}
	}
	if f := c.Frequencies; f > 0 {
		x.frequency = w.matrix("frequency", d, 1, f, vector.Padded(f))
		x.periodic = vector.Floats(2 * vector.Padded(f) * width)
		both := w.matrix("periodic", d, 2*f, c.Embedding, width)
		copy(x.periodic, both[:f*width])
		copy(x.periodic[vector.Padded(f)*width:], both[f*width:])
	} else {
		x.slope = w.matrix("slope", d, 1, c.Embedding, width)
	}
	if k := d - (in.Numeric - in.Times); k >= 0 {
		x.cycles = w.matrix("cycles", k, encode.CyclicParts, c.Embedding, width)
	}
	if in.Gaps {
		x.gap = w.matrix("gap", d, 1, c.Embedding, width)
	}
	return x
}

// embed writes the first layer of cells, before its activation, to rows of z. The cells are pairs of position and
// value; those of a time also have cyclic parts.
func (x *number) embed(o vector.Set, s *scratch, z []float32, cells [][2]float32, cycles []float32) {
	width := len(x.bin) / x.bins
	for i, cell := range cells {
		row := z[i*width:][:width]
		position, value := cell[0], cell[1]
		bin := min(max(int(position), 0), x.bins-1)
		copy(row, x.below[bin*width:])
		o.AddScaled(row, min(max(position-float32(bin), 0), 1), x.bin[bin*width:][:width])
		if x.slope != nil {
			o.AddScaled(row, min(max(value, -steepest), steepest), x.slope)
		} else {
			o.Waves(s.waves[i*2*len(x.frequency):], value, x.frequency)
		}
	}
	if x.slope == nil {
		o.MatMul(&vector.MatMul{
			Y: z, YStride: width, Start: z, StartStride: width, Rows: len(cells), Out: width,
			X: s.waves, XStride: 2 * len(x.frequency), In: 2 * len(x.frequency), W: x.periodic, WStride: width,
		})
	}
	if x.cycles != nil {
		o.MatMul(&vector.MatMul{
			Y: z, YStride: width, Start: z, StartStride: width, Rows: len(cells), Out: width,
			X: cycles, XStride: encode.CyclicParts, In: encode.CyclicParts, W: x.cycles, WStride: width,
		})
	}
	if x.gap == nil {
		return
	}
	for i, cell := range cells {
		if cell[0] < 0 {
			copy(z[i*width:], x.gap)
		}
	}
}

// finish turns the first layer of cells, in rows of s.z, into their records, or into the first out floats of each.
func (c *column) finish(n *Net, s *scratch, cells int, records []float32, out int) {
	n.ops.Positive(s.z[:cells*c.width])
	from, to := s.z, s.layer
	for _, l := range c.layers {
		n.ops.MatMul(&vector.MatMul{
			Y: to, YStride: c.width, Start: l.bias, Rows: cells, Out: c.width, Positive: true,
			X: from, XStride: c.width, In: l.in, W: l.weights, WStride: c.width,
		})
		from, to = to, from
	}
	n.ops.MatMul(&vector.MatMul{
		Y: records, YStride: n.record(), Start: c.mix.bias, Rows: cells, Out: out,
		X: from, XStride: c.width, In: c.mix.in, W: c.mix.weights, WStride: n.record(),
	})
	n.ops.Gains(records, n.record(), cells, c.absent)
}

// look writes the first layer of a level.
func (c *column) look(z []float32, level int) {
	clear(z[copy(z, c.levels[level*c.embedding:][:c.embedding]):c.width])
}

// tableBytes is the maximum size of the precomputed records of a category.
const tableBytes = 1 << 20

// tabulate precomputes the records of all levels, unless there are too many.
func (c *column) tabulate(n *Net) {
	if c.number != nil {
		return
	}
	rows := len(c.levels) / c.embedding
	if 4*rows*n.record() > tableBytes {
		return
	}
	c.table = vector.Floats(rows * n.record())
	s := &scratch{z: vector.Floats(rows * c.width), layer: vector.Floats(rows * c.width)}
	for level := range rows {
		c.look(s.z[level*c.width:], level)
	}
	c.finish(n, s, rows, c.table, n.record())
}
