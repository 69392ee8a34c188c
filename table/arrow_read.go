package table

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// batchSource reads record batches, from Arrow IPC or Parquet alike, into tables.
type batchSource struct {
	options   Options
	schema    *Schema
	columns   []*arrowColumn
	read      func() (arrow.RecordBatch, error) // io.EOF after the last batch
	resource  io.Closer
	batch     arrow.RecordBatch
	taken     int // rows of the batch handed out
	converted int // rows handed out in all
	chunk     int // rows per chunk

	rowInFile func(row int) int     // of a row counted from the first one read; nil if that is the file's first
	why       func(err error) error // puts a failure of the input in place of what was made of it
}

// newBatchSource reads the wanted ones of the fields from the batches.
func newBatchSource(fields []arrow.Field, read func() (arrow.RecordBatch, error), resource io.Closer, options Options) (*batchSource, error) {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	if err := options.checkNames(names); err != nil {
		return nil, err
	}
	s := &batchSource{options: options, schema: &Schema{}, read: read, resource: resource}
	missing := newMissingTokens(options.Missing)
	for i, field := range fields {
		if !options.keeps(field.Name) {
			continue
		}
		column, err := newArrowColumn(i, field, options, missing)
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
func (s *batchSource) Schema() *Schema { return s.schema }

// Next returns the next chunk of rows. Chunks end where batches end.
func (s *batchSource) Next(ctx context.Context) (t *Table, err error) {
	err = guard(func() error {
		for s.batch == nil || s.taken == int(s.batch.NumRows()) {
			if err := ctx.Err(); err != nil {
				return err
			}
			s.batch, err = s.read()
			if errors.Is(err, io.EOF) {
				return io.EOF
			}
			if err != nil {
				return damaged(err)
			}
			s.taken = 0
		}
		t, err = s.convert(min(s.chunk, int(s.batch.NumRows())-s.taken))
		return err
	})
	if err != nil {
		return nil, during("reading", s.options.Name, s.explained(err))
	}
	return t, nil
}

// explained is the error with its row as the file counts it, or the failure of the input behind it.
func (s *batchSource) explained(err error) error {
	if s.why != nil && !errors.Is(err, io.EOF) {
		err = s.why(err)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Row >= 0 && s.rowInFile != nil {
		e.Row = s.rowInFile(e.Row)
	}
	return err
}

// convert turns the batch's next rows into a table. Batches of other programs may be
// much longer than a chunk, so they are not converted as a whole.
func (s *batchSource) convert(rows int) (*Table, error) {
	t := &Table{Columns: make([]*Column, len(s.columns))}
	for i, column := range s.columns {
		part := array.NewSlice(s.batch.Column(column.index), int64(s.taken), int64(s.taken+rows))
		var err error
		t.Columns[i], err = column.convert(part, s.converted)
		part.Release()
		if err != nil {
			return nil, err
		}
	}
	s.taken += rows
	s.converted += rows
	return t, nil
}

// Close releases the input.
func (s *batchSource) Close() error { return s.resource.Close() }

// guard runs f and turns a panic into an error: arrow-go panics on some damaged files.
func guard(f func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = damaged(fmt.Errorf("%v", fault))
		}
	}()
	return f()
}

// damaged hides an io.EOF inside the cause: the end of a damaged file must not pass
// for the end of the rows.
func damaged(cause error) error {
	if errors.Is(cause, io.EOF) {
		cause = io.ErrUnexpectedEOF
	}
	return &Error{Row: noRow, Message: "the file is damaged or not in its format: " + cause.Error(), Remedy: "write the file anew", Err: cause}
}

// openArrow opens Arrow IPC data. The file format is the stream format between a
// magic word and a footer, so both are read as streams; no random access is needed.
func openArrow(r io.Reader, resource io.Closer, options Options) (source *batchSource, err error) {
	in := bufio.NewReader(r)
	start, _ := in.Peek(len(ipc.Magic))
	file := bytes.Equal(start, ipc.Magic)
	if file {
		const padded = 8 // the magic word's length in a file
		if _, err := in.Discard(padded); err != nil {
			return nil, damaged(err)
		}
	}
	err = guard(func() error {
		reader, err := ipc.NewReaderFromMessageReader(messageReader{in, file}, ipc.WithAllocator(&boundedAllocator{}))
		if err != nil {
			return damaged(err)
		}
		source, err = newBatchSource(reader.Schema().Fields(), reader.Read, resource, options)
		return err
	})
	return source, err
}
