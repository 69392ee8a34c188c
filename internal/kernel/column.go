package kernel

import (
	"math"

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

// cellCache keeps the records of a column's cells during a call. Cached and newly computed records have the same bits,
// so the cache only saves time.
type cellCache struct {
	records []float32 // [capacity, record]
	used    int       // number of records present

	slots      []slot // hash table with open addressing; nil if nothing is kept from one tile to the next
	age        uint32 // age of the used slots; others are free
	off        bool   // cells rarely repeat: looking them up would cost more than it saves
	seen, hits int    // since the cache was last emptied
}

// slot is an entry of the hash table.
type slot struct {
	key uint64
	at  uint32 // index of the record
	age uint32
}

// cacheBytes limits the caches of a call.
const cacheBytes = 4 << 20

// newCaches returns caches for the columns whose cells are computed. With few rows, a tile is enough.
func newCaches(n *Net, many bool, tile int) []cellCache {
	computed := 0
	for i := range n.columns {
		if n.columns[i].table == nil {
			computed++
		}
	}
	caches := make([]cellCache, len(n.columns))
	capacity := cacheBytes / max(1, 4*computed*n.record()) / tile * tile
	for i := range caches {
		c := &n.columns[i]
		switch {
		case c.table != nil:
		case !many || capacity < 2*tile || c.number != nil && c.number.cycles != nil:
			caches[i].records = vector.Floats(tile * n.record())
		default:
			caches[i].records = vector.Floats(capacity * n.record())
			caches[i].slots = make([]slot, 1<<int(math.Ceil(math.Log2(float64(2*capacity)))))
			caches[i].age = 1
		}
	}
	return caches
}

// reset empties the cache for another call.
func (c *cellCache) reset() {
	c.off = false
	c.empty()
}

// begin makes room for a tile.
func (c *cellCache) begin(tile, record int) {
	if c.slots != nil && !c.off && c.used+tile <= len(c.records)/record {
		return
	}
	c.off = c.off || c.seen > 0 && 4*c.hits < c.seen
	c.empty()
}

func (c *cellCache) empty() {
	c.used, c.seen, c.hits = 0, 0, 0
	if c.age++; c.age == 0 {
		clear(c.slots)
		c.age = 1
	}
}

// find returns the index of a cell's record, and whether it is present or must be computed.
func (c *cellCache) find(key uint64) (at int, there bool) {
	if c.slots == nil || c.off {
		c.used++
		return c.used - 1, false
	}
	c.seen++
	mask := uint64(len(c.slots) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 32; ; i++ {
		s := &c.slots[i&mask]
		if s.age != c.age {
			*s = slot{key, uint32(c.used), c.age}
			c.used++
			return c.used - 1, false
		}
		if s.key == key {
			c.hits++
			return int(s.at), true
		}
	}
}

func numberKey(position, value float32) uint64 {
	return uint64(math.Float32bits(position))<<32 | uint64(math.Float32bits(value))
}
