package table

import (
	"errors"
	"io"
)

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
