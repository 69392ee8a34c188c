package kernel

import (
	"context"
	"math"
	"sync"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/form"
	"github.com/psi-shapley/psi/internal/kernel/vector"
)

// tileRows is the number of rows embedded together, so that a column's weights are read once for all of them.
const tileRows = 32

// scratch is the memory of a call. It is reused by later calls, which saves clearing and garbage collection.
type scratch struct {
	many   bool // for many rows
	caches []cellCache
	at     [][]float32 // [tile, columns + 1] record of every cell, and of the column that does not exist

	cells            [][2]float32 // position and value of numbers to compute
	cycles           []float32    // of times
	z, layer, waves  []float32
	pairs            vector.Pairs
	records          [][]float32 // [2 · pairs] of a row, in the order of its pairs
	coefficients     []float32   // [pairs, 3, channels]
	factors          [][]float32 // [players' factors, 4] coefficients
	grouped          []float32   // [players' factors, 4, channels] coefficients of groups
	joined           map[*products]*joined
	values           []float32 // [tile, channels] products of rows
	share, poly      []float32
	dots             []float32
	std, lift, inner []float32
	mixed, outs      []float32
	references       referenceScratch
}

// manyRows is the number of rows from which a call caches cells from one tile to the next.
const manyRows = 2 * tileRows

// scratchFor takes scratch for the given number of rows from a pool; release returns it.
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
	columns, even, channels := len(n.columns), 0, 0
	for i := range n.sums {
		even, channels = max(even, len(n.sums[i].order), 2*len(n.sums[i].factors)), max(channels, n.sums[i].channels)
	}
	width, waves := 0, 0
	for i := range n.columns {
		width = max(width, n.columns[i].width)
		if x := n.columns[i].number; x != nil {
			waves = max(waves, 2*len(x.frequency))
		}
	}
	s := &scratch{
		many: many, joined: map[*products]*joined{}, caches: newCaches(n, many, tile), at: make([][]float32, tile*(columns+1)),
		cells: make([][2]float32, tile), cycles: make([]float32, tile*encode.CyclicParts),
		z: vector.Floats(tile * width), layer: vector.Floats(tile * width), waves: vector.Floats(tile * waves),
		pairs: vector.Pairs{Parts: n.parts, Part: n.channels}, records: make([][]float32, 0, even),
		coefficients: vector.Floats(3 * even / 2 * channels), factors: make([][]float32, 0, 2*even), values: vector.Floats(tile * n.channels),
		share: vector.Floats(even * channels), poly: vector.Floats(vector.ShareFloats * even / 2), dots: make([]float32, even),
		std: vector.Floats(vector.Padded(tile * n.sigmas * columns)), lift: vector.Floats(tile * vector.Padded(form.ContextWidth)), inner: vector.Floats(tile * n.sigma),
		mixed: vector.Floats(2 * n.hidden), outs: vector.Floats(vector.Padded(n.outputs)),
	}
	for r := range tile {
		s.at[r*(columns+1)+columns] = n.none
	}
	if len(n.players) < columns {
		s.grouped = vector.Floats(4 * len(n.players) * channels)
	}
	return s
}

// Pass evaluates rows: their values, and what else is wanted.
func (n *Net) Pass(ctx context.Context, b *encode.Batch, want form.Want) (*form.Explained, error) {
	return n.pass(ctx, &n.own, b, want)
}

func (n *Net) pass(ctx context.Context, g *game, b *encode.Batch, want form.Want) (*form.Explained, error) {
	x := &form.Explained{Value: make([]float32, b.Rows*n.outputs)}
	if want&form.Spread != 0 {
		x.Std, x.HiddenVariance = make([]float32, b.Rows*n.outputs*len(n.players)), make([]float32, b.Rows*n.outputs)
	}
	if want&form.Attributions != 0 {
		x.Attributions = make([]float32, b.Rows*n.outputs*len(n.players))
	}
	if g.empty != nil {
		x.Empty = make([]float32, b.Rows*n.outputs)
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
		if err := n.gamesOf(ctx, s, g, b, from, rows, x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// row returns the records of a row's cells.
func (s *scratch) row(n *Net, r int) [][]float32 {
	wide := len(n.columns) + 1
	return s.at[r*wide:][:wide]
}

// embed finds the records of the cells of rows.
func (n *Net) embed(s *scratch, b *encode.Batch, from, rows int, want form.Want) {
	out := n.factor()
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
			at := &s.row(n, r)[d]
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
		n.value(s, s.row(n, r), s.values[r*n.channels:][:n.channels])
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
			sigma := min(o, n.sigmas-1)
			of, unit := s.std[(r*n.sigmas+sigma)*columns:][:columns], n.spread.unit[sigma]
			to := x.Std[((from+r)*n.outputs+o)*len(n.players):]
			for i, columns := range n.players {
				if len(columns) == 1 {
					d := columns[0]
					to[i] = of[d] * unit * observed[d]
					continue
				}
				sum := 0.0 // the columns of a group are independent, so their variances add up
				for _, d := range columns {
					v := float64(of[d] * unit * observed[d])
					sum += v * v
				}
				to[i] = float32(math.Sqrt(sum))
			}
		}
	}
}

// gamesOf writes v(∅) and the attributions of the rows of a tile, as far as x has room for them.
func (n *Net) gamesOf(ctx context.Context, s *scratch, g *game, b *encode.Batch, from, rows int, x *form.Explained) error {
	if x.Empty == nil && x.Attributions == nil {
		return nil
	}
	for r := range rows {
		i, cells := from+r, s.row(n, r)
		references := g.replace(n, s, b, i)
		if x.Empty != nil {
			if err := ctx.Err(); err != nil { // many references take their time
				return err
			}
			if empty := x.Empty[i*n.outputs:][:n.outputs]; &references[0] == &g.references[0] {
				copy(empty, g.empty)
			} else {
				n.worthOfNothing(s, references, empty)
			}
		}
		if x.Attributions != nil {
			width := n.outputs * len(n.players)
			s.mean(x.Attributions[i*width:][:width], references, func(references [][][]float32, phi []float32) {
				n.attribute(s, g, cells, references, phi)
			})
		}
	}
	return nil
}

// attribute adds the attributions [outputs, players] of a row, summed over references, to phi.
func (n *Net) attribute(s *scratch, g *game, cells [][]float32, references [][][]float32, phi []float32) {
	for i := range n.sums {
		p := &n.sums[i]
		pairs := n.pairs(s, p, cells)
		if p.joined {
			for _, absent := range references {
				n.expand(s, p, absent)
				n.integrate(s, g, p, n.coalitions(s, p), phi)
			}
			continue
		}
		var factors [][]float32
		for j, absent := range references {
			to := s.share[:2*len(p.factors)*p.channels]
			if j > 0 {
				to = s.references.share[:len(to)]
			}
			if p.simple && absent == nil {
				n.ops.SharesOfPairs(to, pairs, g.rule, s.poly)
			} else {
				n.expand(s, p, absent)
				if j == 0 || !p.simple { // coefficients of pairs of columns are always in the same place
					factors = n.coefficients(s, p)
				}
				n.ops.Shares(to, factors, g.rule, s.poly)
			}
			if j > 0 {
				n.ops.AddScaled(s.share[:len(to)], 1, to)
			}
		}
		n.addShares(s, p, phi)
	}
}

// Coalitions returns v [rows, per, outputs] for masks [rows, per, columns] over the observed cells.
func (n *Net) Coalitions(ctx context.Context, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	return n.coalitionsOf(ctx, &n.own, b, masks, per)
}

func (n *Net) coalitionsOf(ctx context.Context, g *game, b *encode.Batch, masks []float32, per int) ([]float32, error) {
	columns := len(n.columns)
	all := make([]float32, b.Rows*per*n.outputs)
	s := n.scratchFor(b.Rows)
	defer n.release(s)
	coalition := make([][]float32, columns+1)
	coalition[columns] = n.none
	for from := 0; from < b.Rows; from += tileRows {
		rows := min(tileRows, b.Rows-from)
		n.embed(s, b, from, rows, 0)
		for r := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			cells, references := s.row(n, r), g.replace(n, s, b, from+r)
			for p := range per {
				i := (from+r)*per + p
				mask := masks[i*columns:][:columns]
				n.worth(s, references, all[i*n.outputs:][:n.outputs], func(absent [][]float32) [][]float32 {
					for d, present := range mask {
						switch {
						case present != 0:
							coalition[d] = cells[d]
						case absent == nil:
							coalition[d] = n.none
						default:
							coalition[d] = absent[d]
						}
					}
					return coalition
				})
			}
		}
	}
	return all, nil
}

// Interactions returns the pairwise Shapley interaction indices [rows, outputs, players, players] of the coalitions of
// observed cells,
//
//	I_ij = ∫₀¹ ∂²v/∂R_i∂R_j (tR) dt,
//
// the attributions of ∂v/∂R_i.
func (n *Net) Interactions(ctx context.Context, b *encode.Batch) ([]float32, error) {
	return n.interactionsOf(ctx, &n.own, b)
}

func (n *Net) interactionsOf(ctx context.Context, g *game, b *encode.Batch) ([]float32, error) {
	width := n.outputs * len(n.players) * len(n.players)
	all := make([]float32, b.Rows*width)
	s := n.scratchFor(b.Rows)
	defer n.release(s)
	phi := make([]float32, n.outputs*len(n.players))
	for from := 0; from < b.Rows; from += tileRows {
		rows := min(tileRows, b.Rows-from)
		n.embed(s, b, from, rows, 0)
		for r := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			cells, references := s.row(n, r), g.replace(n, s, b, from+r)
			s.mean(all[(from+r)*width:][:width], references, func(references [][][]float32, sum []float32) {
				for i := range n.sums {
					n.pairs(s, &n.sums[i], cells)
					for _, absent := range references {
						n.interact(s, g, &n.sums[i], absent, phi, sum)
					}
				}
			})
		}
	}
	return all, nil
}

// Close implements form.Evaluator: there is nothing to free.
func (n *Net) Close() {}
