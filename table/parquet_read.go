package table

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// RowGroup is a part of a Parquet file that can be read independently.
type RowGroup struct {
	Rows  int64
	Bytes int64 // stored size of all columns
}

// Layout returns the row groups of a Parquet file. It reads only the footer.
func Layout(r interface {
	io.ReadSeeker
	io.ReaderAt
},
) (groups []RowGroup, err error) {
	var in *rangeReader
	err = guard(func() error {
		if in, err = newRangeReader(r); err != nil {
			return err
		}
		reader, err := openFooter(in, newBudget(Options{}))
		if err != nil {
			return err
		}
		for i := range reader.file.NumRowGroups() {
			group, err := layoutOf(reader.file.MetaData().RowGroup(i))
			if err != nil {
				return err
			}
			groups = append(groups, group)
		}
		return nil
	})
	if err != nil {
		return nil, during("reading", "", in.why(err))
	}
	return groups, nil
}

func layoutOf(group *metadata.RowGroupMetaData) (RowGroup, error) {
	g := RowGroup{Rows: group.NumRows()}
	for i := range group.NumColumns() {
		chunk, err := group.ColumnChunk(i)
		if err != nil {
			return g, damaged(err)
		}
		g.Bytes += chunk.TotalCompressedSize()
	}
	if g.Rows < 0 || g.Bytes < 0 {
		return g, damaged(fmt.Errorf("a row group of %d rows and %d bytes", g.Rows, g.Bytes))
	}
	return g, nil
}

// chosenGroup is a row group to read.
type chosenGroup struct {
	index       int
	first, rows int // in the file
}

type chosenGroups []chosenGroup

// chosenGroups returns the row groups to read, in reading order.
func (o Options) chosenGroups(of *metadata.FileMetaData) (chosenGroups, error) {
	all := make(chosenGroups, len(of.GetRowGroups()))
	row := 0
	for i := range all {
		all[i] = chosenGroup{i, row, int(of.RowGroup(i).NumRows())}
		if row += all[i].rows; all[i].rows < 0 || row < 0 {
			return nil, damaged(fmt.Errorf("a row group of %d rows", all[i].rows))
		}
	}
	if o.RowGroups == nil {
		return all, nil
	}
	chosen := make(chosenGroups, len(o.RowGroups))
	for i, index := range o.RowGroups {
		if index < 0 || index >= len(all) {
			return nil, &Error{Row: noRow, Message: fmt.Sprintf("there is no row group %d: the file has %d", index, len(all)), Remedy: "the file may have been replaced: look at it anew"}
		}
		chosen[i] = all[index]
	}
	return chosen, nil
}

func (c chosenGroups) indices() []int {
	indices := make([]int, len(c)) // not nil, which the library treats as all
	for i, g := range c {
		indices[i] = g.index
	}
	return indices
}

func (c chosenGroups) rows() (n int64) {
	for _, g := range c {
		n += int64(g.rows)
	}
	return n
}

// rowInFile converts the number of a row, counted from the first one read, to its number in the file.
func (c chosenGroups) rowInFile(row int) int {
	for _, g := range c {
		if row < g.rows {
			return g.first + row
		}
		row -= g.rows
	}
	return row
}

// parquetReader reads row groups of a Parquet file. For each wanted column it holds one page and one dictionary.
type parquetReader struct {
	in       *rangeReader
	file     *file.Reader
	groups   chosenGroups
	columns  []*parquetCells
	window   int64 // bytes of a column to read at a time
	unpacker unpacker
	packed   []byte  // a compressed page
	held     account // memory of it
	levels   []int16 // levels of the values decoded together
	budget   *budget
	rows     int64 // rows of all groups to read
	taken    int64
}

// openParquet opens a Parquet file. It reads only the wanted columns, a chunk of rows at a time.
func openParquet(r io.Reader, resource io.Closer, options Options, b *budget) (*typedSource, error) {
	if access, ok := seekable(r); ok {
		return newParquetSource(access, resource, options, b)
	}
	copied, err := spool(r, resource)
	if err != nil {
		return nil, err
	}
	source, err := newParquetSource(copied, copied, options, b)
	if err != nil {
		return nil, errors.Join(err, copied.remove())
	}
	return source, nil
}

func newParquetSource(access randomAccess, resource io.Closer, options Options, b *budget) (source *typedSource, err error) {
	var in *rangeReader
	err = guard(func() error {
		if in, err = newRangeReader(access); err != nil {
			return err
		}
		reader, err := openFooter(in, b)
		if err != nil {
			return err
		}
		source, err = reader.source(resource, options)
		return err
	})
	if err != nil {
		return nil, in.why(err)
	}
	return source, nil
}

// openFooter reads the footer, which the library decodes.
func openFooter(in *rangeReader, b *budget) (*parquetReader, error) {
	r := &parquetReader{in: in, budget: b, held: account{budget: b}, levels: make([]int16, decodeBatch)}
	const end, decoded = 8, 16 // bytes of the length and the magic word; maximum expansion of the footer
	if len(in.tail) < end {
		return nil, damaged(io.ErrUnexpectedEOF)
	}
	length := int64(binary.LittleEndian.Uint32(in.tail[len(in.tail)-end:]))
	if length > in.size {
		return nil, damaged(fmt.Errorf("a file of %d bytes claims a footer of %d", in.size, length))
	}
	_, err := b.take(decoded*length, length)
	if err != nil {
		return nil, err
	}
	if r.file, err = file.NewParquetReader(in); err != nil {
		return nil, damaged(err)
	}
	return r, nil
}

// source creates the source from the columns and row groups in the footer.
func (r *parquetReader) source(resource io.Closer, options Options) (*typedSource, error) {
	if err := checkColumns(r.file.MetaData().Schema.Root().NumFields()); err != nil {
		return nil, err
	}
	notes := r.file.MetaData().KeyValueMetadata()
	if err := checkArrowSchema(notes); err != nil {
		return nil, damaged(err)
	}
	schema, err := pqarrow.NewSchemaManifest(r.file.MetaData().Schema, notes, nil)
	if err != nil {
		return nil, damaged(err)
	}
	var fields []arrow.Field
	for _, field := range schema.Fields {
		fields = append(fields, *field.Field)
	}
	source, err := newTypedSource(fields, resource, options, r.budget)
	if err != nil {
		return nil, err
	}
	leaves := make([]int, len(source.columns))
	for i, column := range source.columns {
		leaves[i] = schema.Fields[column.index].ColIndex
		cells, err := newParquetCells(r, leaves[i], fields[column.index].Type, column.declared != nil)
		if err != nil {
			return nil, at(err, noRow, column.name)
		}
		r.columns = append(r.columns, cells)
		column.cells = cells
	}
	if r.groups, err = options.chosenGroups(r.file.MetaData()); err != nil {
		return nil, err
	}
	if r.window, err = r.in.plan(r.file.MetaData(), r.groups.indices(), leaves); err != nil {
		return nil, damaged(err)
	}
	r.rows = r.groups.rows()
	source.reader, source.rowInFile, source.why = r, r.groups.rowInFile, r.in.why
	if all := r.file.NumRows(); options.RowGroups == nil && r.rows != all {
		return nil, damaged(fmt.Errorf("only %d of %d rows are there", r.rows, all))
	}
	return source, nil
}

// checkArrowSchema checks the Arrow schema that some writers store in the footer. The library decodes it to find types
// that Parquet does not have.
func checkArrowSchema(notes metadata.KeyValueMetadata) error {
	encoded := notes.FindValue("ARROW:schema")
	if encoded == nil {
		return nil
	}
	message, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*encoded, "="))
	if err != nil {
		return err
	}
	m, err := (&messageReader{in: bytes.NewReader(message)}).next()
	if err == nil && m.bodyBytes > 0 {
		err = fmt.Errorf("the schema of Arrow claims a body of %d bytes", m.bodyBytes)
	}
	return noEOF(err)
}

// ready returns the number of remaining rows.
func (r *parquetReader) ready(context.Context) (int, error) {
	if r.taken == r.rows {
		return 0, io.EOF
	}
	return int(r.rows - r.taken), nil
}

func (r *parquetReader) advance(rows int) { r.taken += int64(rows) }

func (r *parquetReader) close() {
	for _, c := range r.columns {
		c.close()
	}
}

// scratch returns memory for a compressed page. No page is larger than its column in the file.
func (r *parquetReader) scratch(length int64) ([]byte, error) {
	if length > int64(len(r.packed)) {
		r.held.release()
		if err := r.held.takeUnpacked(length, length); err != nil {
			return nil, err
		}
		r.packed = make([]byte, length)
	}
	return r.packed[:length], nil
}
