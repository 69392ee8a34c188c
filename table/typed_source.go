package table

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// typedReader reads the cells of a file with typed columns.
type typedReader interface {
	// ready returns how many rows can be read next, at least one, or io.EOF after the last.
	ready(ctx context.Context) (rows int, err error)

	// took records that the given number of rows has been read from every column.
	took(rows int)

	// close releases the current data.
	close()
}

// cellReader reads the cells of one column, in order.
type cellReader interface {
	// read reads the next column.Len() cells: their observed marks and, for observed cells, numbers or labels. A label
	// is valid only during the call.
	read(column *Column, label func(row int, text []byte) error) error

	// integer returns the text of an observed cell just read if the column is stored as integers; else nil.
	integer(row int) []byte
}

// typedSource reads Arrow and Parquet into tables.
type typedSource struct {
	options  Options
	budget   *budget
	schema   *Schema
	columns  []*typedColumn
	reader   typedReader
	resource io.Closer
	rows     int     // rows returned
	handed   account // memory of the last returned chunk
	chunk    int     // rows per chunk
	failed   error   // reading ends after a failure, because columns may be at different rows

	rowInFile func(row int) int     // converts a row counted from the first one read; nil if that is the file's first
	why       func(err error) error // replaces an error by the failure of the input that caused it
}

// newTypedSource returns a source of the wanted fields. The caller sets its reader and the columns' cells.
func newTypedSource(fields []arrow.Field, resource io.Closer, options Options, b *budget) (*typedSource, error) {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	if err := options.checkNames(names); err != nil {
		return nil, err
	}
	s := &typedSource{options: options, budget: b, schema: &Schema{}, resource: resource, handed: account{budget: b}}
	missing := newMissingTokens(options.Missing)
	for i, field := range fields {
		if !options.keeps(field.Name) {
			continue
		}
		column, err := newTypedColumn(i, field, options, missing, b)
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, column)
		s.schema.Fields = append(s.schema.Fields, Field{Name: field.Name, Kind: column.kind, Reason: column.reason})
	}
	s.chunk = options.chunkRows(len(s.columns))
	return s, nil
}

// Schema describes the columns as the file declares them.
func (s *typedSource) Schema() *Schema { return s.schema }

// Next returns the next chunk of rows. Chunks of Arrow end where batches end.
func (s *typedSource) Next(ctx context.Context) (t *Table, err error) {
	s.handed.release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.failed != nil {
		return nil, s.failed
	}
	err = guard(func() error {
		rows, err := s.reader.ready(ctx)
		if err != nil {
			return err
		}
		t, err = s.read(min(s.chunk, rows))
		return err
	})
	if err != nil {
		s.failed = during("reading", s.options.Name, s.explained(err))
		return nil, s.failed
	}
	return t, nil
}

func (s *typedSource) read(rows int) (*Table, error) {
	t := &Table{Columns: make([]*Column, len(s.columns))}
	for i, column := range s.columns {
		var err error
		if t.Columns[i], err = column.next(rows, s.rows, &s.handed); err != nil {
			return nil, err
		}
	}
	s.reader.took(rows)
	s.rows += rows
	return t, nil
}

// explained returns the error with its row as the file counts it, or the cause: refused memory or a failure of the
// input.
func (s *typedSource) explained(err error) error {
	if s.why != nil && !errors.Is(err, io.EOF) {
		err = s.why(err)
	}
	err = s.budget.why(err)
	if e, ok := errors.AsType[*Error](err); ok && e.Row >= 0 && s.rowInFile != nil {
		e.Row = s.rowInFile(e.Row)
	}
	return err
}

// Close releases the input.
func (s *typedSource) Close() error {
	s.reader.close()
	s.budget.close()
	return s.resource.Close()
}

// guard runs f and turns a panic into an error: positions outside a damaged file panic here and in arrow-go.
func guard(f func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = damaged(fmt.Errorf("%v", fault))
		}
	}()
	return f()
}

// damaged hides an io.EOF inside the cause: the end of a damaged file must not look like the end of the rows.
func damaged(cause error) error {
	if errors.Is(cause, io.EOF) {
		cause = io.ErrUnexpectedEOF
	}
	return &Error{Row: noRow, Message: "the file is damaged or not in its format: " + cause.Error(), Remedy: "write the file anew", Err: cause}
}
