// Package table holds tables of typed columns with missing cells. It reads and writes them as CSV, Parquet and Arrow,
// whole or in chunks.
//
// A [Column] is a slice of numbers or category codes with a mask of the observed cells. A [Table] is a set of columns
// of equal length. [Read] reads a whole file, [Open] streams one as a [Source] of chunks, and [Create] writes one
// through a [Sink].
//
// # Kinds
//
// Parquet and Arrow files declare the types of their columns. For CSV, the kind of each column is inferred from its
// cells:
//   - numbers if all observed cells are numbers;
//   - booleans if all are from one pair of words (true/false, yes/no, t/f);
//   - times if all are ISO 8601 dates or date-times, or dates with the month as a word;
//   - otherwise categories.
//
// The [Schema] keeps the reason for each choice, with notes on columns that are constant, empty or look like
// identifiers. [Options] override the choice. A boolean from CSV keeps the words it was written in; Parquet and Arrow
// do not store them.
//
// With a [Guess] in the options, readers also parse other notations, in CSV, Parquet and Arrow. For example, $1,234.50
// and 48.4% become numbers, 31.12.2024 a time, and yes, No, y and 1 in one column booleans. The [Schema] keeps the
// [Reading] of such a column, and [Options.As] applies it to other tables. Text that does not fit is missing.
//
// # CSV
//
// The first line names the columns. The delimiter is a comma, semicolon or tab, whichever fits; numbers have a decimal
// point. Cells may be quoted. Quoted cells may contain delimiters, line ends and doubled quotes. Spaces outside quotes
// are dropped. Text is UTF-8, with or without a byte order mark, optionally compressed with gzip. The empty cell, NA,
// N/A, NaN, null and ? in any case are missing, quoted or not, so CSV cannot represent a label with such a text. Blank
// lines are allowed only at the end of the file.
//
// # Errors
//
// Readers return an [*Error], which names the file, the row, the column and a remedy. Input is untrusted: sizes are
// limited, and a damaged file causes an error, never a panic.
//
// # Memory
//
// A source holds one chunk of rows, the labels seen so far, and the buffers needed to decompress them. It does not hold
// whole files, row groups or record batches. [Options].Reserve limits that memory. Without it, a source has a default
// limit, which only files with extreme compression exceed.
package table

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Table is a set of named columns of equal length. Tables and their columns must not be modified once made: chunks and
// selections share level lists. Concurrent reads are safe.
type Table struct {
	Columns []*Column
}

// New returns a table of the columns. It returns an error unless they have distinct names, equal lengths and cells that
// agree with their kinds.
func New(columns ...*Column) (*Table, error) {
	seen := make(map[string]bool, len(columns))
	for _, c := range columns {
		if err := c.check(); err != nil {
			return nil, err
		}
		if seen[c.Name] {
			return nil, &Error{Row: noRow, Column: c.Name, Message: "two columns have this name", Remedy: "rename one of them"}
		}
		seen[c.Name] = true
		if first := columns[0]; c.Len() != first.Len() {
			return nil, &Error{
				Row: noRow, Column: c.Name,
				Message: fmt.Sprintf("the column has %d rows but %q has %d", c.Len(), first.Name, first.Len()),
			}
		}
	}
	return &Table{Columns: columns}, nil
}

// Rows returns the number of rows.
func (t *Table) Rows() int {
	if len(t.Columns) == 0 {
		return 0
	}
	return t.Columns[0].Len()
}

// Column returns the column with the given name, or nil if there is none.
func (t *Table) Column(name string) *Column {
	for _, c := range t.Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Select returns a copy of the given rows, in the given order, with the same levels.
func (t *Table) Select(rows []int) *Table {
	return t.eachColumn(func(c *Column) *Column { return c.selectRows(rows) })
}

// slice returns a view of rows [from, to).
func (t *Table) slice(from, to int) *Table {
	return t.eachColumn(func(c *Column) *Column { return c.slice(from, to) })
}

func (t *Table) eachColumn(change func(*Column) *Column) *Table {
	changed := &Table{Columns: make([]*Column, len(t.Columns))}
	for i, c := range t.Columns {
		changed.Columns[i] = change(c)
	}
	return changed
}

// Concat joins consecutive chunks of one source. Levels only grow from chunk to chunk, so the last chunk's list applies
// to all.
func Concat(chunks []*Table) (*Table, error) {
	if len(chunks) == 1 {
		return chunks[0], nil
	}
	rows := 0
	for _, chunk := range chunks {
		if err := sameColumns(chunks[0], chunk); err != nil {
			return nil, err
		}
		rows += chunk.Rows()
	}
	last := chunks[len(chunks)-1]
	whole := &Table{Columns: make([]*Column, len(last.Columns))}
	for i, c := range last.Columns {
		joined := *c
		joined.Observed = slices.Grow([]bool(nil), rows)
		joined.Numbers, joined.Codes = nil, nil
		if c.Kind == Category {
			joined.Codes = make([]int32, 0, rows)
		} else {
			joined.Numbers = make([]float64, 0, rows)
		}
		for _, chunk := range chunks {
			part := chunk.Columns[i]
			joined.Observed = append(joined.Observed, part.Observed...)
			joined.Numbers = append(joined.Numbers, part.Numbers...)
			joined.Codes = append(joined.Codes, part.Codes...)
		}
		whole.Columns[i] = &joined
	}
	return whole, nil
}

// sameColumns returns an error if b's columns differ from a's in number, name, order or kind.
func sameColumns(a, b *Table) error {
	if len(a.Columns) != len(b.Columns) {
		return &Error{Row: noRow, Message: fmt.Sprintf("a chunk has %d columns, the first one %d", len(b.Columns), len(a.Columns))}
	}
	for i, c := range a.Columns {
		if other := b.Columns[i]; other.Name != c.Name || other.Kind != c.Kind {
			return &Error{
				Row: noRow, Column: c.Name,
				Message: fmt.Sprintf("a chunk has column %q (%s) where the first one has %q (%s)", other.Name, other.Kind, c.Name, c.Kind),
			}
		}
	}
	return nil
}

// memorySource is a Source of a table in memory.
type memorySource struct {
	table *Table
	next  int // next row
}

// Source returns a source of the table's rows. Its chunks share the table's memory.
func (t *Table) Source() Source { return &memorySource{table: t} }

func (s *memorySource) Schema() *Schema { return s.table.Schema() }

func (s *memorySource) Next(ctx context.Context) (*Table, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows := s.table.Rows()
	if s.next == rows {
		return nil, io.EOF
	}
	from := s.next
	s.next = min(rows, from+Options{}.chunkRows(len(s.table.Columns)))
	return s.table.slice(from, s.next), nil
}

func (*memorySource) Close() error { return nil }
