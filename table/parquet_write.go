package table

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// A row group is held in memory until it is complete, so wide tables get shorter ones. A reader holds a page and a
// dictionary of every column at a time. Pages are therefore much smaller than the usual megabyte, and only categories
// have dictionaries. Dictionaries hold all labels of a row group: where a column falls back to another encoding, the
// library lists both encodings in random order, and the same table would not give the same bytes.
const (
	defaultGroupRows  = 1 << 17
	defaultGroupCells = 8 << 20
	pageBytes         = 128 << 10
	dictionaryBytes   = 1 << 30
)

// parquetEncoder writes Parquet and gathers chunks into row groups.
type parquetEncoder struct {
	out    io.Writer
	schema *arrow.Schema
	writer *pqarrow.FileWriter
}

func (e *parquetEncoder) start(t *Table) (err error) {
	e.schema = arrowSchema(t)
	rows := max(1, min(defaultGroupRows, defaultGroupCells/len(t.Columns)))
	properties := []parquet.WriterProperty{
		parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithMaxRowGroupLength(int64(rows)),
		parquet.WithDataPageSize(pageBytes),
		parquet.WithDictionaryPageSizeLimit(dictionaryBytes),
		parquet.WithDictionaryDefault(false),
	}
	for _, c := range t.Columns {
		if c.Kind == Category {
			properties = append(properties, parquet.WithDictionaryFor(c.Name, true))
		}
	}
	// The library closes writers that have a Close method; the owner of this one closes it.
	out := struct{ io.Writer }{e.out}
	e.writer, err = pqarrow.NewFileWriter(e.schema, out, parquet.NewWriterProperties(properties...), pqarrow.DefaultWriterProps())
	return err
}

func (e *parquetEncoder) write(_ context.Context, t *Table) error {
	if t.Rows() == 0 {
		return nil
	}
	batch := arrowBatch(e.schema, t)
	defer batch.Release()
	return e.writer.WriteBuffered(batch)
}

func (e *parquetEncoder) finish() error { return e.writer.Close() }
