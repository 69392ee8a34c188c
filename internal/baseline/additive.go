package baseline

import (
	"context"
	"math"

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
