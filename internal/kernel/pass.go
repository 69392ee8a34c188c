package kernel

import (
	"context"
	"math"
	"sync"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// tileRows are embedded together, so that a column's weights are read once for all of them.
const tileRows = 32

// scratch is the memory of one call. Another call takes it up again, emptied, so that memory need not be cleared and collected for each.
type scratch struct {
	many   bool // it is for many rows
	caches []cellCache
	at     [][]float32 // [tile, columns] record of every cell

	cells            [][2]float32 // position and value of numbers that are computed
	cycles           []float32    // of times
	z, layer, waves  []float32
	gain             [][]float32 // [players, made even]
	of               [][]float32 // [columns] gains of a group's columns
	grouped          []float32   // [players, channels] gains of groups
	values           []float32   // [tile, channels] products of rows
	share, poly      []float32
	std, lift, inner []float32
	mixed, outs      []float32
}

// manyRows is from how many rows on a call caches cells from one tile to the next.
const manyRows = 2 * tileRows

// scratchFor takes up scratch for so many rows; release gives it back.
func (n *Net) scratchFor(rows int) *scratch {
	pool := n.scratchOf(rows >= manyRows)
	if s, is := pool.Get().(*scratch); is {
		for i := range s.caches {
			s.caches[i].reset()
		}
		return s
	}
	return n.newScratch(rows >= manyRows)
}

func (n *Net) release(s *scratch) { n.scratchOf(s.many).Put(s) }

func (n *Net) scratchOf(many bool) *sync.Pool {
	if many {
		return &n.forMany
	}
	return &n.forFew
}

func (n *Net) newScratch(many bool) *scratch {
	const tile = tileRows
	columns, even := len(n.columns), len(n.factors)
	width, waves := 0, 0
	for i := range n.columns {
		width = max(width, n.columns[i].width)
		if x := n.columns[i].number; x != nil {
			waves = max(waves, 2*len(x.frequency))
		}
	}
	return &scratch{
		many: many, caches: newCaches(n, many, tile), at: make([][]float32, tile*columns),
		cells: make([][2]float32, tile), cycles: make([]float32, tile*encode.CyclicParts),
		z: vector.Floats(tile * width), layer: vector.Floats(tile * width), waves: vector.Floats(tile * waves),
		gain: make([][]float32, even), of: make([][]float32, 0, columns), grouped: vector.Floats(len(n.players) * n.channels), values: vector.Floats(tile * n.channels),
		share: vector.Floats(even * n.channels), poly: vector.Floats(vector.ShareFloats * even / 2),
		std: vector.Floats(vector.Padded(tile * n.outputs * columns)), lift: vector.Floats(tile * vector.Padded(form.ContextWidth)), inner: vector.Floats(tile * n.sigma),
		mixed: vector.Floats(2 * n.hidden), outs: vector.Floats(vector.Padded(n.outputs)),
	}
}

// Pass evaluates rows: their values, and what else is wanted.
func (n *Net) Pass(ctx context.Context, b *encode.Batch, want form.Want) (*form.Explained, error) {
	x := &form.Explained{Value: make([]float32, b.Rows*n.outputs)}
	if want&form.Spread != 0 {
		x.Std, x.HiddenVariance = make([]float32, b.Rows*n.outputs*len(n.players)), make([]float32, b.Rows*n.outputs)
	}
	if want&form.Attributions != 0 {
		x.Attributions = make([]float32, b.Rows*n.outputs*len(n.players))
	}
	s := n.scratchFor(b.Rows)
	defer n.release(s)
	for from := 0; from < b.Rows; from += tileRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := min(tileRows, b.Rows-from)
		n.embed(s, b, from, rows, want)
		n.valuesOf(s, rows, x.Value[from*n.outputs:])
		if want&form.Spread != 0 {
			n.spreadsOf(s, b, from, rows, x)
		}
		if want&form.Attributions != 0 {
			for r := range rows {
				n.attribute(s, s.row(n, r), x.Attributions[(from+r)*n.outputs*len(n.players):])
			}
		}
	}
	return x, nil
}

// row is the records of a row's cells.
func (s *scratch) row(n *Net, r int) [][]float32 { return s.at[r*len(n.columns):][:len(n.columns)] }

// embed finds the records of the cells of rows.
func (n *Net) embed(s *scratch, b *encode.Batch, from, rows int, want form.Want) {
	out := n.channels
	if want&form.Spread != 0 {
		out = n.record()
	}
	for d := range n.columns {
		c, cache := &n.columns[d], &s.caches[d]
		if c.table == nil {
			cache.begin(tileRows, n.record())
		}
		first, missed := cache.used, 0
		for r := range rows {
			i := from + r
			at := &s.at[r*len(n.columns)+d]
			if b.Observed[i*len(n.columns)+d] == 0 {
				*at = n.none
				continue
			}
			var key uint64
			var cell [2]float32
			var level int
			if c.number != nil {
				cell = [2]float32(b.Numbers[(i*b.Numeric+d)*2:])
				key = numberKey(cell[0], cell[1])
			} else {
				level = int(b.Codes[i*b.Categorical+d-b.Numeric] - c.first)
				if c.table != nil {
					*at = c.table[level*n.record():][:n.record()]
					continue
				}
				key = uint64(level)
			}
			place, there := cache.find(key)
			*at = cache.records[place*n.record():][:n.record()]
			if there {
				continue
			}
			if c.number == nil {
				c.look(s.z[missed*c.width:], level)
			} else {
				s.cells[missed] = cell
				if c.number.cycles != nil {
					k := d - (b.Numeric - b.Times)
					copy(s.cycles[missed*encode.CyclicParts:], b.Cycles[(i*b.Times+k)*encode.CyclicParts:][:encode.CyclicParts])
				}
			}
			missed++
		}
		if missed == 0 {
			continue
		}
		if c.number != nil {
			c.number.embed(n.ops, s, s.z, s.cells[:missed], s.cycles)
		}
		c.finish(n, s, missed, cache.records[first*n.record():], out)
	}
}

// valuesOf writes v of the rows of a tile.
func (n *Net) valuesOf(s *scratch, rows int, v []float32) {
	for r := range rows {
		n.ops.Value(s.values[r*n.channels:][:n.channels], n.base, s.row(n, r), n.rest)
	}
	for o, w := range n.channel {
		n.ops.Dots(v[o:], n.outputs, s.values, rows, w)
	}
}

// spreadsOf writes σ and h² of the rows of a tile, whose values are known.
func (n *Net) spreadsOf(s *scratch, b *encode.Batch, from, rows int, x *form.Explained) {
	columns := len(n.columns)
	n.std(s, x.Value[from*n.outputs:], rows)
	for r := range rows {
		observed := b.Observed[(from+r)*columns:][:columns]
		whole := true
		for _, o := range observed {
			whole = whole && o != 0
		}
		if !whole {
			n.hiddenVariance(s, s.row(n, r), x.HiddenVariance[(from+r)*n.outputs:])
		}
		for o := range n.outputs {
			of := s.std[(r*n.outputs+o)*columns:][:columns]
			to := x.Std[((from+r)*n.outputs+o)*len(n.players):]
			for i, p := range n.players {
				if len(p.columns) == 1 {
					d := p.columns[0]
					to[i] = of[d] * n.spread.unit[o] * observed[d]
					continue
				}
				sum := 0.0 // the columns of a group are independent: their variances add up
				for _, d := range p.columns {
					v := float64(of[d] * n.spread.unit[o] * observed[d])
					sum += v * v
				}
				to[i] = float32(math.Sqrt(sum))
			}
		}
	}
}

// gains puts together the players' gains of a row.
func (n *Net) gains(s *scratch, cells [][]float32) {
	for i, p := range n.players {
		if len(p.columns) == 1 {
			s.gain[i] = cells[p.columns[0]]
			continue
		}
		of := s.of[:0]
		for _, d := range p.columns {
			of = append(of, cells[d])
		}
		s.gain[i] = s.grouped[i*n.channels:][:n.channels]
		n.ops.Value(s.gain[i], p.base, of, p.rest)
	}
	if len(s.gain) > len(n.players) {
		s.gain[len(n.players)] = n.none
	}
}

// attribute writes the attributions [outputs, players] of a row.
func (n *Net) attribute(s *scratch, cells [][]float32, phi []float32) {
	n.gains(s, cells)
	n.ops.Shares(s.share, n.factors, s.gain, n.rule, s.poly)
	for o, w := range n.channel {
		n.ops.Dots(phi[o*len(n.players):], 1, s.share, len(n.players), w)
	}
}

// Coalitions is v [rows, per, outputs] of masks [rows, per, columns], which say which of the observed cells are present.
func (n *Net) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	columns := len(n.columns)
	all := make([]float32, b.Rows*per*n.outputs)
	s := n.scratchFor(b.Rows)
	defer n.release(s)
	coalition := make([][]float32, columns)
	for from := 0; from < b.Rows; from += tileRows {
		rows := min(tileRows, b.Rows-from)
		n.embed(s, b, from, rows, 0)
		for r := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			cells := s.row(n, r)
			for p := range per {
				i := (from+r)*per + p
				for d, present := range masks[i*columns:][:columns] {
					if coalition[d] = cells[d]; present == 0 {
						coalition[d] = n.none
					}
				}
				n.ops.Value(s.values[:n.channels], n.base, coalition, n.rest)
				for o, w := range n.channel {
					n.ops.Dots(all[i*n.outputs+o:], 1, s.values, 1, w)
				}
			}
		}
	}
	return all, nil
}

// Interactions are the pairwise Shapley interaction indices [rows, outputs, players, players] of the coalitions of observed cells,
//
//	I_ij = ∫₀¹ ∂²v/∂R_i∂R_j (tR) dt.
//
// ∂v/∂R_i puts player i's gain, which does not depend on t, in place of its factor; the derivative by R_j is then that of an
// attribution.
func (n *Net) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	d := len(n.players)
	all := make([]float32, b.Rows*n.outputs*d*d)
	s := n.scratchFor(b.Rows)
	defer n.release(s)
	base := make([][]float32, len(n.factors))
	for from := 0; from < b.Rows; from += tileRows {
		rows := min(tileRows, b.Rows-from)
		n.embed(s, b, from, rows, 0)
		for r := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			n.gains(s, s.row(n, r))
			copy(base, n.factors)
			for i := range d {
				gain := s.gain[i]
				base[i], s.gain[i] = gain[:n.channels], n.none
				n.ops.Shares(s.share, base, s.gain, n.rule, s.poly)
				base[i], s.gain[i] = n.factors[i], gain
				for o, w := range n.channel {
					n.ops.Dots(all[(((from+r)*n.outputs+o)*d+i)*d:], 1, s.share, d, w)
				}
			}
		}
	}
	return all, nil
}

// Close is of form.Evaluator: there is nothing to free.
func (n *Net) Close() {}
