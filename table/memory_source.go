package table

import (
	"context"
	"io"
)

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
