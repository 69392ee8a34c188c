package table

import (
	"fmt"
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
