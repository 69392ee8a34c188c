package table

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrowSchema returns the Arrow schema of the table's columns. Categories become plain text instead of dictionaries:
// levels may grow from chunk to chunk, and the dictionary of an Arrow file must not change once written.
func arrowSchema(t *Table) *arrow.Schema {
	fields := make([]arrow.Field, len(t.Columns))
	for i, c := range t.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowType(c.Kind), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func arrowType(kind Kind) arrow.DataType {
	switch kind {
	case Category:
		return arrow.BinaryTypes.String
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case Time:
		return arrow.FixedWidthTypes.Timestamp_us
	default:
		return arrow.PrimitiveTypes.Float64
	}
}

// arrowBatch copies the table into a record batch.
func arrowBatch(schema *arrow.Schema, t *Table) arrow.RecordBatch {
	builder := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer builder.Release()
	builder.Reserve(t.Rows())
	for i, c := range t.Columns {
		switch cells := builder.Field(i).(type) {
		case *array.Float64Builder:
			cells.AppendValues(c.Numbers, c.Observed)
		case *array.BooleanBuilder:
			for row, v := range c.Numbers {
				appendOrNull(cells, v == 1, c.Observed[row])
			}
		case *array.TimestampBuilder:
			for row, v := range c.Numbers {
				appendOrNull(cells, arrow.Timestamp(microsOf(v)), c.Observed[row])
			}
		case *array.StringBuilder:
			for row, code := range c.Codes {
				if c.Observed[row] {
					cells.Append(c.Levels[code])
				} else {
					cells.AppendNull()
				}
			}
		}
	}
	return builder.NewRecordBatch()
}

func appendOrNull[T any](to interface {
	Append(T)
	AppendNull()
}, value T, observed bool,
) {
	if observed {
		to.Append(value)
	} else {
		to.AppendNull()
	}
}

// arrowEncoder writes Arrow IPC, as a stream or as a file.
type arrowEncoder struct {
	out    io.Writer
	file   bool
	schema *arrow.Schema
	writer interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
}

func (e *arrowEncoder) start(t *Table) (err error) {
	e.schema = arrowSchema(t)
	if e.file {
		e.writer, err = ipc.NewFileWriter(e.out, ipc.WithSchema(e.schema))
		return err
	}
	e.writer = ipc.NewWriter(e.out, ipc.WithSchema(e.schema))
	return nil
}

func (e *arrowEncoder) write(_ context.Context, t *Table) error {
	batch := arrowBatch(e.schema, t)
	defer batch.Release()
	return e.writer.Write(batch)
}

func (e *arrowEncoder) finish() error { return e.writer.Close() }
