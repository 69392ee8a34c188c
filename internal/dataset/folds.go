package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/table"
)

// Folds holds the rows of a source, divided for cross-validation. At random, or by a column of units, each row is
// tested in one fold and trains in the others. By a column that orders rows, the rows are divided into one block more
// than there are folds. Each fold tests a block and trains on all earlier blocks, and on rows without a value in that
// column.
//
// Rows without a target or weight are excluded. Only one source may be read at a time.
type Folds struct {
	Labels     *encode.Labels // values of the target in all rows
	Unlabelled int            // rows skipped because their target is missing
	Weightless int            // rows skipped because their weight is 0

	rows    *gathered
	options Options
	side    split  // computes the keys
	tested  []keys // keys tested in each fold
}

// foldStream makes the choice of folds independent of the choice of validation rows within them.
const foldStream = 0xF01D5

// ReadFolds reads all rows of a source and divides them into count folds. It does not close the source. It uses the
// options Target, Weight, By or OrderBy, Seed, Scratch and MemoryCells.
func ReadFolds(ctx context.Context, source table.Source, o Options, count int) (*Folds, error) {
	if o.MemoryCells == 0 {
		o.MemoryCells = defaultMemoryCells
	}
	o.Seed = mix(o.Seed + foldStream)
	labels := &encode.Labels{}
	rows, err := gather(ctx, source, labels, o)
	if err != nil {
		return nil, err
	}
	f := &Folds{
		Labels: labels, Unlabelled: rows.unlabelled, Weightless: rows.weightless,
		rows: rows, options: o, side: split{by: o.By, order: o.OrderBy, seed: o.Seed},
	}
	if err = check(rows, nil, o); err == nil {
		if o.OrderBy != "" {
			f.tested, err = rows.blocks(ctx, count, o)
		} else {
			f.tested, err = rows.folds(count, o)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// folds divides the units by their hashes into parts with about equally many rows.
func (g *gathered) folds(count int, o Options) ([]keys, error) {
	parts := make([]keys, 0, count)
	first := uint64(1)
	end := func(last uint64) {
		parts = append(parts, keys{first, last})
		first = last + 1
	}
	if g.units == nil { // the law of large numbers is exact enough
		for k := range count - 1 {
			end(math.MaxUint64 / uint64(count) * uint64(k+1))
		}
		end(math.MaxUint64)
		return parts, nil
	}
	if len(g.units) < count {
		return nil, &table.Error{
			Row: -1, Column: o.By, Message: fmt.Sprintf("%d folds are asked for, but there are only %d rows, or groups of rows, to divide", count, len(g.units)),
			Remedy: "give fewer folds",
		}
	}
	hashes, taken := slices.Sorted(maps.Keys(g.units)), 0
	for i, hash := range hashes[:len(hashes)-1] {
		taken += g.units[hash]
		folds, units := count-1-len(parts), len(hashes)-1-i // remaining after this fold, and after this unit
		want := float64(g.labelled) * float64(len(parts)+1) / float64(count)
		if folds > 0 && (units == folds || float64(taken)+float64(g.units[hashes[i+1]])/2 > want) {
			end(hash)
		}
	}
	end(math.MaxUint64)
	return parts, nil
}

// blocks divides ordered rows into one block more than there are folds, with about equally many rows, and returns all
// but the first.
func (g *gathered) blocks(ctx context.Context, count int, o Options) ([]keys, error) {
	parts := make([]keys, count)
	before := g.labelled
	for k := range parts {
		newer, rows, err := g.last(ctx, max(1, g.ordered*(count-k)/(count+1)), o)
		if err != nil {
			return nil, err
		}
		if rows >= before {
			return nil, &table.Error{
				Row: -1, Column: o.OrderBy, Message: fmt.Sprintf("the column has too few different values to cut the rows into %d blocks", count+1),
				Remedy: "give fewer folds, or name another column in Config.OrderBy",
			}
		}
		if k > 0 {
			parts[k-1].last = newer.first - 1
		}
		parts[k], before = newer, rows
	}
	return parts, nil
}

// Training returns the training rows of a fold, from 0. The caller closes the source.
func (f *Folds) Training(ctx context.Context, fold int) table.Source {
	tested := f.tested[fold]
	return f.source(ctx, func(key uint64) bool {
		if f.options.OrderBy != "" {
			return key < tested.first
		}
		return !tested.contains(key)
	})
}

// Test returns the test rows of a fold, from 0. The caller closes the source.
func (f *Folds) Test(ctx context.Context, fold int) table.Source {
	return f.source(ctx, f.tested[fold].contains)
}

// Close frees the rows on disk.
func (f *Folds) Close() error { return f.rows.close() }

func (f *Folds) source(ctx context.Context, wanted func(key uint64) bool) table.Source {
	next, stop := iter.Pull2(f.chunks(ctx, wanted))
	return &foldSource{f.rows.schema, next, stop}
}

// errStop ends a pass whose remaining rows are not needed.
var errStop = errors.New("stop")

// chunks yields the wanted rows.
func (f *Folds) chunks(ctx context.Context, wanted func(key uint64) bool) iter.Seq2[*table.Table, error] {
	return func(yield func(*table.Table, error) bool) {
		err := f.rows.each(ctx, func(chunk *table.Table, first int) error {
			counts, key := f.options.counts(chunk), f.side.keys(chunk, first)
			var rows []int
			for i := range chunk.Rows() {
				if counts(i) && wanted(key(i)) {
					rows = append(rows, i)
				}
			}
			if len(rows) > 0 && !yield(chunk.Select(rows), nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// foldSource is a source of some rows of folds.
type foldSource struct {
	schema *table.Schema
	next   func() (*table.Table, error, bool)
	stop   func()
}

// Schema returns the schema of the source that was divided.
func (s *foldSource) Schema() *table.Schema { return s.schema }

// Next returns the next rows.
func (s *foldSource) Next(ctx context.Context) (*table.Table, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	chunk, err, ok := s.next()
	if !ok {
		return nil, io.EOF
	}
	return chunk, err
}

// Close ends the reading.
func (s *foldSource) Close() error {
	s.stop()
	return nil
}
