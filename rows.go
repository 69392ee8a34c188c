package psi

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"slices"

	"github.com/psi-shapley/psi/internal/encode"
	"github.com/psi-shapley/psi/internal/pipeline"
	"github.com/psi-shapley/psi/table"
)

// observed reports whether a row has a cell in the column with this index in the encoder.
func (c *chunk) observed(row, place int) bool {
	return c.batch.Observed[row*c.batch.Players()+place] != 0
}

// span is a half-open range of rows; the zero value is all rows.
type span struct{ from, to int }

// chunk holds consecutive rows of a source, encoded for the model.
type chunk struct {
	first  int // number of the first row within the source
	table  *table.Table
	values []*table.Column // raw columns, in the order of the model's columns
	batch  *encode.Batch
}

// chunks reads the rows of a source that lie within the span. It treats the columns named in unknown as missing,
// whether the source has them or not.
func (m *Model) chunks(ctx context.Context, rows Source, within span, unknown []string) iter.Seq2[*chunk, error] {
	return func(yield func(*chunk, error) bool) {
		if err := m.checkUnknown(unknown); err != nil {
			yield(nil, err)
			return
		}
		for first := 0; within.to == 0 || first < within.to; {
			t, err := rows.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			from, to := max(0, within.from-first), t.Rows()
			if within.to > 0 {
				to = min(to, within.to-first)
			}
			if from < to {
				c, err := m.chunk(part(t, from, to), first+from, unknown)
				if !yield(c, err) || err != nil {
					return
				}
			}
			first += t.Rows()
		}
	}
}

// part returns rows [from, to).
func part(t *table.Table, from, to int) *table.Table {
	if from == 0 && to == t.Rows() {
		return t
	}
	rows := make([]int, to-from)
	for i := range rows {
		rows[i] = from + i
	}
	return t.Select(rows)
}

func (m *Model) checkUnknown(unknown []string) error {
	for _, name := range unknown {
		if !slices.Contains(m.Columns(), name) {
			return &table.Error{Row: -1, Column: name, Message: "the model has no such column, so it cannot be unknown to it", Remedy: "check the spelling"}
		}
	}
	return nil
}

func (m *Model) chunk(t *table.Table, first int, unknown []string) (*chunk, error) {
	t = m.read(t)
	c := &chunk{first: first, table: t}
	for _, f := range m.manifest.Columns {
		value := t.Column(f.Name)
		if value == nil {
			value = missing(f, t.Rows())
		}
		c.values = append(c.values, value)
	}
	var err error
	c.batch, err = m.manifest.Encoder.Encode(t, unknown...)
	return c, err
}

// read parses text columns that training read as numbers or times.
func (m *Model) read(t *table.Table) *table.Table {
	readings := m.manifest.readings()
	if len(readings) == 0 {
		return t
	}
	kinds := m.ReadOptions().Kinds
	read := &table.Table{Columns: slices.Clone(t.Columns)}
	for i, c := range t.Columns {
		if r := readings[c.Name]; r != nil {
			read.Columns[i] = c.Read(kinds[c.Name], r)
		}
	}
	return read
}

// missing returns a column without any cells.
func missing(f table.Field, rows int) *table.Column {
	c := &table.Column{Name: f.Name, Kind: f.Kind, Observed: make([]bool, rows)}
	if f.Kind == table.Category {
		c.Codes = slices.Repeat([]int32{-1}, rows)
	} else {
		c.Numbers = make([]float64, rows)
	}
	return c
}

// eachChunk computes f for every chunk of the rows on all cores, and yields the results in order.
func eachChunk[T any](ctx context.Context, m *Model, rows Source, within span, unknown []string, f func(context.Context, *chunk) (T, error)) iter.Seq2[T, error] {
	chunks := func(ctx context.Context) iter.Seq2[*chunk, error] { return m.chunks(ctx, rows, within, unknown) }
	return pipeline.InOrder(ctx, runtime.GOMAXPROCS(0), chunks, func(ctx context.Context, c *chunk) (T, error) {
		result, err := f(ctx, c)
		return result, notFinite(err, c.first)
	})
}
