package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// counts returns a function that reports which rows of a chunk are used: those with a target, and a weight other than
// 0.
func (o Options) counts(chunk *table.Table) func(row int) bool {
	target, weight := chunk.Column(o.Target), chunk.Column(o.Weight)
	return func(i int) bool {
		return target.Observed[i] && (weight == nil || weight.Numbers[i] > 0)
	}
}

// weigh checks the weights of the rows of a chunk that have a target, and counts the skipped rows.
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

// weights converts the cells of the weight column to weights with the mean 1 over the training rows. Sums are in a unit
// near the largest weight, a power of two, so that they cannot overflow.
type weights struct {
	column string // empty if all rows have the same weight
	unit   float64
	sum    float64 // of the training rows, in units
	rows   int     // number of training rows
}

// lightest is the minimum weight, in units: it makes no difference for a row with such a small weight, and keeps its
// logarithm small.
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

// of returns the weights of the rows of a chunk in units; nil if all are equal.
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

// add adds the training rows of a chunk.
func (w *weights) add(in []float64, training func(row int) bool) {
	for i, v := range in {
		if training(i) {
			w.sum += v
			w.rows++
		}
	}
}

// scaled returns the weights of the given rows of a chunk.
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
