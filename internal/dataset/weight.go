package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// counts says which rows of a chunk count: those with a target, and a weight that is not 0.
func (o Options) counts(chunk *table.Table) func(row int) bool {
	target, weight := chunk.Column(o.Target), chunk.Column(o.Weight)
	return func(i int) bool {
		return target.Observed[i] && (weight == nil || weight.Numbers[i] > 0)
	}
}

// weigh checks the weights of the rows of a chunk that have a target, and counts the rows
// that are left out.
func (g *gathered) weigh(chunk *table.Table, o Options) error {
	weight := chunk.Column(o.Weight)
	for i, labelled := range chunk.Column(o.Target).Observed {
		if !labelled {
			g.unlabelled++
			continue
		}
		if weight == nil {
			continue
		}
		wrong := func(message string) error {
			return &table.Error{Row: i, Column: o.Weight, Message: message, Remedy: "write how much the row counts as a number, 0 to leave it out"}
		}
		switch w := weight.Numbers[i]; {
		case !weight.Observed[i]:
			return wrong("the weight is missing")
		case !(w >= 0) || math.IsInf(w, 0):
			return wrong(fmt.Sprintf("the weight %v is not a finite number from 0 up", w))
		case w == 0:
			g.weightless++
		default:
			g.heaviest = max(g.heaviest, w)
		}
	}
	return nil
}

// weights turns the cells of the weight column into weights with the mean 1 over the
// training rows. Sums are taken in a unit near the heaviest row's weight, a power of two, so
// that they do not overflow whatever the cells are.
type weights struct {
	column string // empty if all rows weigh the same
	unit   float64
	sum    float64 // of the training rows, in units
	rows   int     // training rows
}

// lightest is the least weight, in units: a row that counts that little next to another may
// as well count a little more, and its logarithm stays small.
const lightest = 0x1p-100

func weightsOf(column string, all ...*gathered) weights {
	w := weights{column: column, unit: 1}
	heaviest := 0.0
	for _, g := range all {
		heaviest = max(heaviest, g.heaviest)
	}
	if heaviest > 0 {
		_, exponent := math.Frexp(heaviest)
		w.unit = math.Ldexp(1, exponent-1)
	}
	return w
}

// of is the weights of the rows of a chunk in units; nil if all weigh the same.
func (w *weights) of(chunk *table.Table) []float64 {
	c := chunk.Column(w.column)
	if c == nil {
		return nil
	}
	in := make([]float64, c.Len())
	for i, v := range c.Numbers {
		in[i] = max(lightest, v/w.unit)
	}
	return in
}

// add takes in the training rows of a chunk.
func (w *weights) add(in []float64, training func(row int) bool) {
	for i, v := range in {
		if training(i) {
			w.sum += v
			w.rows++
		}
	}
}

// scaled is the weights of the given rows of a chunk.
func (w *weights) scaled(chunk *table.Table, rows []int) []float32 {
	in := w.of(chunk)
	if in == nil {
		return slices.Repeat([]float32{1}, len(rows))
	}
	out := make([]float32, len(rows))
	for i, row := range rows {
		out[i] = float32(in[row] / w.sum * float64(w.rows))
	}
	return out
}
