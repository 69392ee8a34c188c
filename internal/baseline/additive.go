package baseline

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/psi-shapley/psi/internal/encode"
)

const (
	maxRate   = 0.2  // learning rate with few columns
	minRate   = 0.02 // with many columns, because a round moves each of them
	maxRounds = 150
	patience  = 10 // rounds without a lower validation loss
	shrinkage = 10 // virtual rows of each bin with a gradient of 0
)

// additive is a sum of step functions, one per column: φ_0 + Σ_c table_c[bin of the row in c]. They are fitted by
// cyclic gradient boosting, like the main effects of an explainable boosting machine (Lou, Caruana and Gehrke 2012).
type additive struct {
	base    []float64
	columns []binning
	tables  [][]float64 // [columns][outputs, bins]
	rounds  int
}

func (a *additive) score(rows *encode.Batch) []float64 {
	k := len(a.base)
	scores := repeated(a.base, rows.Rows)
	for c, column := range a.columns {
		for i := range rows.Rows {
			bin := column.bin(rows, i)
			for o := range k {
				scores[i*k+o] += a.tables[c][o*column.count()+bin]
			}
		}
	}
	return scores
}

// fitAdditive finds the number of rounds with the lowest validation loss, and boosts all rows for that many.
func fitAdditive(ctx context.Context, s *sample, f family, base []float64) (*additive, error) {
	columns := newBinnings(s.rows)
	bins := binned(columns, s.rows)
	folds := make([]*boosting, s.tried)
	for k := range folds {
		folds[k] = newBoosting(columns, bins, s.y, s.without(k), f, base)
	}
	lossOfFolds := func() (sum float64) {
		for k, b := range folds {
			sum += b.loss(s, k)
		}
		return sum
	}
	best, least := 0, lossOfFolds()
	for round := 1; round <= maxRounds && round <= best+patience; round++ {
		for _, b := range folds {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			b.round()
		}
		if loss := lossOfFolds(); loss < least {
			best, least = round, loss
		}
	}
	whole := newBoosting(columns, bins, s.y, s.weight, f, base)
	for range best {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		whole.round()
	}
	return &additive{base: base, columns: columns, tables: whole.tables, rounds: best}, nil
}

// boosting is an additive model and its scores of some rows.
type boosting struct {
	family    family
	columns   []binning
	bins      [][]uint16 // [columns][rows]
	y, weight []float64
	rows      int         // rows with a positive weight
	scores    [][]float64 // [outputs][rows]
	tables    [][]float64

	gradient, curvature [][]float64 // [outputs][rows], times the weights
	rate                float64
}

func newBoosting(columns []binning, bins [][]uint16, y, weight []float64, f family, base []float64) *boosting {
	b := &boosting{family: f, columns: columns, bins: bins, y: y, weight: weight, rate: max(minRate, min(maxRate, 6/float64(len(columns))))}
	for _, column := range columns {
		b.tables = append(b.tables, make([]float64, f.outputs()*column.count()))
	}
	for o := range f.outputs() {
		b.scores = append(b.scores, repeated(base[o:o+1], len(y)))
		b.gradient, b.curvature = append(b.gradient, make([]float64, len(y))), append(b.curvature, make([]float64, len(y)))
	}
	for _, w := range weight {
		if w > 0 {
			b.rows++
		}
	}
	return b
}

// p writes the response of row i.
func (b *boosting) p(i int, p []float64) {
	for o := range p {
		p[o] = b.scores[o][i]
	}
	b.family.respond(p)
}

// loss returns the mean loss of a fold.
func (b *boosting) loss(s *sample, fold int) float64 {
	p := make([]float64, b.family.outputs())
	sum, total := 0.0, 0.0
	for i := s.folds[fold]; i < s.folds[fold+1]; i++ {
		b.p(i, p)
		sum += s.weight[i] * b.family.loss(p, b.y[i])
		total += s.weight[i]
	}
	return sum / total
}

// round takes a step in each column in turn: a label, gap or interval of bins j of column c moves by
//
//	−rate · Σ_{i in j} w_i g_i / (Σ_{i in j} w_i h_i + shrinkage · mean of w_i h_i),
//
// where g and h are the first and second derivative of the loss by the score. Within a round g follows the steps to
// first order. Rows with weight 0 have scores too.
func (b *boosting) round() {
	p := make([]float64, b.family.outputs())
	for i, w := range b.weight {
		b.p(i, p)
		for o, v := range p {
			b.curvature[o][i] = w * b.family.curvature(v)
		}
		b.family.gradient(p, b.y[i])
		for o, v := range p {
			b.gradient[o][i] = w * v
		}
	}
	for o := range p {
		g, h := b.gradient[o], b.curvature[o]
		mean := 0.0
		for _, v := range h {
			mean += v / float64(b.rows)
		}
		for c := range b.columns {
			step := b.step(c, g, h, shrinkage*mean+math.SmallestNonzeroFloat64)
			scores := b.scores[o]
			for i, bin := range b.bins[c] {
				g[i] += h[i] * step[bin]
				scores[i] += step[bin]
			}
			table := b.tables[c][o*len(step):]
			for j, v := range step {
				table[j] += v
			}
		}
	}
}

// step returns the movement of the bins of a column: labels and gaps individually, ordered bins in a few intervals.
func (b *boosting) step(c int, g, h []float64, shrink float64) []float64 {
	sums := make([]slope, b.columns[c].count())
	for i, bin := range b.bins[c] {
		sums[bin].g += g[i]
		sums[bin].h += h[i]
	}
	step := make([]float64, len(sums))
	from := 0
	for _, to := range intervals(sums[:b.columns[c].ordered()], shrink) {
		var all slope
		for _, sum := range sums[from:to] {
			all = slope{all.g + sum.g, all.h + sum.h}
		}
		for ; from < to; from++ {
			step[from] = -b.rate * all.g / (all.h + shrink)
		}
	}
	for j := from; j < len(sums); j++ {
		step[j] = -b.rate * sums[j].g / (sums[j].h + shrink)
	}
	return step
}

const (
	maxBins     = 64     // of a number, not counting those around common values
	rowsPerBin  = 20     // minimum mean
	quantilesOf = 10_000 // maximum rows
)

// binning assigns the cells of a column to bins.
type binning interface {
	count() int
	ordered() int // number of leading bins that are ordered
	bin(rows *encode.Batch, i int) int
}

// ordered holds the bins of a number: bin j contains the values from edges[j−1] to below edges[j]. The last bin is for
// gaps.
type ordered struct {
	number
	edges []float64
}

func (o ordered) count() int   { return len(o.edges) + 2 }
func (o ordered) ordered() int { return len(o.edges) + 1 }

func (o ordered) bin(rows *encode.Batch, i int) int {
	v := o.value(rows, i)
	if math.IsNaN(v) {
		return len(o.edges) + 1
	}
	return sort.Search(len(o.edges), func(j int) bool { return v < o.edges[j] })
}

// newOrdered returns bins with about equally many rows. A value with more rows than that is a bin of its own, and the
// rest share the others.
func newOrdered(n number, rows *encode.Batch) ordered {
	values := make([]float64, 0, min(rows.Rows, quantilesOf))
	for i := range min(rows.Rows, quantilesOf) { // rows are in random order
		if v := n.value(rows, i); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	bins := min(maxBins, max(2, rows.Rows/rowsPerBin))
	common := len(values)/bins + 1 // minimum rows of a value with its own bin
	rest, left := len(values), bins
	eachValue(values, func(from, to int) {
		if to-from >= common {
			rest, left = rest-(to-from), left-1
		}
	})
	o := ordered{number: n}
	fair := (rest + left - 1) / max(1, left)
	count := 0 // rows in the current bin
	eachValue(values, func(from, to int) {
		if count > 0 && count+to-from > fair { // also before and after a common value
			o.edges = append(o.edges, (values[from-1]+values[from])/2)
			count = 0
		}
		count += to - from
	})
	return o
}

// eachValue visits the runs [from, to) of equal values of a sorted list.
func eachValue(sorted []float64, visit func(from, to int)) {
	for from, to := 0, 0; from < len(sorted); from = to {
		for to < len(sorted) && sorted[to] == sorted[from] {
			to++
		}
		visit(from, to)
	}
}

// byLabel holds the bins of a category: its levels.
type byLabel struct{ labels }

func (l byLabel) count() int                        { return l.labels.count }
func (l byLabel) ordered() int                      { return 0 }
func (l byLabel) bin(rows *encode.Batch, i int) int { return int(l.level(rows, i)) }

// newBinnings returns the bins of every column, and of the angles of times.
func newBinnings(rows *encode.Batch) []binning {
	list := make([]binning, 0, rows.Players())
	for _, n := range newNumbers(rows, true) {
		list = append(list, newOrdered(n, rows))
	}
	for _, l := range newAllLabels(rows) {
		list = append(list, byLabel{l})
	}
	return list
}

// binned returns the bin of each row in each column [columns][rows]. A sample has too few rows for more than 2^16
// labels.
func binned(columns []binning, rows *encode.Batch) [][]uint16 {
	bins := make([][]uint16, len(columns))
	for c, column := range columns {
		bins[c] = make([]uint16, rows.Rows)
		for i := range bins[c] {
			bins[c][i] = uint16(column.bin(rows, i))
		}
	}
	return bins
}

// slope holds the sums of the first and second derivatives of rows.
type slope struct{ g, h float64 }

// gain returns twice the decrease of the loss by a step.
func (s slope) gain(shrink float64) float64 { return s.g * s.g / (s.h + shrink) }

// maxIntervals equals the leaves of an explainable boosting machine. With a step per bin, boosting overfits small bins
// in few rounds and stops: ADR 0029.
const maxIntervals = 3

// intervals returns the ends of at most maxIntervals intervals of ordered bins, cut greedily where the loss decreases
// most.
func intervals(sums []slope, shrink float64) []int {
	if len(sums) == 0 {
		return nil
	}
	ends := []int{len(sums)}
	for len(ends) < maxIntervals {
		best, cut, from := 0.0, 0, 0
		for _, to := range ends {
			var all, left slope
			for _, sum := range sums[from:to] {
				all = slope{all.g + sum.g, all.h + sum.h}
			}
			for j := from; j < to-1; j++ {
				left = slope{left.g + sums[j].g, left.h + sums[j].h}
				right := slope{all.g - left.g, all.h - left.h}
				if gain := left.gain(shrink) + right.gain(shrink) - all.gain(shrink); gain > best {
					best, cut = gain, j+1
				}
			}
			from = to
		}
		if cut == 0 {
			break
		}
		at, _ := slices.BinarySearch(ends, cut)
		ends = slices.Insert(ends, at, cut)
	}
	return ends
}
