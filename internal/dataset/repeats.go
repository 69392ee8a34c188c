package dataset

import (
	"context"
	"math"

	"github.com/psi-shapley/psi/table"
)

// Repeats counts duplicate rows: those with the same features and target as another row.
type Repeats struct {
	Rows      int  // rows examined: all, or those whose hash is in the sample
	Different int  // of these, distinct rows
	Copies    int  // of these, rows that occur more than once
	Sample    bool // whether only a sample of the rows was examined

	// Distinctive reports that some number differs from row to row, so that two rows do not share it by chance.
	Distinctive bool
}

// without estimates how many of the given rows are distinct, which default settings depend on, because a copy carries
// no new information. If rows may be equal by chance, all count.
func (r Repeats) without(rows int) int {
	if !r.Distinctive || r.Rows == 0 {
		return rows
	}
	return (rows*r.Different + r.Rows - 1) / r.Rows
}

const (
	maxHashes       = 1 << 16 // maximum hashes of distinct rows to remember
	comparedRows    = 2048    // distinct rows whose numbers are compared
	comparedColumns = 64
)

// repeats finds duplicate rows. It remembers the hashes of a bounded number of distinct rows. When there are too many,
// it forgets half of them by a bit of the hash, so that a row is remembered with all its copies or not at all.
type repeats struct {
	names []string       // of the columns
	count map[uint64]int // number of copies by the hash of their cells
	bits  int            // hashes that end in this many zeros are remembered
	other []map[float64]bool
	first int // distinct rows whose numbers are in other
}

func newRepeats(o Options) *repeats {
	return &repeats{names: append(append([]string{}, o.Inputs...), o.Target), count: map[uint64]int{}}
}

func (ds *Dataset) lookForRepeats(ctx context.Context, rows *gathered, o Options) error {
	again := newRepeats(o)
	err := rows.each(ctx, func(chunk *table.Table, _ int) error {
		again.add(chunk, o.counts(chunk))
		return nil
	})
	ds.Repeats = again.finish()
	return err
}

// add examines the used rows of a chunk.
func (r *repeats) add(chunk *table.Table, counts func(row int) bool) {
	hashes := make([]uint64, chunk.Rows())
	var columns, numbers []*table.Column
	for _, name := range r.names {
		if c := chunk.Column(name); c != nil { // the fit reports missing columns
			columns = append(columns, c)
			if c.Kind == table.Number && len(numbers) < comparedColumns {
				numbers = append(numbers, c)
			}
		}
	}
	for _, c := range columns {
		hashCells(hashes, c)
	}
	if r.other == nil {
		r.other = make([]map[float64]bool, len(numbers))
		for i := range r.other {
			r.other[i] = map[float64]bool{}
		}
	}
	for row, hash := range hashes {
		if !counts(row) || hash&(1<<r.bits-1) != 0 {
			continue
		}
		if r.count[hash]++; r.count[hash] > 1 {
			continue
		}
		r.compare(numbers, row)
		for len(r.count) > maxHashes {
			r.forget()
		}
	}
}

// hashCells mixes the cells of a column into the hashes of their rows. Codes of labels have the same meaning in all
// chunks.
func hashCells(hashes []uint64, c *table.Column) {
	for row, observed := range c.Observed {
		cell := uint64(1)
		switch {
		case !observed:
			cell = 0
		case c.Kind == table.Category:
			cell += uint64(c.Codes[row])
		default:
			cell += math.Float64bits(c.Numbers[row])
		}
		hashes[row] = mix(hashes[row] ^ cell)
	}
}

// compare records the numbers of one of the first distinct rows.
func (r *repeats) compare(numbers []*table.Column, row int) {
	if r.first == comparedRows {
		return
	}
	r.first++
	for i, c := range numbers {
		if i < len(r.other) && c.Observed[row] {
			r.other[i][c.Numbers[row]] = true
		}
	}
}

// forget halves the sample.
func (r *repeats) forget() {
	r.bits++
	for hash := range r.count {
		if hash&(1<<r.bits-1) != 0 {
			delete(r.count, hash)
		}
	}
}

func (r *repeats) finish() Repeats {
	all := Repeats{Different: len(r.count), Sample: r.bits > 0}
	for _, n := range r.count {
		all.Rows += n
		if n > 1 {
			all.Copies += n
		}
	}
	for _, values := range r.other {
		all.Distinctive = all.Distinctive || 2*len(values) > r.first
	}
	return all
}
