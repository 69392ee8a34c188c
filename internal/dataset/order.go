package dataset

import (
	"context"
	"fmt"
	"math"

	"github.com/psi-shapley/psi/table"
)

// unordered is the key of a row whose cell in the order column is missing. Such rows never validate.
const unordered = 0

// orderKey increases with the cell of an order column. All keys of numbers are above unordered.
func orderKey(c *table.Column, row int) uint64 {
	if !c.Observed[row] {
		return unordered
	}
	return keyOf(c.Numbers[row])
}

// keyOf maps numbers to keys monotonically: v < w gives keyOf(v) < keyOf(w).
func keyOf(v float64) uint64 {
	bits := math.Float64bits(v + 0) // −0 + 0 is 0
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// newest chooses the validation rows by the order column: those after o.After, or about the newest fraction. Rows with
// equal cells stay on one side.
func (g *gathered) newest(ctx context.Context, o Options) (held keys, rows int, err error) {
	need := minRows
	if o.After != nil {
		held = keys{keyOf(*o.After) + 1, math.MaxUint64}
		rows, err = g.within(ctx, held, o)
	} else {
		want := max(1, int(math.Round(o.Fraction*float64(g.ordered))))
		need = min(need, g.labelled-want)
		held, rows, err = g.last(ctx, want, o)
	}
	if left := g.labelled - rows; err == nil && (rows == 0 || left < need) {
		err = o.oneSided(rows, left)
	}
	return held, rows, err
}

// oneSided reports that the order column leaves too few rows on one side.
func (o Options) oneSided(held, left int) error {
	e := &table.Error{Row: -1, Column: o.OrderBy, Remedy: "give an earlier Config.ValidationAfter, or more rows"}
	switch {
	case o.After == nil:
		e.Message = fmt.Sprintf("too many rows share the newest value: %d rows would validate, and %d train", held, left)
		e.Remedy = "name another column in Config.OrderBy, or give Config.ValidationAfter"
	case held == 0:
		e.Message = "no row is after Config.ValidationAfter, so none can validate"
	default:
		e.Message = fmt.Sprintf("%d rows are after Config.ValidationAfter, which leaves %d to train on: training needs at least %d", held, left, minRows)
		e.Remedy = "give a later Config.ValidationAfter, or more rows"
	}
	return e
}

// last chooses about the given number of rows with the highest keys. It never separates equal keys, and never takes all
// rows.
func (g *gathered) last(ctx context.Context, want int, o Options) (held keys, rows int, err error) {
	if g.ordered == 0 {
		return keys{}, 0, &table.Error{Row: -1, Column: o.OrderBy, Message: "no row has a value in this column", Remedy: "name another column in Config.OrderBy"}
	}
	key, above, equal, err := g.ranked(ctx, min(want, g.ordered), o)
	if err != nil {
		return keys{}, 0, err
	}
	all := above+equal == g.labelled
	if above > 0 && (all || want-above < above+equal-want) {
		return keys{key + 1, math.MaxUint64}, above, nil
	}
	return keys{key, math.MaxUint64}, above + equal, nil
}

// within counts the rows whose keys are in held.
func (g *gathered) within(ctx context.Context, held keys, o Options) (rows int, err error) {
	err = g.eachOrdered(ctx, o, func(key uint64) {
		if held.hold(key) {
			rows++
		}
	})
	return rows, err
}

// ranked returns the key of rank r from the top, and how many rows have a higher key and the same key. It takes four
// passes with 2¹⁶ counters each, for any number of rows.
func (g *gathered) ranked(ctx context.Context, r int, o Options) (key uint64, above, equal int, err error) {
	const digits = 16
	for shift := 64 - digits; shift >= 0; shift -= digits {
		counts := make([]int, 1<<digits)
		err := g.eachOrdered(ctx, o, func(k uint64) {
			if k>>shift>>digits == key>>shift>>digits {
				counts[k>>shift&(1<<digits-1)]++
			}
		})
		if err != nil {
			return 0, 0, 0, err
		}
		digit := len(counts) - 1
		for above+counts[digit] < r {
			above += counts[digit]
			digit--
		}
		key |= uint64(digit) << shift
		equal = counts[digit]
	}
	return key, above, equal, nil
}

// eachOrdered calls visit with the key of every row that is used and has one.
func (g *gathered) eachOrdered(ctx context.Context, o Options, visit func(key uint64)) error {
	return g.each(ctx, func(chunk *table.Table, _ int) error {
		counts, order := o.counts(chunk), chunk.Column(o.OrderBy)
		for i := range chunk.Rows() {
			if key := orderKey(order, i); key != unordered && counts(i) {
				visit(key)
			}
		}
		return nil
	})
}
