package table

import (
	"context"
	"errors"
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

// ParquetSink writes Parquet files with key-value metadata in the footer. It is not safe for concurrent use.
type ParquetSink struct {
	*encoderSink
	parquet *parquetEncoder
}

// NewParquetSink returns a sink that writes a table to w. Close does not close w.
func NewParquetSink(w io.Writer) *ParquetSink {
	e := &parquetEncoder{out: w}
	return &ParquetSink{&encoderSink{encoder: e}, e}
}

// Note adds a key with its text to the footer's metadata. Call it after the first Write.
func (s *ParquetSink) Note(key, text string) error {
	if s.parquet.writer == nil {
		return errors.New("table: a note for a table whose columns are not known")
	}
	return s.parquet.writer.AppendKeyValueMetadata(key, text)
}

// Notes returns the key-value metadata in the footer of a Parquet file.
func Notes(r interface {
	io.ReadSeeker
	io.ReaderAt
},
) (notes map[string]string, err error) {
	var in *rangeReader
	err = guard(func() error {
		if in, err = newRangeReader(r); err != nil {
			return err
		}
		reader, err := openFooter(in, newBudget(Options{}))
		if err != nil {
			return err
		}
		notes = map[string]string{}
		for _, pair := range reader.file.MetaData().KeyValueMetadata() {
			if pair.Value != nil {
				notes[pair.Key] = *pair.Value
			}
		}
		return nil
	})
	if err != nil {
		return nil, during("reading", "", in.why(err))
	}
	return notes, nil
}
