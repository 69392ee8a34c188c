package dataset

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/psi-shapley/psi/table"
)

// sideOf is the side of a row: training or validation.
type sideOf bool

const (
	trainingSide   sideOf = false
	validationSide sideOf = true
)

// split divides rows by their keys: the hash of their unit, or their position in the order column. A unit is the row
// itself, or its value in the column of units.
type split struct {
	by             string
	order          string
	seed           uint64
	validationKeys keys   // keys of the validation rows
	candidates     int    // rows with such a key
	kept           uint64 // of those, rows with a hash up to this one validate
}

// keys is the range from first to last, inclusive. The zero value contains only 0, which is neither a hash nor a
// position in an order.
type keys struct{ first, last uint64 }

func (k keys) contains(key uint64) bool { return k.first <= key && key <= k.last }

// exactUnits is the number of units up to which the share of validation rows is exact. Beyond it, the law of large
// numbers is exact enough.
const exactUnits = 1 << 20

// divide chooses the validation rows.
func (g *gathered) divide(ctx context.Context, o Options) (s split, err error) {
	if o.OrderBy == "" || o.Validation != nil {
		return g.split(o), nil
	}
	s = split{order: o.OrderBy, seed: o.Seed, kept: math.MaxUint64}
	s.validationKeys, s.candidates, err = g.newest(ctx, o)
	return s, err
}

// split chooses by hashes: the units with the lowest ones validate, enough for the wanted share of rows, but at least
// one and never all.
func (g *gathered) split(o Options) split {
	s := split{by: o.By, seed: o.Seed, validationKeys: keys{first: 1}, kept: math.MaxUint64}
	if o.Validation != nil {
		return s // all rows train
	}
	s.validationKeys.last = uint64(o.Fraction * math.MaxUint64)
	want := max(1, int(math.Round(o.Fraction*float64(g.labelled))))
	if o.By == "" && g.rows > exactUnits {
		s.candidates = want
		return s
	}
	units := g.units
	hashes := make([]uint64, 0, len(units))
	for hash := range units {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes)
	for i, hash := range hashes[:len(hashes)-1] {
		if i > 0 && s.candidates+units[hash]/2 >= want {
			break
		}
		s.validationKeys.last = hash
		s.candidates += units[hash]
	}
	return s
}

// limitValidation keeps about the given number of the validation rows.
func (s *split) limitValidation(limit int) {
	if s.candidates > limit {
		s.kept = uint64(float64(limit) / float64(s.candidates) * math.MaxUint64)
	}
}

// to returns a function that reports which used rows of a chunk go to a side. first is the number of the chunk's first
// row.
func (s *split) to(side sideOf, chunk *table.Table, first int, counts func(row int) bool) func(row int) bool {
	key := s.keys(chunk, first)
	return func(i int) bool {
		if !counts(i) {
			return false
		}
		validates := s.validationKeys.contains(key(i))
		return validates == bool(side) && (!validates || mix(hashRow(s.seed, first+i)) <= s.kept)
	}
}

// keys returns the keys of the rows of a chunk. first is the number of its first row.
func (s *split) keys(chunk *table.Table, first int) func(row int) uint64 {
	by, order := chunk.Column(s.by), chunk.Column(s.order)
	switch {
	case order != nil:
		return func(i int) uint64 { return orderKey(order, i) }
	case by != nil:
		return func(i int) uint64 { return hashCell(s.seed, by, i) }
	}
	return func(i int) uint64 { return hashRow(s.seed, first+i) }
}

// hashRow and hashCell never return 0, so that keys up to 0 select nothing for validation.
func hashRow(seed uint64, row int) uint64 { return max(1, mix(mix(seed)+uint64(row))) }

func hashCell(seed uint64, c *table.Column, row int) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Text(row))) // a hash never fails
	return max(1, mix(mix(seed)+h.Sum64()))
}

// mix is splitmix64, a bijection that scatters its argument.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

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
func (g *gathered) newest(ctx context.Context, o Options) (validationKeys keys, rows int, err error) {
	need := minRows
	if o.After != nil {
		validationKeys = keys{keyOf(*o.After) + 1, math.MaxUint64}
		rows, err = g.within(ctx, validationKeys, o)
	} else {
		want := max(1, int(math.Round(o.Fraction*float64(g.ordered))))
		need = min(need, g.labelled-want)
		validationKeys, rows, err = g.last(ctx, want, o)
	}
	if left := g.labelled - rows; err == nil && (rows == 0 || left < need) {
		err = o.oneSided(rows, left)
	}
	return validationKeys, rows, err
}

// oneSided reports that the order column leaves too few rows on one side.
func (o Options) oneSided(validationRows, left int) error {
	e := &table.Error{Row: -1, Column: o.OrderBy, Remedy: "give an earlier Config.ValidationAfter, or more rows"}
	switch {
	case o.After == nil:
		e.Message = fmt.Sprintf("too many rows share the newest value: %d rows would validate, and %d train", validationRows, left)
		e.Remedy = "name another column in Config.OrderBy, or give Config.ValidationAfter"
	case validationRows == 0:
		e.Message = "no row is after Config.ValidationAfter, so none can validate"
	default:
		e.Message = fmt.Sprintf("%d rows are after Config.ValidationAfter, which leaves %d to train on: training needs at least %d", validationRows, left, minRows)
		e.Remedy = "give a later Config.ValidationAfter, or more rows"
	}
	return e
}

// last chooses about the given number of rows with the highest keys. It never separates equal keys, and never takes all
// rows.
func (g *gathered) last(ctx context.Context, want int, o Options) (validationKeys keys, rows int, err error) {
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
func (g *gathered) within(ctx context.Context, validationKeys keys, o Options) (rows int, err error) {
	err = g.eachOrdered(ctx, o, func(key uint64) {
		if validationKeys.contains(key) {
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
