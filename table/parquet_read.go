package table

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// openParquet opens a Parquet file. Only the wanted columns are read, a chunk of
// rows of one row group at a time.
func openParquet(r io.Reader, resource io.Closer, options Options) (*batchSource, error) {
	if access, ok := seekable(r); ok {
		return newParquetSource(access, resource, options)
	}
	copied, err := spool(r, resource)
	if err != nil {
		return nil, err
	}
	source, err := newParquetSource(copied, copied, options)
	if err != nil {
		return nil, errors.Join(err, copied.remove())
	}
	return source, nil
}

func newParquetSource(access randomAccess, resource io.Closer, options Options) (source *batchSource, err error) {
	var in *rangeReader
	err = guard(func() error {
		if in, err = newRangeReader(access); err != nil {
			return err
		}
		source, err = readFooter(in, resource, options)
		return err
	})
	if err != nil {
		return nil, in.why(err)
	}
	return source, nil
}

// readFooter makes the source from what the footer says of columns and row groups.
func readFooter(in *rangeReader, resource io.Closer, options Options) (*batchSource, error) {
	properties := parquet.NewReaderProperties(&boundedAllocator{})
	properties.BufferedStreamEnabled = true // else a whole column of a row group is read at once
	reader, err := file.NewParquetReader(in, file.WithReadProps(properties))
	if err != nil {
		return nil, damaged(err)
	}
	arrowReader, err := pqarrow.NewFileReader(reader, pqarrow.ArrowReadProperties{}, &boundedAllocator{})
	if err != nil {
		return nil, damaged(err)
	}

	var fields []arrow.Field
	for _, field := range arrowReader.Manifest.Fields {
		fields = append(fields, *field.Field)
	}
	source, err := newBatchSource(fields, nil, resource, options)
	if err != nil {
		return nil, err
	}
	leaves := make([]int, len(source.columns))
	for i, column := range source.columns {
		leaves[i] = arrowReader.Manifest.Fields[column.index].ColIndex
		column.index = i // batches will hold the wanted columns only
	}
	groups, err := options.chosenGroups(reader.MetaData())
	if err != nil {
		return nil, err
	}
	if properties.BufferSize, err = in.plan(reader.MetaData(), groups.indices(), leaves); err != nil {
		return nil, damaged(err)
	}
	// Columns are read one after the other: a panic on a damaged file can be caught
	// here, but not in a goroutine of the library's.
	arrowReader.Props = pqarrow.ArrowReadProperties{Parallel: false, BatchSize: int64(source.chunk)}
	batches, err := arrowReader.GetRecordReader(context.Background(), leaves, groups.indices())
	if err != nil {
		return nil, damaged(err)
	}
	want := groups.rows()
	if options.RowGroups == nil {
		want = reader.NumRows()
	}
	source.read = func() (arrow.RecordBatch, error) {
		batch, err := batches.Read()
		if errors.Is(err, io.EOF) && int64(source.converted) != want {
			return nil, fmt.Errorf("only %d of %d rows are there", source.converted, want)
		}
		return batch, err
	}
	source.rowInFile, source.why = groups.rowInFile, in.why
	return source, nil
}
